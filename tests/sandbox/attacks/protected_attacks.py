"""Attacks that make a tool of the host run, or believe, what a command has left in the workspace.

Where it is git, the host's git is run afterwards, as its user would: what it was made to run leaves a file outside.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from attack_kinds import as_root, attack, program
from attack_scene import wait_until
from openbuffer.sandbox.confinement.scratch import remove_tree
from openbuffer.sandbox.quarantine.protected import PROTECTED_NAMES
from servers import server_of_its_own

if TYPE_CHECKING:
    from pathlib import Path

    from attack_scene import Scene

GIT = program("git")
FILES = (".mcp.json", ".envrc", ".gitmodules", "openbuffer.toml", ".npmrc", ".bashrc")
DIRECTORIES = (".vscode", ".claude", ".idea", ".openbuffer")


def repository(scene: Scene, place: Path | None = None, *options: str) -> Path:
    """One of the host's, with a commit."""
    place = place or scene.ws
    place.mkdir(exist_ok=True, parents=True)
    scene.desk.own()
    scene.host("git", "init", "-q", *options, ".", cwd=place)
    for name, value in (("user.name", "host"), ("user.email", "host@example.invalid")):
        scene.host("git", "config", name, value, cwd=place)
    (place / "file").write_text("a file")
    scene.desk.own()
    scene.host("git", "add", "file", cwd=place)
    scene.host("git", "commit", "-qm", "first", cwd=place)
    return place


def poison(scene: Scene) -> str:
    """What git is to run: a program that leaves a file outside, and says that nothing has changed."""
    evil = scene.ws / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {scene.outside}/pwned-by-git\n")
    evil.chmod(0o755)
    return str(evil)


def git_was_made_to_run_it(scene: Scene, *commands: tuple[str, ...], cwd: Path | None = None) -> str:
    for command in commands or (("status",),):
        scene.host("git", *command, cwd=cwd)
    pwned = scene.outside / "pwned-by-git"
    return "git ran it" if pwned.exists() else ""


COMMIT = ("commit", "--allow-empty", "-qm", "by the host")


@attack("protected", GIT)
def a_hook_is_put_into_the_repository(scene: Scene) -> str:
    repository(scene)
    evil = poison(scene)
    scene.open()
    scene.run(f"cp {evil} .git/hooks/pre-commit; ln -s {evil} .git/hooks/post-commit; mv evil.sh .git/hooks/pre-commit")
    return git_was_made_to_run_it(scene, COMMIT)


@attack("protected", GIT)
def the_configuration_of_the_repository_is_changed(scene: Scene) -> str:
    repository(scene)
    evil = poison(scene)
    scene.open()
    scene.run(f"git config core.fsmonitor {evil}; printf '[core]\\nfsmonitor = {evil}\\n' >> .git/config")
    return git_was_made_to_run_it(scene)


@attack("protected", GIT)
def the_repository_is_renamed_and_another_put_in_its_place(scene: Scene) -> str:
    repository(scene)
    evil = poison(scene)
    scene.open()
    scene.run(
        f"cp -r .git copy; git -C copy config core.fsmonitor {evil}; (mv .git old && mv copy .git) || "
        "(rm -rf .git; mv -T copy .git)"
    )
    return git_was_made_to_run_it(scene)


@attack("protected", GIT)
def the_repository_is_removed(scene: Scene) -> str:
    repository(scene)
    scene.open()
    scene.run("rm -rf .git; rm -rf .git/objects .git/HEAD; git gc -q --prune=now; git update-ref -d HEAD")
    return "" if "first" in scene.host("git", "log", "--format=%s") else "the history is gone"


@attack("protected", GIT)
def a_repository_is_planted_where_there_is_none(scene: Scene) -> str:
    evil = poison(scene)
    scene.open()
    scene.run(f"git init -q . && git config core.fsmonitor {evil}")
    return git_was_made_to_run_it(scene)


