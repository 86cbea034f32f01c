"""Who uses what: a graph whose nodes are the definitions of a code base, and for each file the code outside of them.

It is kept up to date file by file. The edges of a node are worked out when it is first asked for them, and kept until
something changes that they depend on, so that a query pays for the part of the code base that it comes by, and a
changed file costs about what has changed in it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from typing import TYPE_CHECKING, Final, TypeAlias

from .file_node import FileNode
from .names import WordIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .index import IndexedFile

Node: TypeAlias = "tuple[str, str]"
"""A file's path and the key of a definition in it (see ``FileNode``); "" is the code outside of all definitions."""

Edges: TypeAlias = "tuple[tuple[Node, float], ...]"

FORWARD: Final = 0.60
"""Share of a node's weight that goes to what it uses."""
BACKWARD: Final = 0.20
"""Share that goes to what uses it."""
INWARD: Final = 0.12
"""Share that goes to what is defined inside of it."""
OUTWARD: Final = 0.08
"""Share that goes to what it is defined in. Shares that lead nowhere fall to the others."""

SAME_FILE: Final = 6.0
IMPORTED: Final = 6.0
SAME_DIRECTORY: Final = 2.0
ELSEWHERE: Final = 1.0
"""Of several definitions of a name, how likely each is meant, by where it is seen from the file that uses the name."""

_AMBIGUOUS_FROM: Final = 64  # a name with more definitions says nothing, unless one of them is near
_USERS_MAX: Final = 40
_USED_AS_ONE_OF: Final = 8


