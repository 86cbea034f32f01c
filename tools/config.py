"""ToolConfig, the only configuration surface, and ``build_tools``, the one list of tools (X5).

Annotations are evaluated here: the model is made of them.
"""

import os
from collections.abc import Collection, Mapping
from copy import copy
from typing import Annotated, Any, TypeAlias, TypedDict

from openbuffer.editor_access.port import EditorProvider
from openbuffer.sandbox.port import SandboxClient, routes_files_through_sandbox
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf, SkipValidation

from .builtin.ask_user_question import create_ask_user_question_tool
from .builtin.delete import create_delete_tool
from .builtin.edit import create_edit_tool
from .builtin.glob import create_glob_tool
from .builtin.grep import create_grep_tool
from .builtin.list_dir import create_list_dir_tool
from .builtin.read import create_read_tool
from .builtin.shell import CommandOptions, create_bash_tool, create_shell_tool
from .builtin.tasks import create_task_create_tool, create_task_list_tool, create_task_update_tool
from .builtin.tool_search import with_tool_search
from .builtin.write import create_write_tool
from .catalog import TOOL_SEARCH
from .computer import ComputerDriver
from .contract import FunctionTool
from .limits import COMMAND_OUTPUT_MAX_BYTES, FILE_MAX_BYTES, READ_OUTPUT_MAX_BYTES
from .ports import ArtifactStore, AskPort, TaskStore
from .registry import refuse_doubles
from .retrieval.port import RetrievalAdapter
from .search_provider import SearchProvider
from .support.command_host import Environment
from .support.http_guard_settings import LiveWebSettings, WebSettings
from .support.shells import Shell

_Bytes: TypeAlias = Annotated[int, Field(gt=0)]


def _not_one_text(value: Any) -> Any:
    """A text is a sequence of texts as well, and never what was meant."""
    if isinstance(value, str | bytes):
        raise ValueError(f"expected several, in a tuple, and not the one text {value!r}")  # noqa: TRY004  see Raises
    return value


def _port(*members: str) -> AfterValidator:
    """A port is known by what it has, not by its class; what it is asked for at a call only is not looked at here."""

    def check(value: object) -> object:
        lacking = [name for name in members if value is not None and not hasattr(value, name)]
        if lacking:
            raise ValueError(f"{type(value).__name__} is no such port: it has no {' and no '.join(lacking)}")
        return value

    return AfterValidator(check)


def _web(value: object) -> object:
    if value is None or isinstance(value, WebSettings) or callable(value):
        return value
    raise ValueError(f"expected an instance of WebSettings, or what gives one, and not {type(value).__name__}")