@attack("protected", GIT)
def a_pointer_to_a_repository_elsewhere_is_planted(scene: Scene) -> str:
    evil = poison(scene)
    scene.open()
    scene.run(
        f"git init -q --separate-git-dir $PWD/.hidden work; git -C work config core.fsmonitor {evil}; "
        "git -C work config core.worktree $PWD; cp work/.git .git; rm -rf work"
    )
    return git_was_made_to_run_it(scene)


@attack("protected", GIT)
def a_link_to_a_repository_elsewhere_is_planted(scene: Scene) -> str:
    evil = poison(scene)
    scene.open()
    scene.run(f"git init -q sub; git -C sub config core.fsmonitor {evil}; ln -s sub/.git .git")
    return git_was_made_to_run_it(scene)


@attack("protected", GIT)
def the_directory_that_a_pointer_of_the_host_names_is_changed(scene: Scene) -> str:
    """The workspace's ``.git`` is a file; the directory that it names lies where commands may write."""
    repository(scene, scene.ws, "--separate-git-dir", str(scene.ws.parent / "repository"))
    evil = poison(scene)
    scene.open(allow_write=[str(scene.ws.parent)])
    scene.run(f"printf '[core]\\nfsmonitor = {evil}\\n' >> ../repository/config || mv ../repository ../moved")
    return git_was_made_to_run_it(scene)


@attack("protected", GIT)
def the_common_directory_of_a_working_tree_is_changed(scene: Scene) -> str:
    main = repository(scene, scene.ws.parent / "main")
    scene.ws.rmdir()
    scene.host("git", "worktree", "add", "-q", str(scene.ws), cwd=main)
    evil = poison(scene)
    scene.open(allow_write=[str(scene.ws.parent)])
    scene.run(
        f"cp {evil} ../main/.git/hooks/pre-commit; printf '[core]\\nfsmonitor = {evil}\\n' >> ../main/.git/config || "
        "mv ../main/.git ../main/old"
    )
    return git_was_made_to_run_it(scene, ("status",), COMMIT)


@attack("protected", GIT)
def another_working_tree_is_told_another_common_directory(scene: Scene) -> str:
    main = repository(scene, scene.ws.parent / "main")
    scene.ws.rmdir()
    scene.host("git", "worktree", "add", "-q", str(scene.ws), cwd=main)
    evil = poison(scene)
    scene.open(allow_write=[str(scene.ws.parent)])
    scene.run(
        f"cp -r ../main/.git evil-common; printf '[core]\\nfsmonitor = {evil}\\n' >> evil-common/config; "
        "echo $PWD/evil-common > $(git rev-parse --git-dir)/commondir; "
        "echo gitdir: $PWD/evil-common/worktrees/ws > .git"
    )
    return git_was_made_to_run_it(scene)


@attack("protected", GIT)
def the_repository_around_the_workspace_is_changed(scene: Scene) -> str:
    repository(scene, scene.ws.parent)
    evil = poison(scene)
    scene.open(allow_write=[str(scene.ws.parent)])
    scene.run(f"printf '[core]\\nfsmonitor = {evil}\\n' >> ../.git/config || mv ../.git ../old")
    return git_was_made_to_run_it(scene)


@attack("protected", GIT)
def the_repository_of_a_submodule_is_changed(scene: Scene) -> str:
    origin = repository(scene, scene.base / "origin")
    repository(scene)
    allow = ("-c", "protocol.file.allow=always")
    scene.host("git", *allow, "submodule", "--quiet", "add", str(origin), "sub")
    scene.host(*("git", "commit", "-qm", "with a submodule"))
    evil = poison(scene)
    scene.open()
    scene.run(
        f"git -C sub config core.fsmonitor {evil}; printf '[core]\\nfsmonitor = {evil}\\n' >> .git/modules/sub/config"
    )
    return git_was_made_to_run_it(scene, ("status",))


