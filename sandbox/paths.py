"""Where paths of the host lie, by their names alone. Pure."""

from __future__ import annotations


def lies_in(path: str, directory: str) -> bool:
    """Whether a path is the directory or below it; both absolute and normal."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")