class ToolConfig(BaseModel):
    """What a composition root decides about the tools: the one place for it (X5). Sizes are bytes.

    ``roots`` is the boundary of the file tools; relative paths resolve against the first. ``descriptions``
    replaces a tool's text verbatim, by tool name (T8). Without ``writes`` no tool that changes files is assembled:
    no Write, no Edit, no Delete; without ``commands`` no Shell and no Bash.

    ``sandbox`` confines commands, or runs them elsewhere; without one they have all the rights of this process. One
    with files of its own carries the file tools as well: ``roots`` are directories in there, ``editor`` is asked for
    nothing, and what searches the host's files (ListDir, Glob, Grep, CodebaseRetrieval) is not assembled (S4, E4).
    ``environment`` is what commands get as their variables: a mapping, or what gives one for each command anew; None is
    this process's own, credentials included. ``artifacts`` keeps outputs that are not shown whole, ``shell`` is looked
    for on this system if it is not given.

    ``retrieval`` finds what matters in the code base (``RepoMapRetrievalAdapter`` is one that does, with the same roots
    and editor); without one there is no CodebaseRetrieval.

    ``web`` is how the web is reached, or what gives it at each call; without it there is no WebFetch (``WebSettings()``
    is for public hosts only). ``web_search`` searches it; without one there is no WebSearch. ``ask`` puts questions to
    the user, unless a call brings a port of its own; without it there is no AskUserQuestion. ``computer`` drives a
    computer, a browser page for example; without one there is no ComputerView and no Computer, and this host is never
    driven.

    ``tasks`` keeps the tasks of the session; without it there are no task tools. ``tools`` are further ones of one's
    own, after ours. Of all these, those named in ``deferred``, and those that say it of themselves, are withheld from
    the model until ToolSearch has loaded them; names of what is not assembled are passed over. ToolSearch is there only
    where something is deferred (X6).

    Raises:
        pydantic.ValidationError: a field that does not exist, or a value that its field cannot take.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    roots: Annotated[tuple[SkipValidation[str | os.PathLike[str]], ...], BeforeValidator(_not_one_text)]
    writes: bool = True
    commands: bool = True

    # What the tools work through. Each of these is a port or None, and None means that its tools are not there.
    editor: Annotated[SkipValidation[EditorProvider | None], _port("__call__")] = None
    sandbox: Annotated[SkipValidation[SandboxClient | None], _port("filesystem", "run")] = None
    artifacts: Annotated[SkipValidation[ArtifactStore | None], _port("create", "read")] = None
    tasks: Annotated[SkipValidation[TaskStore | None], _port("tasks", "put")] = None
    retrieval: Annotated[SkipValidation[RetrievalAdapter | None], _port("roots", "retrieve")] = None
    web: Annotated[SkipValidation[LiveWebSettings], AfterValidator(_web)] = None
    web_search: Annotated[SkipValidation[SearchProvider | None], _port("abilities", "targets", "search")] = None
    ask: Annotated[SkipValidation[AskPort | None], _port("ask")] = None
    computer: Annotated[SkipValidation[ComputerDriver | None], _port("actions", "screenshot", "perform")] = None

    environment: SkipValidation[Environment] = Field(default=None, repr=False)  # it may hold credentials
    shell: InstanceOf[Shell] | None = None
    tools: tuple[InstanceOf[FunctionTool], ...] = ()
    deferred: Annotated[SkipValidation[Collection[str]], BeforeValidator(_not_one_text)] = ()
    descriptions: Mapping[str, str] = Field(default_factory=dict[str, str])

    file_max_bytes: _Bytes = FILE_MAX_BYTES
    read_output_max_bytes: _Bytes = READ_OUTPUT_MAX_BYTES
    command_output_max_bytes: _Bytes = COMMAND_OUTPUT_MAX_BYTES


def build_tools(config: ToolConfig) -> tuple[FunctionTool, ...]:
    """Assemble every tool that the configuration allows; new tools go here and nowhere else.

    Raises:
        ToolDefinitionError: no usable root, or two tools of one name.
    """
    tools = (*_builtin(config), *config.tools)
    refuse_doubles(tools)
    deferred = frozenset(config.deferred)
    tools = tuple(_withheld(tool) if tool.name in deferred else tool for tool in tools)
    return with_tool_search(tools, description=config.descriptions.get(TOOL_SEARCH))


def _withheld(tool: FunctionTool) -> FunctionTool:
    """The same tool as a deferred one; that of the caller stays as it is."""
    withheld = copy(tool)
    withheld.deferred = True
    return withheld


def _builtin(config: ToolConfig) -> tuple[FunctionTool, ...]:
    is_elsewhere = routes_files_through_sandbox(config.sandbox)
    if is_elsewhere:
        config = config.model_copy(update={"editor": None})
    read = create_read_tool(
        cwd=config.roots,
        editor=config.editor,
        sandbox=config.sandbox,
        max_bytes=config.file_max_bytes,
        max_output_bytes=config.read_output_max_bytes,
        description=config.descriptions.get("Read"),
    )
    changing = _changing_files(config) if config.writes else ()
    searching = () if is_elsewhere else _searching(config)
    on_files = (read, *changing, *searching)
    running = _running(config, on_files) if config.commands else ()
    return (*on_files, *running, *_on_web(config), *_asking(config), *_on_computer(config), *_on_tasks(config))


def _searching(config: ToolConfig) -> tuple[FunctionTool, ...]:
    cwd, editor, text = config.roots, config.editor, config.descriptions
    return (
        create_list_dir_tool(cwd=cwd, description=text.get("ListDir")),
        create_glob_tool(cwd=cwd, editor=editor, description=text.get("Glob")),
        create_grep_tool(cwd=cwd, editor=editor, description=text.get("Grep")),
        *_retrieving(config),
    )


def _retrieving(config: ToolConfig) -> tuple[FunctionTool, ...]:
    if config.retrieval is None:
        return ()
    from .builtin.codebase_retrieval import create_retrieval_tool  # noqa: PLC0415  a set without it does not pay for it

    return (create_retrieval_tool(adapter=config.retrieval, description=config.descriptions.get("CodebaseRetrieval")),)


class _Where(TypedDict):
    cwd: tuple[str | os.PathLike[str], ...]
    editor: EditorProvider | None
    sandbox: SandboxClient | None


def _changing_files(config: ToolConfig) -> tuple[FunctionTool, ...]:
    where: _Where = {"cwd": config.roots, "editor": config.editor, "sandbox": config.sandbox}
    most, text = config.file_max_bytes, config.descriptions
    return (
        create_write_tool(**where, max_bytes=most, description=text.get("Write")),
        create_edit_tool(**where, max_bytes=most, description=text.get("Edit")),
        create_delete_tool(**where, max_bytes=most, description=text.get("Delete")),
    )


def _running(config: ToolConfig, others: tuple[FunctionTool, ...]) -> tuple[FunctionTool, ...]:
    options: CommandOptions = {
        "editor": config.editor,
        "sandbox": config.sandbox,
        "environment": config.environment,
        "artifacts": config.artifacts,
        "shell": config.shell,
        "max_output_bytes": config.command_output_max_bytes,
        "assembled": ("Shell", "Bash", *(tool.name for tool in others)),
    }
    text = config.descriptions
    return (
        create_shell_tool(cwd=config.roots, description=text.get("Shell"), **options),
        create_bash_tool(cwd=config.roots, description=text.get("Bash"), **options),
    )


def _on_web(config: ToolConfig) -> tuple[FunctionTool, ...]:
    tools: list[FunctionTool] = []
    if config.web is not None:
        from .builtin.web_fetch import create_web_fetch_tool  # noqa: PLC0415  a set without it does not pay for it

        tools.append(create_web_fetch_tool(settings=config.web, description=config.descriptions.get("WebFetch")))
    if config.web_search is not None:
        from .builtin.web_search import create_web_search_tool  # noqa: PLC0415  likewise

        text = config.descriptions.get("WebSearch")
        tools.append(create_web_search_tool(provider=config.web_search, description=text))
    return tuple(tools)


def _asking(config: ToolConfig) -> tuple[FunctionTool, ...]:
    if config.ask is None:
        return ()
    return (create_ask_user_question_tool(ask=config.ask, description=config.descriptions.get("AskUserQuestion")),)


def _on_computer(config: ToolConfig) -> tuple[FunctionTool, ...]:
    if config.computer is None:
        return ()
    from .builtin.computer import create_computer_tool  # noqa: PLC0415  a set without it does not pay for it

    return create_computer_tool(
        driver=config.computer,
        artifacts=config.artifacts,
        ask=config.ask,
        description=config.descriptions.get("Computer"),
        view_description=config.descriptions.get("ComputerView"),
    )


def _on_tasks(config: ToolConfig) -> tuple[FunctionTool, ...]:
    if config.tasks is None:
        return ()
    store, text = config.tasks, config.descriptions
    return (
        create_task_create_tool(store=store, description=text.get("TaskCreate")),
        create_task_update_tool(store=store, description=text.get("TaskUpdate")),
        create_task_list_tool(store=store, description=text.get("TaskList")),
    )
