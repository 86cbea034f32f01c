"""Every key of the configuration: its type, its bounds, its default and what it means. Nothing else says so.

The same keys stand in the user's file, in the environment (``OPENBUFFER_SANDBOX_ENABLED``), in the settings of the
editor and in the file of a workspace. Which of these counts is said in ``config_layers``; what the last may say, in
``tightening``. Annotations are evaluated here: the models are made of them.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from openbuffer.tools.adapters.log_settings import KEPT
from openbuffer.tools.limits import (
    COMMAND_OUTPUT_MAX_BYTES,
    FILE_MAX_BYTES,
    LOG_MAX_BYTES,
    LOG_MAX_DAYS,
    READ_OUTPUT_MAX_BYTES,
    WEB_BODY_MAX_BYTES,
    WEB_OUTPUT_MAX_CHARS,
    WEB_REDIRECTS_MAX,
    WEB_TIMEOUT_S,
)
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from . import config_values as values

NUMBER_MAX: Final = 2**53 - 1
"""No size is larger; what is, every program of JSON and every database takes for something else."""

DAYS_MAX: Final = 36_500
TIMEOUT_MAX_S: Final = 3_600.0
REDIRECTS_MAX: Final = 100

LOG_LEAST_BYTES: Final = 1024 * 1024
"""A log that holds less would let go of calls that still run."""

Switch: TypeAlias = Annotated[bool, BeforeValidator(values.switch)]
Size: TypeAlias = Annotated[int, BeforeValidator(values.whole("bytes", 1, NUMBER_MAX))]
LogSize: TypeAlias = Annotated[int, BeforeValidator(values.whole("bytes", LOG_LEAST_BYTES, NUMBER_MAX))]
Count: TypeAlias = Annotated[int, BeforeValidator(values.whole("characters", 1, NUMBER_MAX))]
Days: TypeAlias = Annotated[int, BeforeValidator(values.whole("days", 1, DAYS_MAX))]
Redirects: TypeAlias = Annotated[int, BeforeValidator(values.whole("redirects", 0, REDIRECTS_MAX))]
Seconds: TypeAlias = Annotated[float, BeforeValidator(values.seconds(TIMEOUT_MAX_S))]
Directories: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(values.directories)]
Paths: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(values.paths)]
WritablePaths: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(values.writable_paths)]
OnePath: TypeAlias = Annotated[str, BeforeValidator(values.one_path)]
Programs: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(values.programs)]
Variables: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(values.variables)]
Patterns: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(values.patterns)]
KeptKinds: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(values.some_of(*KEPT))]
Hosts: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(values.hosts)]
Ports: TypeAlias = Annotated[tuple[int, ...], BeforeValidator(values.ports)]
Proxy: TypeAlias = Annotated[str, BeforeValidator(values.proxy)]
WebAddress: TypeAlias = Annotated[str, BeforeValidator(values.web_address)]
Provider: TypeAlias = Annotated[Literal["brave", "searxng"], BeforeValidator(values.one_of("brave", "searxng"))]
Rules: TypeAlias = Annotated[Any, Field(json_schema_extra={"type": "array", "items": {"type": "string"}})]
"""As they stand: an entry that is no rule is told and never just absent, which is ``rules_from``'s to see to."""
WithoutRules: TypeAlias = Annotated[Mapping[str, str], BeforeValidator(values.without_rules)]


