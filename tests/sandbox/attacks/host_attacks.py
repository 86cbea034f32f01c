"""Attacks on those who start the sandbox: lines that smuggle, paths that are swapped between two looks, helpers that
are found in the workspace.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from attack_kinds import attack, program
from attack_scene import MARK
from confined_desk import SYSTEM_PATH

if TYPE_CHECKING:
    from collections.abc import Callable

    from attack_scene import Scene

# Git is excluded; PROOF is a file outside that only an unconfined command can make.
SMUGGLED = {
    "after_a_semicolon": "git --version; touch PROOF",
    "after_an_and": "git --version && touch PROOF",
    "after_an_or": "git no-such-thing || touch PROOF",
    "after_a_pipe": "git --version | tee PROOF",
    "in_the_background": "git --version & touch PROOF; wait",
    "on_a_second_line": "git --version\ntouch PROOF",
    "in_a_substitution": "git --version $(touch PROOF)",
    "in_backquotes": "git --version `touch PROOF`",
    "in_double_quotes": 'git --version "$(touch PROOF)"',
    "by_a_redirection": "git --version > PROOF",
    "by_a_redirection_without_blanks": "git --version>PROOF",
    "by_a_here_document": "git --version <<X\n$(touch PROOF)\nX",
    "by_an_assignment_of_the_path": "PATH=$PWD/shims:$PATH git PROOF",
    "by_a_function": "git() { touch PROOF; }; git",
    "by_an_alias": "alias git='touch PROOF'\ngit",
    "by_a_relative_path": "./shims/git PROOF",
    "by_a_path_of_the_same_name": "$PWD/shims/git PROOF",
    "by_a_program_that_runs_another": "env git --version; env touch PROOF",
    "by_an_arithmetic_expansion": "git --version $(( $(touch PROOF; echo 1) ))",
    "by_a_parameter_expansion": "git --version ${x:-$(touch PROOF)}",
    "after_a_comment": "git --version #\ntouch PROOF",
    "by_a_carriage_return_and_a_line": "git --version\r\ntouch PROOF",
    "in_a_group": "{ git --version; touch PROOF; }",
    "in_a_subshell": "(git --version; touch PROOF)",
    "by_eval": "eval git --version';' touch PROOF",
    "after_a_word_that_is_quoted": "'git' --version; touch PROOF",
    "by_a_negation": "! git no-such-thing; touch PROOF",
    "by_an_escaped_line_end": "git --version \\\n; touch PROOF",
}


def _smuggler(line: str) -> Callable[[Scene], str]:
    def act(scene: Scene) -> str:
        proof = scene.outside / "smuggled"
        shims = scene.ws / "shims"
        shims.mkdir()
        (shims / "git").write_text('#!/bin/sh\ntouch "$1"\n')
        (shims / "git").chmod(0o755)
        scene.open(excluded_commands=["git"])
        # The mark of a run would make two commands of it; that it ran at all shows in the first half.
        _run_as_it_is(scene, line.replace("PROOF", str(proof)))
        return scene.outside_changed()

    return act


for _name, _line in SMUGGLED.items():
    _act = _smuggler(_line)
    _act.__name__ = f"an_excluded_program_brings_another_along_{_name}"
    _act.__module__ = __name__
    attack("host", program("git"))(_act)


def _run_as_it_is(scene: Scene, line: str, environment: dict[str, str] | None = None) -> list[str]:
    request = scene.desk.request(line, environment={MARK: scene.token, **(environment or {})})
    answer = scene.desk.ask("decided" if scene.confined else "bare", **request)
    return answer["notes"]


@attack("host", program("git"))
def an_excluded_program_is_found_in_the_workspace_first(scene: Scene) -> str:
    """The path of the server begins with a directory of the workspace, as some set-ups for development have it."""
    shims = scene.ws / "shims"
    shims.mkdir()
    scene.open(excluded_commands=["git"])
    before = scene.desk.ask("get_environment", name="PATH")
    scene.desk.ask("set_environment", environment={"PATH": f"{shims}:{SYSTEM_PATH}"})
    scene.on_close(lambda: scene.desk.ask("set_environment", environment={"PATH": before}))
    scene.run(f"printf '#!/bin/sh\\ntouch {scene.outside}/smuggled\\n' > shims/git; chmod 755 shims/git")
    _run_as_it_is(scene, "git --version", {"PATH": f"{shims}:{SYSTEM_PATH}"})
    return scene.outside_changed()


@attack("host")
def a_bubblewrap_is_planted_where_it_is_looked_for_first(scene: Scene) -> str:
    shims = scene.ws / "shims"
    shims.mkdir()
    scene.open()
    scene.run(f"printf '#!/bin/sh\\ntouch {scene.outside}/started\\n' > shims/bwrap; chmod 755 shims/bwrap")
    if scene.confined:
        program, _ = scene.desk.ask("detect_on", path=f"{shims}:.:{SYSTEM_PATH}", roots=[str(scene.ws)])
        assert not program.startswith(str(scene.base))
    else:
        found = shutil.which("bwrap", path=f"{shims}:{SYSTEM_PATH}")
        assert found is not None
        subprocess.run([found, "--version"], check=False, capture_output=True)
    return scene.outside_changed()


@attack("host")
def helpers_of_the_server_are_found_in_the_workspace(scene: Scene) -> str:
    """Programs by a path that begins with the workspace; modules and libraries by the working directory."""
    shims = scene.ws / "shims"
    shims.mkdir()
    scene.open()
    names = ("sh", "git", "bwrap", "newuidmap", "python3", "cat", "true")
    scene.run(
        "; ".join(
            f"printf '#!/bin/sh\\n/usr/bin/touch {scene.outside}/started\\n' > shims/{each}; chmod 755 shims/{each}"
            for each in names
        )
        + f'; for each in openbuffer sandbox json os sitecustomize; do echo \'open("{scene.outside}/started", "w")\' '
        "> $each.py; done"
    )
    scene.run(
        "true; git --version; python3 -c 'import json'",
        environment={"PATH": f"{shims}:{SYSTEM_PATH}", "PYTHONPATH": str(scene.ws), "LD_LIBRARY_PATH": str(scene.ws)},
    )
    return scene.outside_changed()


@attack("host", program("gcc"))
def a_library_is_loaded_into_whatever_starts_the_command(scene: Scene) -> str:
    (scene.ws / "evil.c").write_text(
        "#include <fcntl.h>\n"
        f'__attribute__((constructor)) void run(void) {{ open("{scene.outside}/loaded", O_CREAT | O_WRONLY, 0644); }}\n'
    )
    scene.desk.own()
    scene.host("gcc", "-shared", "-fPIC", "-o", "evil.so", "evil.c")
    scene.open()
    scene.run("true", environment={"LD_PRELOAD": str(scene.ws / "evil.so")})
    return scene.outside_changed()


@attack("host")
def a_path_that_may_be_written_becomes_a_link_between_two_commands(scene: Scene) -> str:
    (scene.ws / "out").mkdir()
    scene.open()
    scene.run(f"rm -rf out; ln -s {scene.outside} out")
    scene.desk.set(allow_write=[str(scene.ws / "out")])
    scene.run("echo evil > out/kept")
    return scene.outside_changed()


@attack("host")
def a_parent_of_a_path_that_may_be_written_becomes_a_link(scene: Scene) -> str:
    (scene.ws / "a" / "out").mkdir(parents=True)
    (scene.outside / "out").mkdir()
    (scene.outside / "out" / "kept").write_text("kept")
    scene.open(allow_write=[str(scene.ws / "a" / "out")])
    scene.run("touch a/out/x; mv a b; rm -rf a")
    scene.desk.set()
    scene.run(f"mv a b; rm -rf a; ln -s {scene.outside} a")
    scene.desk.set(allow_write=[str(scene.ws / "a" / "out")])
    scene.run("echo evil > a/out/kept")
    return scene.outside_changed()


@attack("host")
def a_path_that_may_be_written_is_swapped_all_the_time(scene: Scene) -> str:
    """One command swaps a directory and a link, others begin meanwhile, for which the path was just looked at."""
    (scene.ws / "a" / "out").mkdir(parents=True)
    (scene.outside / "out").mkdir()
    (scene.outside / "out" / "kept").write_text("kept")
    scene.open()
    swap = f"ln -s {scene.outside} l; for n in $(seq 100); do mv a d; mv l a; mv a l; mv d a; done; true"
    write = "for n in 1 2 3 4 5; do echo evil > a/out/kept; sleep 0.02; done; true"
    if not scene.confined:
        scene.run(f"({swap}) & {write}; {write}; wait; rm -rf a; ln -s {scene.outside} a; {write}")
        return scene.outside_changed()
    requests = [{"op": "run", **scene.desk.request(line)} for line in (swap, *[write] * 3)]
    requests[1:1] = [{"op": "set", "settings": {"allow_write": [str(scene.ws / "a" / "out")]}}]
    scene.desk.ask("together", requests=requests)
    return scene.outside_changed()


@attack("host")
def the_workspace_itself_becomes_a_link(scene: Scene) -> str:
    scene.open(allow_write=[str(scene.ws.parent)])
    scene.run(f"cd ..; mv ws old; ln -s {scene.outside} ws")
    try:
        scene.run("echo evil > kept", may_be_refused=True)
        return scene.outside_changed()
    finally:
        if scene.ws.is_symlink():
            scene.ws.unlink()
        scene.ws.mkdir(exist_ok=True)


@attack("host", place="temporary")
def places_in_the_private_temporary_directory_lead_mounts_elsewhere(scene: Scene) -> str:
    """The workspace lies in the host's temporary directory; a command makes links where it will be mounted."""
    scene.open()
    if not scene.confined:
        scene.run(f"mv {scene.base} {scene.base}-moved; ln -s {scene.base}-moved {scene.base}")
        moved = Path(f"{scene.base}-moved")
        if moved.is_dir():
            scene.base.unlink()
            moved.rename(scene.base)
            return "the workspace is not where it was"
    scene.run(
        f"cd /; rm -rf {scene.base}; mv {scene.base} /tmp/x; mv {scene.ws.parent} /tmp/y; ln -s /etc {scene.base}"
    )
    scratch = next(scene.state.glob("temporary-*/content"))
    inside = scratch / str(scene.base)[len("/tmp/") :]
    if inside.exists() and str(scene.base).startswith("/tmp/"):
        # What nothing pins is the session's own: done for the command, so that the next one finds it.
        shutil.rmtree(inside)
        inside.symlink_to(scene.outside)
    scene.run("touch by-the-next; echo evil > ../../outside/kept")
    assert (scene.ws / "by-the-next").exists()
    return scene.outside_changed()


@attack("host")
def a_command_is_given_a_directory_that_leads_out(scene: Scene) -> str:
    (scene.ws / "way").symlink_to(scene.outside)
    scene.open()
    scene.run("echo evil > kept", cwd=scene.ws / "way", may_be_refused=True)
    return scene.outside_changed()


@attack("host")
def the_sandbox_is_switched_off_by_a_file_of_the_workspace(scene: Scene) -> str:
    """Settings are not read from the workspace by the client, whatever lies there."""
    scene.open()
    scene.run(
        "printf '[sandbox]\\nenabled = false\\nallow_write = [\"/\"]\\n' > openbuffer.toml; mkdir -p .openbuffer; "
        "cp openbuffer.toml .openbuffer/"
    )
    scene.run(f"echo evil > {scene.kept}", environment={"XDG_CONFIG_HOME": str(scene.ws), "OPENBUFFER_SANDBOX": "off"})
    return scene.outside_changed()
