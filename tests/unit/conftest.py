"""Fixtures that several unit tests share."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["openat2", "walk", "walk without descriptor paths"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every way to resolve a path, one after the other; what this system lacks is left out."""
    from openbuffer.tools.support import boundary, descriptor_path, open_leaf, openat2, paths

    if request.param == "openat2" and not openat2.available():
        pytest.skip("this kernel has no openat2, or a filter forbids it")
    if request.param != "openat2":
        monkeypatch.setattr(openat2, "available", lambda: False)
    if request.param == "walk without descriptor paths":
        for module in (boundary, descriptor_path, open_leaf, paths):
            monkeypatch.setattr(module, "descriptors_have_paths", lambda: False)
    return request.param