class SymbolGraph:
    """The graph of some files. Not to be used from two threads at once."""

    def __init__(self) -> None:
        self.files: dict[str, FileNode] = {}
        self.words = WordIndex()
        self._families: dict[str, _Family] = {}
        self._edges: dict[str, dict[str, Edges]] = {}

    def update(self, changed: Mapping[str, IndexedFile], gone: Iterable[str] = ()) -> None:
        """Put files in, in the place of what is known of them, and take others out."""
        size = len(self.files).bit_length()
        for path in gone:
            self._replace(path, None)
        for path, entry in changed.items():
            self._replace(path, FileNode(path, entry))
        if len(self.files).bit_length() != size:
            self._edges.clear()

    def definers(self, name: str) -> list[Node]:
        """The definitions of a name in all languages, by path and key."""
        found = [family.definers[name] for family in self._families.values() if name in family.definers]
        return found[0] if len(found) == 1 else sorted(node for nodes in found for node in nodes)

    def users(self, name: str) -> list[Node]:
        """What uses a name, by path, up to a number."""
        paths = {path for family in self._families.values() for path in family.users.get(name, ())}
        return self._user_nodes(name, sorted(paths))

    def distance(self, seen_from: FileNode, path: str) -> float:
        """How likely a name that is used in one file is the one that is defined in another."""
        other = self.files[path]
        if other is seen_from:
            return SAME_FILE
        if other.stem in seen_from.imports or other.directory_name in seen_from.imports:
            return IMPORTED
        return SAME_DIRECTORY if other.directory == seen_from.directory else ELSEWHERE

    def edges(self, node: Node) -> Edges:
        """Where the weight of a node goes, as shares that add up to 1; nothing for what leads nowhere."""
        path, key = node
        of_file = self._edges.get(path)
        if of_file is None:
            of_file = self._edges[path] = {}
        found = of_file.get(key)
        if found is None:
            found = of_file[key] = self._worked_out(node)
        return found

    def most_used(self, count: int) -> list[Node]:
        """The definitions whose names most files use, fewer for a name with several definitions; ties by path."""
        ranked: list[tuple[float, Node]] = []
        for family in self._families.values():
            for name, nodes in family.definers.items():
                users = len(family.users.get(name, ())) / (len(nodes) * len(nodes))
                ranked += [(-users, node) for node in nodes]
        ranked.sort()
        return [node for _, node in ranked[:count]]

    def _user_nodes(self, name: str, paths: list[str]) -> list[Node]:
        found: list[Node] = []
        for path in paths:
            found += [(path, key) for key in self.files[path].users_of(name)]
            if len(found) >= _USERS_MAX:
                break
        return found[:_USERS_MAX]

    # --- keeping up to date ------------------------------------------------------------------------------------

    def _replace(self, path: str, new: FileNode | None) -> None:
        old = self.files.pop(path, None)
        if old is not None and (new is None or old.family != new.family):
            self._change(path, old, None)
            old = None
        if new is not None:
            self.files[path] = new
            self._change(path, old, new)

    def _change(self, path: str, old: FileNode | None, new: FileNode | None) -> None:
        """Take over what is other in a file, and forget the edges that depend on it."""
        self._edges.pop(path, None)
        either = new or old
        assert either is not None
        family = self._families.setdefault(either.family, _Family())
        redefined = _differing(old and old.keys_of_names, new and new.keys_of_names)
        reused = _differing(old and old.users_of_names, new and new.users_of_names)
        stale: set[str] = set()
        for name in redefined:
            self._redefine(family, name, path, old, new)
            if self._edges:
                stale.update(family.users.get(name, ()))
        for name in reused:
            users = family.users.setdefault(name, set())
            before = len(users).bit_length()
            if new is not None and name in new.users_of_names:
                users.add(path)
            else:
                users.discard(path)
            if self._edges:
                if len(users).bit_length() != before:
                    stale.update(users)
                stale.update(definer for definer, _ in family.definers.get(name, ()))
            if not users:
                del family.users[name]
        for each in stale:
            self._edges.pop(each, None)

    def _redefine(self, family: _Family, name: str, path: str, old: FileNode | None, new: FileNode | None) -> None:
        nodes = family.definers.get(name)
        if nodes is None:
            nodes = family.definers[name] = []
            self.words.add(name)
        elif self._edges:
            for definer, _ in nodes:  # how many there are decides whether what uses them is an edge
                self._edges.pop(definer, None)
        for key in old.keys_of_names.get(name, ()) if old is not None else ():
            del nodes[bisect_left(nodes, (path, key))]
        for key in new.keys_of_names.get(name, ()) if new is not None else ():
            insort(nodes, (path, key))
        if not nodes:
            del family.definers[name]
            self.words.remove(name)

    # --- edges -------------------------------------------------------------------------------------------------

    def _worked_out(self, node: Node) -> Edges:
        path, key = node
        file = self.files[path]
        family = self._families[file.family]
        outward = {(path, file.owner_of(key)): 1.0} if key else {}
        parts = (
            (FORWARD, self._forward(node, file, family)),
            (BACKWARD, self._backward(node, file, family) if key else {}),
            (INWARD, {(path, child): 1.0 for child in file.inside(key)}),
            (OUTWARD, outward),
        )
        whole = sum(share for share, targets in parts if targets)
        edges: dict[Node, float] = {}
        for share, targets in parts:
            scale = share / whole / sum(targets.values()) if targets else 0.0
            for target, weight in targets.items():
                edges[target] = edges.get(target, 0.0) + scale * weight
        return tuple(edges.items())

    def _forward(self, node: Node, file: FileNode, family: _Family) -> dict[Node, float]:
        """What a node uses: rare names count more than common ones, and names with one definition more than with many.

        How rare is judged by powers of two, so that one more file that uses a name rarely changes anything.
        """
        targets: dict[Node, float] = {}
        size = len(self.files).bit_length()
        definers, users = family.definers, family.users
        for name, times in file.used_in(node[1]):
            nodes = definers.get(name)
            if nodes is None:
                continue
            weight = math.sqrt(times) * (1 + size - len(users[name]).bit_length())
            if len(nodes) == 1:
                target = nodes[0]
                if target != node:
                    targets[target] = targets.get(target, 0.0) + weight
                continue
            weight /= 1.0 + math.log(len(nodes))
            for target, share in self._shares(file, nodes):
                if target != node:
                    targets[target] = targets.get(target, 0.0) + weight * share
        return targets

    def _shares(self, file: FileNode, nodes: list[Node]) -> list[tuple[Node, float]]:
        distance = self.distance
        near = [(target, distance(file, target[0])) for target in nodes]
        if len(near) > _AMBIGUOUS_FROM:
            near = [(target, weight) for target, weight in near if weight > SAME_DIRECTORY][:_AMBIGUOUS_FROM]
        total = sum(weight for _, weight in near)
        return [(target, weight / total) for target, weight in near]

    def _backward(self, node: Node, file: FileNode, family: _Family) -> dict[Node, float]:
        """What uses a definition, where its name tells that."""
        name = file.definition(node[1]).name
        paths = family.users.get(name, ())
        if len(family.definers[name]) > _USED_AS_ONE_OF or len(paths) > _USERS_MAX:
            return {}
        return {user: 1.0 for user in self._user_nodes(name, sorted(paths)) if user != node}


class _Family:
    """The languages that use each other's names: what defines a name, by path and key, and which files use it."""

    __slots__ = ("definers", "users")

    def __init__(self) -> None:
        self.definers: dict[str, list[Node]] = {}
        self.users: dict[str, set[str]] = {}


def _differing(old: Mapping[str, tuple[str, ...]] | None, new: Mapping[str, tuple[str, ...]] | None) -> list[str]:
    """The names for which two files say something else, in no order that matters."""
    if not old or not new:
        return list(new or old or ())
    found = [name for name, keys in new.items() if old.get(name) != keys]
    return found + [name for name in old if name not in new]
