"""One file of the graph: its definitions by keys that stay the same while others come and go."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .index import IndexedFile
    from .port import Definition

_FAMILIES: Final = {"tsx": "javascript", "typescript": "javascript", "cpp": "c"}
"""Languages that use names of each other; every other is a family by itself."""

_NAMELESS: Final = frozenset({"__init__", "index", "mod", "lib", "main", "init"})
"""Files of these names are imported by the name of their directory."""

_TEST: Final = re.compile(
    r"(?:^|[/_.\-])(?:tests?|testing|specs?|__tests__|fixtures?|testdata|mocks?|examples?|samples?|benchmarks?)(?:[/_.\-]|$)",
    re.IGNORECASE,
)


class FileNode:
    """The key of a definition is its name; the second of the same name in the file has one with a number, and so on.

    ``keys_of_names`` has the keys by the names that are defined here, ``users_of_names`` those of the definitions that
    use a name, "" being the code outside of all.
    """

    __slots__ = (
        "_by_key",
        "_by_owner",
        "_children",
        "_keys",
        "directory",
        "directory_name",
        "entry",
        "family",
        "imports",
        "is_test",
        "keys_of_names",
        "stem",
        "users_of_names",
    )

    def __init__(self, path: str, entry: IndexedFile) -> None:
        self.entry = entry
        self.family = _FAMILIES.get(entry.language, entry.language)
        self.imports = frozenset(entry.symbols.imports)
        self.directory, _, name = path.rpartition("/")
        self.directory_name = self.directory.rpartition("/")[2]
        self.is_test = looks_like_test(path)
        stem = os.path.splitext(name)[0]
        self.stem = self.directory_name if stem in _NAMELESS else stem
        self._by_owner: dict[str, list[tuple[str, int]]] | None = None
        self._children: dict[str, list[str]] | None = None
        self.keys_of_names: dict[str, tuple[str, ...]] = {}
        self._keys = self._made_keys()
        self._by_key = {key: place for place, key in enumerate(self._keys)}
        self.users_of_names: dict[str, tuple[str, ...]] = {}
        keys, users = [*self._keys, ""], self.users_of_names  # an owner of -1 is the last of these
        for owner, used, _ in entry.symbols.references:
            users[used] = (*users[used], keys[owner]) if used in users else (keys[owner],)

    @property
    def keys(self) -> list[str]:
        """The keys of the definitions, in the order in which they stand in the file."""
        return self._keys

    def definition(self, key: str) -> Definition:
        """The definition of a key."""
        return self.entry.symbols.definitions[self._by_key[key]]

    def place(self, key: str) -> int:
        """How many definitions come before that of a key."""
        return self._by_key[key]

    def owner_of(self, key: str) -> str:
        """The key of the definition in which another one lies; "" for the file."""
        owner = self.definition(key).owner
        return "" if owner < 0 else self._keys[owner]

    def used_in(self, key: str) -> list[tuple[str, int]]:
        """The names that a definition uses itself, and how often."""
        if self._by_owner is None:
            self._by_owner = {}
            keys = [*self._keys, ""]
            for owner, name, count in self.entry.symbols.references:
                self._by_owner.setdefault(keys[owner], []).append((name, count))
        return self._by_owner.get(key, [])

    def inside(self, key: str) -> list[str]:
        """What is defined directly inside of a definition."""
        if self._children is None:
            self._children = {}
            for each in self._keys:
                self._children.setdefault(self.owner_of(each), []).append(each)
        return self._children.get(key, [])

    def users_of(self, name: str) -> tuple[str, ...]:
        """The definitions that use a name."""
        return self.users_of_names.get(name, ())

    def _made_keys(self) -> list[str]:
        keys: list[str] = []
        for definition in self.entry.symbols.definitions:
            known = self.keys_of_names.get(definition.name, ())
            key = f"{definition.name} {len(known)}" if known else definition.name
            self.keys_of_names[definition.name] = (*known, key)
            keys.append(key)
        return keys


def looks_like_test(path: str) -> bool:
    """Whether a path has a name in it that tests commonly have, or what only tests or readers use."""
    return _TEST.search(path) is not None
