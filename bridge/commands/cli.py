"""The ``openbuffer`` command: parse, dispatch, leave with an exit code.

Exit codes: 0 it worked, 1 an ordinary failure, 2 a hard error or wrong usage, 130 stopped by Ctrl-C, 141 nobody
reads the output any more. Nothing heavy is imported before it is known which command it is, because an editor
waits for ``serve``.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .output import OutputError, writing

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130
EXIT_BROKEN_PIPE: Final = 141
"""128 plus SIGPIPE: what a shell reports of any program whose reader went away."""

_OUTCOMES: Final = (
    "succeeded",
    "failed",
    "error",
    "cancelled",
    "outdated",
    "rejected",
    "running",
    "interrupted",
)
"""Those of the log's reader, which is too heavy to be asked before it is known which command it is."""

_CALL_EXAMPLES: Final = """\
examples:
  openbuffer call Read '{"filePath": "notes.txt"}'
  openbuffer call Edit '{"filePath": "notes.txt", "oldString": "pears", "newString": "plums"}'
  openbuffer call --root ~/project --json Read - < arguments.json

exit code: 0 the tool did it, 1 it says why not, 2 it could not run, 130 stopped by Ctrl-C
"""

_SERVE_EXAMPLES: Final = """\
examples:
  openbuffer serve
  openbuffer serve --listen 127.0.0.1:0
  openbuffer serve --listen unix:/run/user/1000/openbuffer/a.sock --token-file /run/user/1000/openbuffer/a.token

A server that listens prints one line of JSON, {"listen": ADDRESS, "accessToken": TOKEN}, without the token where
$OPENBUFFER_ACCESS_TOKEN or --token-file has it. A client sends it in initialize, under
initializationOptions.openbuffer.accessToken.

exit code: 0 after shutdown, 1 without, 2 it could not run, 128 + n after signal n
"""

_APPLY_EXAMPLES: Final = """\
examples:
  openbuffer workspace apply workspace.yaml --sandbox memory
  openbuffer workspace apply workspace.yaml --sandbox podman --image debian:12
  openbuffer workspace apply - --sandbox docker:my-container < workspace.json

exit code: 0 all of it is there, 1 the manifest is refused, failed or has mounts that cannot be made, 2 it could not run
"""

