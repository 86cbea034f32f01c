"""Where the paths of rules lie: roots, home, and how names are compared there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..support.path_matcher import AnchoredPattern, PathMatcher

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..support.path_matcher import Folding
    from .grammar import Rule


def _unchanged(path: str) -> str:
    return path


def _never(_path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePlaces:
    """What the paths in rules are relative to. Roots and home are canonical paths.

    ``resolved`` follows links in a path that need not exist; ``folds_case`` tells whether the file system compares
    names there without regard to case. Both are asked when rules are compiled; the first also for what a command
    redirects to.
    """

    roots: Sequence[str]
    home: str
    resolved: Callable[[str], str] = _unchanged
    folds_case: Callable[[str], bool] = _never

    def patterns(self, rule: Rule) -> list[AnchoredPattern]:
        """What the path of a rule means, in every root where it is relative.

        A rule that restricts also means what the path leads to now, where there are links on it.

        Raises:
            ToolFailure: it is no pattern, or takes too long to be compared.
        """
        assert rule.path is not None
        restricts = rule.verdict != "allow"
        found: dict[AnchoredPattern, None] = {}
        for anchor, glob in self._anchored(rule.path):
            plain = AnchoredPattern(anchor, glob)
            found[self._folded(plain, restricts=restricts)] = None
            if restricts:
                base = plain.base
                resolved = self.resolved(base)
                if resolved != base:
                    found[self._folded(_moved(plain, base, resolved), restricts=restricts)] = None
        patterns = list(found)
        PathMatcher(patterns, deep=restricts)  # to have it refused now, where the rule is known
        return patterns

    def written(self, text: str, cwd: str, *, tilde: bool) -> str | None:
        """The path of a word in a command, as text: without ``.`` and ``..``; links are not followed.

        None where it is somebody's home directory, or one that the shell was in.
        """
        path = self._spelt(text, cwd, tilde=tilde)
        return None if path is None else _plain(path)

    def leads_to(self, text: str, cwd: str, *, tilde: bool) -> str | None:
        """The same as the system would find it now: links are followed, and ``..`` is behind them."""
        path = self._spelt(text, cwd, tilde=tilde)
        return None if path is None else _plain(self.resolved(path))

    def _spelt(self, text: str, cwd: str, *, tilde: bool) -> str | None:
        if tilde:
            return self.home + text[1:] if text == "~" or text.startswith("~/") else None
        return text if text.startswith("/") else f"{cwd}/{text}"

    def _anchored(self, path: str) -> list[tuple[str, str]]:
        below = path.endswith("/") and path.strip("/") != ""
        path = f"{path.rstrip('/')}/**" if below else path
        if path == "~" or path.startswith("~/"):
            return [(self.home, path[2:])]
        if path.startswith("/"):
            return [("/", path.lstrip("/"))]
        if path == "**" or (path.endswith("/**") and path.removesuffix("/**") in {".", "**"}):
            return [(root, "**") for root in self.roots]
        bare = path.removesuffix("/**") if below else path
        glob = f"**/{path}" if "/" not in bare else path.removeprefix("./")
        return [(root, glob) for root in self.roots]

    def _folded(self, pattern: AnchoredPattern, *, restricts: bool) -> AnchoredPattern:
        folding: Folding = "form" if restricts else "exact"
        if self.folds_case(pattern.base):
            folding = "case"
        return AnchoredPattern(pattern.anchor, pattern.glob, folding)


def _plain(path: str) -> str:
    names: list[str] = []
    for name in path.split("/"):
        if name == "..":
            del names[-1:]
        elif name not in {"", "."}:
            names.append(name)
    return "/" + "/".join(names)


def _moved(pattern: AnchoredPattern, base: str, resolved: str) -> AnchoredPattern:
    """The pattern with its literal beginning replaced by what that leads to."""
    glob = pattern.glob
    if not glob:
        return AnchoredPattern(resolved)
    names = len([name for name in base.split("/") if name]) - len([name for name in pattern.anchor.split("/") if name])
    rest = [name for name in glob.split("/") if name not in {"", "."}][names:]
    return AnchoredPattern(resolved, "/".join(rest))