class Table(BaseModel):
    """The keys of one table. Built when the first one is read: most users have no file, and an editor waits."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Limits(Table):
    """The ``[limits]`` table; counts from the next session on."""

    file_max_bytes: Size = Field(
        default=FILE_MAX_BYTES, description="Read, Edit and Write admit a file up to this size"
    )
    read_output_max_bytes: Size = Field(default=READ_OUTPUT_MAX_BYTES, description="what one Read shows")
    command_output_max_bytes: Size = Field(
        default=COMMAND_OUTPUT_MAX_BYTES, description="what is shown of the output of one command"
    )


class Sandbox(Table):
    """The ``[sandbox]`` table."""

    enabled: Switch = Field(
        default=False,
        description="commands are confined; where that cannot be had they are refused with the fix, never run without",
    )
    network: Switch = Field(default=False, description="confined commands have a network")
    allow_write: WritablePaths = Field(
        default=(),
        description="files and directories that they may write besides the workspace and a temporary directory of the "
        "session's own",
    )
    deny_read: Paths = Field(default=(), description="files and directories that they may not read")
    excluded_commands: Programs = Field(
        default=(), description="programs by name that run unconfined, where the line runs nothing else"
    )
    auto_allow: Switch = Field(
        default=False, description="a confined command needs no approval, unless a rule asks about it"
    )


class Commands(Table):
    """The ``[commands]`` table: which variables commands get besides or without the ones that are safe."""

    pass_environment: Variables = Field(
        default=(),
        description="variables that commands get although they look like credentials: names, or beginnings such as "
        "`CARGO_*`",
    )
    drop_environment: Variables = Field(default=(), description="further variables that they do not get")


class Log(Table):
    """The ``[log]`` table; counts from the next session on."""

    keep: KeptKinds = Field(
        default=KEPT,
        description="`observations` (calls that only read), `rejections` (calls that were refused), `results` (what "
        "calls returned), `before_states` (whole texts from before); what acts is always kept, with its arguments and "
        "changed lines",
    )
    days: Days = Field(
        default=LOG_MAX_DAYS, description="how long a call is kept, and what of a command's output was not shown"
    )
    max_bytes: LogSize = Field(default=LOG_MAX_BYTES, description="then the oldest calls go")
    redact: Patterns = Field(
        default=(), description="regular expressions; what one matches is replaced before it is written"
    )


class Permissions(Table):
    """The ``[permissions]`` table. Rules of all layers count together; how they are written is in docs/rules.md."""

    deny: Rules = Field(default=(), description="rules; what they say is refused")
    ask: Rules = Field(default=(), description="rules; what they say is asked about")
    allow: Rules = Field(default=(), description="rules; what they say is done without asking")
    default: WithoutRules = Field(
        default_factory=lambda: values.without_rules("allow"),
        description='what happens without a rule: one word, or one by capability, such as `{ SHELL = "ask" }`',
    )


class Web(Table):
    """The ``[web]`` table."""

    enabled: Switch = Field(default=True, description="there is WebFetch")
    allowed_hosts: Hosts = Field(
        default=(),
        description="hosts that may be fetched from although they are not public: names, addresses, networks, one port "
        "of them (`localhost:3000`)",
    )
    allowed_ports: Ports = Field(
        default=(), description="ports below 1024, besides the usual ones, at which public hosts may be reached"
    )
    proxy: Proxy | None = Field(default=None, description="URL of an HTTP proxy; the environment's is never used")
    authorities: OnePath | None = Field(
        default=None, description="PEM file of certificate authorities that are trusted besides the usual ones"
    )
    timeout_s: Seconds = Field(default=WEB_TIMEOUT_S, description="how long one fetch may take, in seconds")
    max_bytes: Size = Field(default=WEB_BODY_MAX_BYTES, description="the longest page that is fetched")
    max_redirects: Redirects = Field(default=WEB_REDIRECTS_MAX, description="how many redirects are followed")
    max_output_chars: Count = Field(default=WEB_OUTPUT_MAX_CHARS, description="what one WebFetch shows, in characters")


class Search(Table):
    """The ``[search]`` table. A key of a provider's is no setting: it comes from ``BRAVE_API_KEY`` alone."""

    enabled: Switch = Field(default=True, description="there is WebSearch, where its provider can be used")
    provider: Provider = Field(
        default="brave",
        description="`brave`, which needs the variable `BRAVE_API_KEY`, or `searxng`, which needs `url`",
    )
    url: WebAddress | None = Field(default=None, description="where the SearXNG is that is asked")


class Settings(Table):
    """All of it."""

    roots: Directories = Field(default=(), description="further roots of the file tools; from the next session on")
    limits: Limits = Field(default_factory=Limits)
    sandbox: Sandbox = Field(default_factory=Sandbox)
    commands: Commands = Field(default_factory=Commands)
    log: Log = Field(default_factory=Log)
    permissions: Permissions = Field(default_factory=Permissions)
    web: Web = Field(default_factory=Web)
    search: Search = Field(default_factory=Search)


TABLES: Final[Mapping[str, type[Table]]] = {
    name: field.annotation
    for name, field in Settings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, Table)
}

KEYS: Final = (
    *(name for name in Settings.model_fields if name not in TABLES),
    *(f"{name}.{key}" for name, table in TABLES.items() for key in table.model_fields),
)
"""Each by its whole name, such as ``sandbox.enabled``."""