_CONFIG_HELP: Final = """\
TOML or JSON file to use instead of openbuffer/openbuffer.toml in $XDG_CONFIG_HOME or ~/.config; README.md has its keys
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; ``launch`` starts it here."""
    _have_stdout()
    try:
        code = _dispatch(_parser().parse_args(argv))
        with writing():
            sys.stdout.flush()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return EXIT_BROKEN_PIPE
    except OutputError as error:
        _silence_stdout()
        done = "what the command did is not undone; send its output elsewhere and look before you repeat it"
        print(f"openbuffer: the output could not be written ({error}); {done}", file=sys.stderr)  # noqa: T201  likewise
        return EXIT_USAGE
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="openbuffer",
        description="Agent tools and a language server that read and change what the editor shows.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    _serve_options(
        commands.add_parser(
            "serve",
            help="the language server, over stdin and stdout or at a socket; an editor starts it",
            epilog=_SERVE_EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
    )

    call = commands.add_parser(
        "call",
        help="call one tool without an editor",
        epilog=_CALL_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    call.add_argument("--root", type=Path, metavar="DIR", help="the boundary of the file tools; default: here")
    call.add_argument("--config", type=Path, metavar="FILE", help=_CONFIG_HELP)
    call.add_argument("--json", action="store_true", help="print the whole answer as one JSON object")
    call.add_argument(
        "--approve",
        choices=("never", "once"),
        default="never",
        help="what becomes of a call that the rules ask about; default: never",
    )
    call.add_argument("name", metavar="NAME", help="the tool, for example Read")
    call.add_argument("arguments", metavar="JSON", help="its arguments as a JSON object; - reads them from stdin")

    doctor = commands.add_parser("doctor", help="find out what works here and how to get what does not")
    doctor.add_argument("--root", type=Path, metavar="DIR", help="the workspace to look at; default: here")
    doctor.add_argument("--config", type=Path, metavar="FILE", help=_CONFIG_HELP)
    doctor.add_argument("--json", action="store_true", help="print the findings as one JSON object")

    config = commands.add_parser("config", help="the settings as they hold here, and where each comes from")
    config.add_argument("--root", type=Path, metavar="DIR", help="the workspace to look at; default: here")
    config.add_argument("--config", type=Path, metavar="FILE", help=_CONFIG_HELP)
    config.add_argument("--json", action="store_true", help="print them as one JSON object")

    _log_options(commands.add_parser("log", help="what the tools did: the last calls, or one of them with its diff"))

    demo = commands.add_parser("demo", help="watch an unsaved buffer being read, edited and kept")
    demo.add_argument(
        "--editor", choices=("headless", "nvim"), default="headless", help="the editor to use; default: headless"
    )

    workspace = commands.add_parser("workspace", help="fill a sandbox's workspace")
    apply = workspace.add_subparsers(dest="workspace_command", metavar="COMMAND", required=True).add_parser(
        "apply",
        help="make what a manifest says",
        epilog=_APPLY_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_apply_arguments(apply)
    return parser


def _serve_options(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("--config", type=Path, metavar="FILE", help=_CONFIG_HELP)
    how = serve.add_mutually_exclusive_group()
    how.add_argument("--stdio", action="store_true", help="over stdin and stdout, for one client; this is the default")
    how.add_argument(
        "--listen", metavar="ADDRESS", help="at HOST:PORT (of this machine alone) or unix:PATH, for many clients"
    )
    serve.add_argument(
        "--token-file", type=Path, metavar="FILE", help="with --listen: put the access token here, and not on stdout"
    )
    serve.add_argument(
        "--clientProcessId", type=_process_id, dest="client_process", metavar="PID", help="leave when this process ends"
    )
    serve.add_argument("--log-file", type=Path, metavar="FILE", help="log to this file too; it is rotated")
    serve.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        help="what is logged; default: $OPENBUFFER_LOG, or warning",
    )


def _process_id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no process id, which is a number from 1 on")
    return int(text)


def _add_apply_arguments(apply: argparse.ArgumentParser) -> None:
    apply.add_argument("file", metavar="FILE", help="the manifest, YAML or JSON; - reads it from stdin")
    apply.add_argument(
        "--sandbox",
        required=True,
        metavar="NAME",
        help="docker or podman: a new container; docker:ID or podman:ID: one that runs; memory: only tell what it says",
    )
    apply.add_argument("--image", metavar="IMAGE", help="what a new container is made from; it is not downloaded")
    apply.add_argument("--network", action="store_true", help="give a new container a network; clones need one")
    apply.add_argument(
        "--local",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a further directory that local entries may be in, besides the manifest's own",
    )
    apply.add_argument("--root", default="/workspace", metavar="DIR", help="the workspace in the sandbox; /workspace")
    apply.add_argument("--json", action="store_true", help="print what became of the entries as one JSON object")


def _log_options(log: argparse.ArgumentParser) -> None:
    log.add_argument("--json", action="store_true", help="print one JSON object for each call")
    log.add_argument("--follow", action="store_true", help="go on with what happens, until Ctrl-C")
    log.add_argument("-n", "--limit", type=int, default=50, metavar="N", help="the last N calls; default: 50")
    log.add_argument("--tool", metavar="NAME", help="calls of this tool")
    log.add_argument("--session", metavar="ID", help="calls of this session: its number, or 8 characters of its key")
    log.add_argument("--outcome", choices=_OUTCOMES, help="calls that ended like this")
    log.add_argument("--since", metavar="TIME", help="calls since then: 30m, 2h, 3d ago, or a date")
    show = log.add_subparsers(dest="log_command", metavar="show ID").add_parser("show", help="one call, whole")
    show.add_argument("id", metavar="ID", help="its number in the list, or its call id")
    show.add_argument("--json", action="store_true", dest="show_json", help="print it as one JSON object")
    show.add_argument("--before", action="store_true", help="print what was there before its change, and nothing else")


def _dispatch(arguments: argparse.Namespace) -> int:
    if arguments.version:
        from ..version import VERSION  # noqa: PLC0415  see the module

        print(f"openbuffer {VERSION}")  # noqa: T201  a command line prints
        return 0
    match arguments.command:
        case "serve":
            return _serve(arguments)
        case "call":
            from .call import call  # noqa: PLC0415  see the module

            return call(
                arguments.name,
                arguments.arguments,
                root=arguments.root,
                config_file=arguments.config,
                as_json=arguments.json,
                approve=arguments.approve,
            )
        case "doctor":
            from .doctor import doctor  # noqa: PLC0415  see the module

            return doctor(arguments.root, as_json=arguments.json, config_file=arguments.config)
        case "config":
            from .config import config  # noqa: PLC0415  see the module

            return config(arguments.root, as_json=arguments.json, config_file=arguments.config)
        case "log":
            return _log(arguments)
        case "demo":
            from .demo import demo  # noqa: PLC0415  see the module

            return demo(arguments.editor)
        case "workspace":
            from .workspace import Order, apply  # noqa: PLC0415  see the module

            return apply(
                Order(
                    file=arguments.file,
                    sandbox=arguments.sandbox,
                    image=arguments.image,
                    network=arguments.network,
                    local=arguments.local,
                    root=arguments.root,
                    as_json=arguments.json,
                )
            )
        case _:
            _parser().print_help(sys.stderr)
            return EXIT_USAGE


def _serve(arguments: argparse.Namespace) -> int:
    from ..server import serve_socket, serve_stdio  # noqa: PLC0415  see the module

    how: dict[str, Any] = {
        "config_file": arguments.config,
        "log_file": arguments.log_file,
        "log_level": arguments.log_level or "",
        "client_process": arguments.client_process,
    }
    if arguments.listen is not None:
        return serve_socket(arguments.listen, token_file=arguments.token_file, **how)
    if arguments.token_file is not None:
        print("openbuffer: --token-file goes with --listen; there is no token over stdin and stdout", file=sys.stderr)  # noqa: T201  a command line prints
        return EXIT_USAGE
    return serve_stdio(**how)


def _log(arguments: argparse.Namespace) -> int:
    from .log import log, show  # noqa: PLC0415  see the module

    if arguments.log_command == "show":
        return show(arguments.id, as_json=arguments.json or arguments.show_json, before=arguments.before)
    return log(
        as_json=arguments.json,
        follow=arguments.follow,
        most=max(0, arguments.limit),
        tool=arguments.tool,
        session=arguments.session,
        outcome=arguments.outcome,
        since=arguments.since,
    )


def _have_stdout() -> None:
    """Where the caller closed stdout, nobody wants the output, and it goes nowhere."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  it is stdout until the end


def _silence_stdout() -> None:
    """Point stdout at nothing, or the interpreter complains when it flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
