"""Repositories of a manifest, cloned for real: the ref that was asked for, and nothing that runs by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from manifest_desk import FullClient, files_below
from openbuffer.sandbox.errors import ManifestFailedError, ManifestRefusedError
from openbuffer.sandbox.manifests.apply import apply_workspace_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.sandbox.manifests.result import ManifestResult


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sandbox" / "workspace"


class Repository:
    """A real repository, reached by ssh: the program in place of ssh runs git's own server."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.directory = base / "served" / "repo.git"
        self.work = base / "work"
        self.home = base / "home"
        self.home.mkdir()
        self.work.mkdir()
        self._git("init", "-q", "-b", "main", ".")
        self.first = self.commit("one.txt", "1")
        self._git("tag", "v1")
        self.second = self.commit("two.txt", "2")
        self._git("checkout", "-q", "-b", "side", "v1")
        self.side = self.commit("side.txt", "s")
        self._git("checkout", "-q", "main")
        self.publish()
        self.ssh = base / "ssh"
        # The last argument is the line for the far end.
        self.ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
        self.ssh.chmod(0o755)

    @property
    def url(self) -> str:
        return f"ssh://git@example.test{self.directory}"

    @property
    def environment(self) -> dict[str, str]:
        return {"GIT_SSH": str(self.ssh), "GIT_SSH_VARIANT": "ssh", "HOME": str(self.home)}

    def commit(self, name: str, content: str) -> str:
        (self.work / name).parent.mkdir(exist_ok=True, parents=True)
        (self.work / name).write_text(content)
        self._git("add", "-A")
        self._git("commit", "-q", "-m", name)
        return self._git("rev-parse", "HEAD")

    def publish(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
        self._git("clone", "-q", "--bare", ".", str(self.directory))
        self._git("--git-dir", str(self.directory), "config", "uploadpack.allowAnySHA1InWant", "true")

    def _git(self, *arguments: str) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"}
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.test", "-c", "protocol.file.allow=always"]
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=self.work, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    base = tmp_path / "repository"
    base.mkdir()
    return Repository(base)


async def clone(repository: Repository, root: Path, **entry: Any) -> ManifestResult:
    client = FullClient()
    client.environment |= repository.environment
    manifest = {"entries": {"repo": {"type": "gitRepo", "url": repository.url, **entry}}}
    return await apply_workspace_manifest(client, manifest, root=str(root))


def commits(directory: Path) -> int:
    counted = subprocess.run(
        ["git", "rev-list", "--count", "HEAD"], cwd=directory, check=True, capture_output=True, text=True
    )
    return int(counted.stdout)


@pytest.mark.contract("S11")
@pytest.mark.parametrize("shallow", [False, True])
@pytest.mark.parametrize("ref", [None, "side", "v1", "second", "side-id"])
async def test_a_repository_is_cloned_at_its_ref(
    ref: str | None, shallow: bool, repository: Repository, root: Path
) -> None:
    named = {"second": repository.second, "side-id": repository.side}
    expected = {None: repository.second, "v1": repository.first, "side": repository.side, **named}[ref]
    result = await clone(repository, root, ref=named.get(ref or "", ref), shallow=shallow)
    assert result.complete
    assert result.entries[0].detail == f"at {expected}"
    assert (root / "repo" / "one.txt").read_text() == "1"
    assert commits(root / "repo") == (1 if shallow or ref == "v1" else 2)


@pytest.mark.contract("S11")
async def test_cloning_runs_nothing_that_the_repository_or_a_template_brings(
    repository: Repository, root: Path, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    template = tmp_path / "template"
    (template / "hooks").mkdir(parents=True)
    for directory in (template / "hooks", repository.work / "hooks"):
        directory.mkdir(exist_ok=True)
        hook = directory / "post-checkout"
        hook.write_text(f"#!/bin/sh\ntouch {trap}\n")
        hook.chmod(0o755)
    (repository.home / ".gitconfig").write_text(
        f"[init]\n\ttemplateDir = {template}\n[core]\n\thooksPath = {template}/hooks\n[submodule]\n\trecurse = true\n"
    )
    # A submodule whose url would run a program.
    (repository.work / ".gitmodules").write_text(f'[submodule "m"]\n\tpath = m\n\turl = ext::touch {trap}\n')
    repository._git("update-index", "--add", "--cacheinfo", f"160000,{repository.first},m")
    last = repository.commit("hooks/x", "x")
    repository.publish()
    for ref in ("main", last):
        assert (await clone(repository, root, ref=ref)).complete
        assert not trap.exists()
        assert not (root / "repo" / ".git" / "hooks").exists()
        shutil.rmtree(root)


@pytest.mark.contract("S11")
async def test_a_configuration_that_leads_a_url_to_a_program_does_not(
    repository: Repository, root: Path, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    (repository.home / ".gitconfig").write_text(
        f'[url "ext::touch {trap} "]\n\tinsteadOf = ssh://git@example.test/\n[protocol]\n\tallow = always\n'
    )
    with pytest.raises(ManifestFailedError, match="transport 'ext' not allowed"):
        await clone(repository, root)
    assert not trap.exists()
    assert files_below(root) == {}


@pytest.mark.parametrize("ref", ["nowhere", "0" * 40])
async def test_a_ref_that_is_not_there_leaves_no_half_clone(ref: str, repository: Repository, root: Path) -> None:
    with pytest.raises(ManifestFailedError, match="git could not clone it") as caught:
        await clone(repository, root, ref=ref)
    assert caught.value.result.entries[0].status == "failed"
    assert files_below(root) == {}


async def test_without_git_in_the_sandbox_a_repository_is_refused(root: Path, tmp_path: Path) -> None:
    client = FullClient()
    client.environment["PATH"] = str(tmp_path)
    manifest = {
        "entries": {
            "a": {"type": "file", "content": ""},
            "r": {"type": "gitRepo", "url": "https://example.test/r.git"},
        }
    }
    with pytest.raises(ManifestRefusedError, match="no git in the sandbox"):
        await apply_workspace_manifest(client, manifest, root=str(root))
    assert client.changes == []


@pytest.mark.contract("S11")
@pytest.mark.parametrize("name", ["GIT_SSH_COMMAND", "GIT_SSH", "GIT_CONFIG_GLOBAL", "HOME", "XDG_CONFIG_HOME"])
async def test_the_environment_of_a_manifest_has_git_run_nothing(name: str, repository: Repository, root: Path) -> None:
    proof, evil = root.parent / "proof", root / "evil"
    settings = f'[core]\n\tsshCommand = "touch {proof}; {repository.ssh}"\n'
    files = {"evil/.gitconfig": settings, "evil/git/config": settings, "evil/ssh": f"#!/bin/sh\ntouch {proof}\n"}
    values = {
        "GIT_SSH_COMMAND": f"touch {proof};{repository.ssh}",
        "GIT_SSH": str(evil / "ssh"),
        "GIT_CONFIG_GLOBAL": str(evil / ".gitconfig"),
    }
    client = FullClient()
    client.environment |= repository.environment
    manifest = {
        "entries": {
            "evil": {"type": "dir"},
            **{path: {"type": "file", "content": text, "permissions": "755"} for path, text in files.items()},
            "repo": {"type": "gitRepo", "url": repository.url},
        },
        "environment": {name: values.get(name, str(evil))},
    }
    with suppress(ManifestFailedError):  # without the ssh that it names there is none here
        await apply_workspace_manifest(client, manifest, root=str(root))
    assert not proof.exists()
    assert client.environment[name] == manifest["environment"][name]
    assert [call for call in client.calls if call[0] == "run" and "clone" in call[1]]


@pytest.mark.contract("S11")
@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "PS4", "BASH_ENV"])
async def test_a_variable_that_decides_what_a_clone_runs_is_refused_beside_one(name: str, root: Path) -> None:
    client = FullClient()
    repository = {"repo": {"type": "gitRepo", "url": "https://example.test/r"}}
    with pytest.raises(ManifestRefusedError, match=f"environment: {name} .*while a repository is cloned"):
        await apply_workspace_manifest(client, {"entries": repository, "environment": {name: "x"}}, root=str(root))
    assert client.calls == []
    allowed = {"entries": {"a": {"type": "dir"}}, "environment": {name: os.environ.get(name, "")}}
    assert (await apply_workspace_manifest(client, allowed, root=str(root))).complete


@pytest.mark.contract("S11")
async def test_no_file_of_the_manifest_is_there_before_its_repositories_are(repository: Repository, root: Path) -> None:
    proof = root.parent / "proof"
    settings = f'[core]\n\tsshCommand = "touch {proof}; {repository.ssh}"\n'
    client = FullClient()
    client.environment |= repository.environment | {"HOME": str(root)}  # as at E2B, where people work at home
    manifest = {
        "entries": {
            ".gitconfig": {"type": "file", "content": settings},
            "repo": {"type": "gitRepo", "url": repository.url},
            "d": {"type": "dir"},
        }
    }
    result = await apply_workspace_manifest(client, manifest, root=str(root))
    assert [entry.path for entry in result.entries] == [".gitconfig", "repo", "d"]
    assert result.complete
    assert (root / ".gitconfig").read_text() == settings
    assert not proof.exists()


@pytest.mark.contract("S11")
@pytest.mark.parametrize("place", [".config", ".config/git"])
async def test_no_repository_is_settings_of_the_clone_of_another_one(
    place: str, repository: Repository, root: Path
) -> None:
    proof = root.parent / "proof"
    settings = f'[core]\n\tsshCommand = "touch {proof}; {repository.ssh}"\n'
    repository.commit("config" if place.endswith("git") else "git/config", settings)
    repository.publish()
    client = FullClient()
    client.environment |= {"GIT_SSH_VARIANT": "ssh", "GIT_SSH": str(repository.ssh), "HOME": str(root)}
    entry = {"type": "gitRepo", "url": repository.url}
    for paths in ([place, "repo"], ["repo", place]):
        with pytest.raises(ManifestRefusedError, match=f"'{place}' may hold settings or programs .* while another"):
            await apply_workspace_manifest(client, {"entries": dict.fromkeys(paths, entry)}, root=str(root))
    assert client.calls == []
    assert not proof.exists()
    assert (await apply_workspace_manifest(client, {"entries": {place: entry}}, root=str(root))).complete


@pytest.mark.contract("S11")
async def test_a_proxy_of_the_manifests_holds_for_its_clones(root: Path) -> None:
    client = FullClient()
    names = ("https_proxy", "HTTPS_PROXY", "all_proxy", "NO_PROXY")
    manifest = {
        "entries": {"repo": {"type": "gitRepo", "url": "https://example.test/r"}},
        "environment": {**dict.fromkeys(names, "http://127.0.0.1:9"), "COLOUR": "red"},
    }
    with pytest.raises(ManifestFailedError, match="Failed to connect to 127"):
        await apply_workspace_manifest(client, manifest, root=str(root))
    line = next(call[1] for call in client.calls if "clone" in call[1])
    assert line.startswith("unset -v COLOUR; ")
