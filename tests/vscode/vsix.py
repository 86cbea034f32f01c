"""The extension's package, which ``npm run package`` builds, and one of the probe, which is packed here."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[2] / "vscode-client"
_PROBE = Path(__file__).resolve().parent / "probe"
_SOURCES = ("package.json", "esbuild.mjs", "src/**/*", "media/**/*")


def packaged_extension() -> Path | None:
    """The newest package, or the one that ``$OPENBUFFER_VSIX`` names; None where there is none."""
    if named := os.environ.get("OPENBUFFER_VSIX"):
        return Path(named)
    return max(CLIENT.glob("*.vsix"), key=lambda file: file.stat().st_mtime, default=None)


def why_not_packaged() -> str:
    """Why there is no package to be tested; empty where there is one, made of the sources as they are."""
    package = packaged_extension()
    how = "cd vscode-client && npm ci && npm run package"
    if package is None:
        return f"the extension is not packaged: {how}"
    if "OPENBUFFER_VSIX" in os.environ:
        return ""
    sources = [file for pattern in _SOURCES for file in CLIENT.glob(pattern) if file.is_file()]
    newer = [file for file in sources if file.stat().st_mtime > package.stat().st_mtime]
    return f"{newer[0].name} is newer than the packaged extension: {how}" if newer else ""


def pack_probe(directory: Path) -> Path:
    """A .vsix of the tests' own extension."""
    package = directory / "probe.vsix"
    with zipfile.ZipFile(package, "w") as archive:
        for file in _PROBE.iterdir():
            archive.write(file, f"extension/{file.name}")
    return package