@attack("protected", GIT)
def the_target_of_a_linked_repository_is_changed(scene: Scene) -> str:
    repository(scene)
    (scene.ws / ".git").rename(scene.ws / "repository")
    (scene.ws / ".git").symlink_to("repository")
    evil = poison(scene)
    scene.open()
    scene.run(f"printf '[core]\\nfsmonitor = {evil}\\n' >> repository/config; cp {evil} repository/hooks/pre-commit")
    return git_was_made_to_run_it(scene, ("status",), COMMIT)


@attack("protected", GIT)
def a_linked_repository_is_led_elsewhere(scene: Scene) -> str:
    repository(scene)
    (scene.ws / ".git").rename(scene.ws / "repository")
    (scene.ws / ".git").symlink_to("repository")
    evil = poison(scene)
    scene.open()
    scene.run(f"cp -r repository evil; printf '[core]\\nfsmonitor = {evil}\\n' >> evil/config; ln -sfn evil .git")
    return git_was_made_to_run_it(scene, ("status",), COMMIT)


@attack("protected", GIT)
def the_target_of_a_linked_repository_is_replaced(scene: Scene) -> str:
    repository(scene)
    (scene.ws / "a").mkdir()
    (scene.ws / ".git").rename(scene.ws / "a" / "repository")
    (scene.ws / ".git").symlink_to("a/repository")
    evil = poison(scene)
    scene.open()
    scene.run(
        f"cp -r a b; printf '[core]\\nfsmonitor = {evil}\\n' >> b/repository/config; mv a c && mv b a || "
        "(mv a/repository x; mv b/repository a/)"
    )
    return git_was_made_to_run_it(scene)


@attack("protected")
def every_protected_name_is_planted(scene: Scene) -> str:
    scene.open()
    scene.run("; ".join(f"mkdir {each} || touch {each}; echo evil > {each}/x" for each in PROTECTED_NAMES))
    return _of_those(scene)


@attack("protected")
def every_protected_name_is_planted_as_a_file(scene: Scene) -> str:
    scene.open()
    scene.run("; ".join(f"echo evil > {each}" for each in PROTECTED_NAMES))
    return _of_those(scene)


@attack("protected")
def protected_names_are_planted_as_links(scene: Scene) -> str:
    scene.open()
    scene.run(
        "echo evil > evil; mkdir e; ln -s evil .envrc; ln evil .mcp.json; ln -s $PWD/e .vscode; ln -s nowhere .bashrc; "
        "mkfifo .npmrc; ln -s .zshrc .zshrc"
    )
    return _of_those(scene)


@attack("protected")
def protected_names_are_planted_by_renaming(scene: Scene) -> str:
    (scene.ws / "second").mkdir()
    scene.open(roots=(scene.ws, scene.ws / "second"))
    scene.run(
        "mkdir -p d/x; echo evil > f; mv d .vscode; mv f .mcp.json; mkdir -p second/d; mv second/d .claude; "
        "mkdir g; mv g second/.idea; cp -r .idea second/.git"
    )
    return _of_those(scene) or _of_those(scene, scene.ws / "second")


@attack("protected")
def what_exists_of_protected_names_is_changed(scene: Scene) -> str:
    """Written, replaced, renamed, removed, opened to everybody, and linked."""
    for name in FILES:
        (scene.ws / name).write_text("kept")
    for name in DIRECTORIES:
        (scene.ws / name).mkdir()
        (scene.ws / name / "settings.json").write_text("kept")
    scene.open()
    before = scene.tree(scene.ws)
    files, directories = " ".join(FILES), " ".join(DIRECTORIES)
    scene.run(
        f"exec 2>/dev/null; for f in {files}; do echo evil > $f; echo evil > n; mv -f n $f; chmod 777 $f; ln $f n$f; "
        f"echo evil > n$f; rm -f $f; done; for d in {directories}; do echo evil > $d/settings.json; "
        "touch $d/tasks.json; mv $d old$d; rm -rf $d; mkdir $d; chmod 777 $d; done; "
        "touch -d 2001-01-01 .envrc .vscode; rm -rf old* n*; true"
    )
    after = {name: facts for name, facts in scene.tree(scene.ws).items() if name in before}
    return ", ".join(name for name, facts in before.items() if after.get(name) != facts)


