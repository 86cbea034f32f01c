"""The default tier: the tools that a session gets when its composition root has no list of its own (X6).

Imported at composition roots and nowhere else, and exported by no other module. It implements no tool and decides
nothing: a root that wants other tools puts its own list together, or assembles one by ``config``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openbuffer.sandbox.port import routes_files_through_sandbox

from .builtin.ask_user_question import create_ask_user_question_tool
from .builtin.edit import create_edit_tool
from .builtin.glob import create_glob_tool
from .builtin.grep import create_grep_tool
from .builtin.read import create_read_tool
from .builtin.shell import create_bash_tool, create_shell_tool
from .builtin.web_fetch import create_web_fetch_tool
from .builtin.write import create_write_tool

if TYPE_CHECKING:
    from openbuffer.editor_access.port import EditorProvider
    from openbuffer.sandbox.port import SandboxClient

    from .contract import FunctionTool
    from .support.command_host import Environment
    from .support.paths import CwdInput

_COMMANDS: Final = ("Shell", "Bash")


def create_default_tools(
    *,
    cwd: CwdInput,
    editor: EditorProvider | None = None,
    sandbox: SandboxClient | None = None,
    environment: Environment = None,
) -> tuple[FunctionTool, ...]:
    """The tier, freshly built: the same options give the same list, and nothing is looked at or kept for that.

    ``cwd`` holds the file tools; commands start there. ``editor`` is for the file tools and searches, never for
    commands. A ``sandbox`` whose files are its own carries the file tools, in which ``cwd`` is a directory then; the
    editor is not passed on, and there are no searches (S4, E4). ``environment`` is what commands get as their
    variables; without one, those of this process. The web is that of public hosts alone. Questions are put to whom a
    call brings along. Every tool is resident.
    """
    is_elsewhere = routes_files_through_sandbox(sandbox)
    near = None if is_elsewhere else editor
    searching = () if is_elsewhere else (create_glob_tool(cwd=cwd, editor=near), create_grep_tool(cwd=cwd, editor=near))
    return (
        create_shell_tool(cwd=cwd, sandbox=sandbox, environment=environment, assembled=_COMMANDS),
        create_bash_tool(cwd=cwd, sandbox=sandbox, environment=environment, assembled=_COMMANDS),
        create_read_tool(cwd=cwd, editor=near, sandbox=sandbox),
        create_write_tool(cwd=cwd, editor=near, sandbox=sandbox),
        create_edit_tool(cwd=cwd, editor=near, sandbox=sandbox),
        *searching,
        create_web_fetch_tool(),
        create_ask_user_question_tool(),
    )