@attack("protected")
def a_protected_link_is_replaced_by_a_file(scene: Scene) -> str:
    (scene.ws / "dot").mkdir()
    (scene.ws / "dot" / "envrc").write_text("kept")
    (scene.ws / ".envrc").symlink_to("dot/envrc")
    scene.open()
    scene.run("rm .envrc; echo evil > .envrc")
    return _content(scene.ws / ".envrc")


@attack("protected")
def what_a_protected_link_leads_to_is_written(scene: Scene) -> str:
    (scene.ws / "dot").mkdir()
    (scene.ws / "dot" / "envrc").write_text("kept")
    (scene.ws / ".envrc").symlink_to("dot/envrc")
    scene.open()
    scene.run("echo evil > dot/envrc; echo evil > n; mv -f n dot/envrc; mv dot old; mkdir dot; echo evil > dot/envrc")
    return _content(scene.ws / ".envrc")


@attack("protected")
def what_a_protected_link_led_to_is_written_by_another_command_while_one_has_removed_the_link(scene: Scene) -> str:
    """The second one begins when there is no link; the first one ends, and the link is put back."""
    (scene.ws / "dot").mkdir()
    (scene.ws / "dot" / "envrc").write_text("kept")
    (scene.ws / ".envrc").symlink_to("dot/envrc")
    scene.open()
    if scene.confined:
        first = scene.desk.request("rm .envrc; touch began; sleep 0.4")
        second = scene.desk.request("echo evil > dot/envrc; echo evil > n; mv -f n dot/envrc")
        requests = [{"op": "run", **first}, {"op": "after", "path": str(scene.ws / "began"), **second}]
        answers = scene.desk.ask("together", requests=requests)
        assert all("ok" in each for each in answers), answers
    else:
        scene.run("rm .envrc; echo evil > dot/envrc; ln -s dot/envrc .envrc")
    return _content(scene.ws / ".envrc")


@attack("protected")
def a_protected_link_is_removed(scene: Scene) -> str:
    (scene.ws / "kept").write_text("kept")
    (scene.ws / ".npmrc").symlink_to("kept")
    scene.open()
    scene.run("rm -f .npmrc")
    return "" if (scene.ws / ".npmrc").is_symlink() else "it is gone"


@attack("protected")
def modes_hold_a_planted_tree_in_its_place(scene: Scene) -> str:
    scene.open()
    scene.run(
        "mkdir -p .git/hooks .vscode; echo evil > .git/hooks/x; echo evil > .vscode/tasks.json; chmod 0 .git/hooks/x; "
        "chmod 0555 .git/hooks .git; chmod 0 .vscode; chmod 0555 ."
    )
    scene.ws.chmod(0o755)
    return _of_those(scene)


@attack("protected")
def a_planted_tree_is_too_deep_to_be_moved(scene: Scene) -> str:
    scene.open()
    code = (
        "import os\\nos.mkdir('.vscode'); os.chdir('.vscode')\\nfor n in range(1200): os.mkdir('d'); "
        "os.chdir('d')\\nopen('evil', 'w')"
    )
    scene.run(f"/usr/bin/python3 -c \"exec('''{code}''')\"")
    try:
        return _of_those(scene)
    finally:
        # So deep that few programs can remove it.
        for each in (scene.ws / ".vscode", *scene.state.glob("quarantine/*")):
            remove_tree(str(each))


@attack("protected", as_root)
def a_planted_file_is_made_immutable(scene: Scene) -> str:
    scene.open()
    scene.run("echo evil > .envrc; chattr +i .envrc; mkdir .vscode; chattr +a .vscode; true")
    attributes = subprocess.run(
        ["lsattr", "-d", scene.ws / ".envrc"], capture_output=True, text=True, check=False
    ).stdout.split(" ")[0]
    subprocess.run(["chattr", "-ia", scene.ws / ".envrc", scene.ws / ".vscode"], capture_output=True, check=False)
    return attributes if "i" in attributes else _of_those(scene)


@attack("protected")
def a_process_plants_after_its_command_has_ended(scene: Scene) -> str:
    scene.run("(setsid sh -c 'sleep 0.3; echo evil > .envrc; mkdir .git' >/dev/null 2>&1 &); true")
    scene.comes(lambda: _of_those(scene), soon_s=0.5)
    return _of_those(scene)


@attack("protected")
def a_process_plants_again_and_again_while_its_command_ends(scene: Scene) -> str:
    """Five times: it is a race."""
    plant = "while :; do mkdir -p .git .vscode; echo evil > .envrc; done"
    line = f"(trap '' HUP TERM; setsid sh -c '{plant}' >/dev/null 2>&1 &); sleep 0.1"
    for _ in range(5):
        scene.run(line)
        if found := _of_those(scene):
            return found
    return ""


@attack("protected")
def commands_at_the_same_time_plant_for_each_other(scene: Scene) -> str:
    scene.open()
    lines = [f"sleep 0.{n}; mkdir .git; echo {n} > .envrc; mkdir .claude; sleep 0.{5 - n}" for n in range(4)]
    if scene.confined:
        answers = scene.desk.ask("together", requests=[{"op": "run", **scene.desk.request(line)} for line in lines])
        assert all("ok" in each for each in answers), answers
    else:
        scene.run(" & ".join(f"({line})" for line in lines) + "; wait")
    return _of_those(scene)


@attack("protected")
def what_was_planted_stays_when_the_server_is_killed(scene: Scene) -> str:
    """Until the next start, which sweeps."""
    with server_of_its_own(scene) as server:
        scene.open()
        with suppress(Exception), scene.meanwhile("mkdir .git; echo evil > .envrc; touch held; sleep 20"):
            os.kill(server.process_id, signal.SIGKILL)
    if scene.confined:
        wait_until(lambda: not scene.processes(), 10)
    scene.desk.open()
    scene.desk.ask("sweep")
    return _of_those(scene)


@attack("protected")
def the_quarantine_is_led_elsewhere(scene: Scene) -> str:
    """What is moved there would land where the attacker wants it."""
    target = scene.outside / "target"
    target.mkdir()
    scene.open(allow_write=[str(scene.base)])
    scene.run(f"mv {scene.state} {scene.base}/old; ln -s {target} {scene.state}; mkdir {scene.state}/quarantine")
    scene.run("echo evil > .envrc", may_be_refused=True)
    if not scene.confined and scene.state.is_symlink():
        scene.state.unlink()
        return "it leads elsewhere"
    return ", ".join(str(path) for path in target.rglob("*")) or _of_those(scene)


@attack("protected")
def another_spelling_is_the_same_name_on_this_file_system(scene: Scene) -> str:
    (scene.ws / "probe").touch()
    if (
        not (scene.ws / "PROBE").exists()
        and subprocess.run(["chattr", "+F", scene.ws], capture_output=True, check=False).returncode
    ):
        pytest.skip("names differ by case on this file system")
    scene.open()
    scene.run("mkdir .GIT .VsCode; echo evil > .EnvRC; echo evil > .Mcp.Json")
    return _of_those(scene)


def _of_those(scene: Scene, root: Path | None = None) -> str:
    """Protected names that are there now, though they were not when it began."""
    return ", ".join(each for each in PROTECTED_NAMES if os.path.lexists((root or scene.ws) / each))


def _content(path: Path) -> str:
    try:
        text = path.read_text()
    except OSError as error:
        return str(error)
    return "" if text == "kept" else text
