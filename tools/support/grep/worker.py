"""The process that searches: it gets orders with descriptors, and answers them one by one."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ...contract import CancellationToken
from ...errors import PlanOutdatedError, ToolFailure
from ...limits import GREP_IDLE_S, GREP_MEMORY_MAX_BYTES
from ..isolated_life import held_descriptor, live
from ..located import Located, why_unread
from .content import Beneath, NotSearchedError, read_all, text_of
from .crew import lines_in
from .dialect import read_pattern
from .frames import answer_frame, receive_order
from .kept_texts import KeptTexts
from .matcher import Matcher, find_re2
from .order import Answer, Found
from .own_engine import OwnEngine, TooManyFilesError, has_unapplied_rules
from .report import Report
from .ripgrep import RipgrepFailedError, RipgrepLimitError, run_ripgrep
from .ripgrep_words import keep_wanted, reasons_of_ripgrep
from .standing_tree import StandingTrees

if TYPE_CHECKING:
    import socket

    from .matcher import Re2Module
    from .order import Order
    from .syntax import Pattern


_COSTLY_S: Final = 1.0


def main() -> None:
    """Answer orders until there are no more, or none came for a while."""
    searcher = Searcher(find_re2(), held=(held_descriptor(),))

    def answer_next(owner: socket.socket) -> bytes | None:
        order = receive_order(owner)
        return None if order is None else answer_frame(searcher.answer(*order))

    live(answer_next, idle_s=GREP_IDLE_S, memory_max_bytes=GREP_MEMORY_MAX_BYTES)


class Searcher:
    """Answers orders; keeps texts of small trees, compiled patterns, which trees are large, and ripgrep's failures."""

    def __init__(self, re2: Re2Module | None, *, held: tuple[int, ...] = ()) -> None:
        self._held = held
        self._kept = KeptTexts()
        self._standing = StandingTrees()
        self._large: set[str] = set()
        self._lost_on: set[str] = set()
        self._re2 = re2
        self._matcher = lru_cache(maxsize=16)(self._compiled)

    def answer(self, order: Order, descriptor: int) -> Answer:
        """Search what the descriptor is, and close it."""
        try:
            pattern, matcher = self._matcher(order.pattern, order.ignore_case, order.multiline)
            if order.is_file:
                return Report(order, _of_file(order, matcher, descriptor), matcher, descriptor).write()
            return self._of_directory(order, pattern, matcher, descriptor)
        except (ToolFailure, PlanOutdatedError) as failure:
            return Answer(failure=str(failure))
        except OSError as error:
            return Answer(failure=f"cannot be searched {why_unread(error)}.")
        finally:
            os.close(descriptor)

    def _compiled(self, pattern: str, ignore_case: bool, multiline: bool) -> tuple[Pattern, Matcher]:
        read = read_pattern(pattern, ignore_case=ignore_case, multiline=multiline)
        return read, Matcher(read, self._re2)

    def _of_directory(self, order: Order, pattern: Pattern, matcher: Matcher, descriptor: int) -> Answer:
        usable = order.ripgrep is not None and order.path not in self._lost_on
        with_ripgrep = usable and not pattern.backtracks and order.engine != "own"
        if with_ripgrep and (order.engine == "ripgrep" or order.path in self._large):
            return self._by_ripgrep(order, pattern, matcher, descriptor)
        try:
            return self._alone(order, matcher, descriptor, may_call_crew=not with_ripgrep)
        except TooManyFilesError:
            self._large.add(order.path)
            return self._by_ripgrep(order, pattern, matcher, descriptor)

    def _by_ripgrep(self, order: Order, pattern: Pattern, matcher: Matcher, descriptor: int) -> Answer:
        assert order.ripgrep is not None
        began = time.monotonic()

        def may_go_on() -> bool:
            return not has_unapplied_rules(order, _located(order, descriptor))

        try:
            result = run_ripgrep(order.ripgrep, order, pattern, descriptor, self._held, may_go_on=may_go_on)
        except RipgrepLimitError:
            raise MemoryError from None
        except (RipgrepFailedError, OSError) as error:
            if order.engine == "ripgrep":
                return Answer(failure=f"ripgrep cannot search it ({error})")
            if time.monotonic() - began > _COSTLY_S:
                self._lost_on.add(order.path)  # else it may be the pattern, and costs next to nothing
            return self._alone(order, matcher, descriptor, may_call_crew=True)
        keep_wanted(result.found, order.glob)
        if order.multiline:
            _count_again(result.found, order, matcher, descriptor)
        report = Report(order, result.found, matcher, descriptor, is_sure=False)
        answer = report.write()
        answer.engine = "ripgrep"
        result.ignored_names.name_only(report.is_inside)
        answer.left_out += reasons_of_ripgrep(result)
        return answer

    def _alone(self, order: Order, matcher: Matcher, descriptor: int, *, may_call_crew: bool) -> Answer:
        key = (order.path, order.ignoring, order.named, order.max_file_bytes, repr(order.unreadable))
        standing = None if order.glob else self._standing.get(key)
        counts = order.mode != "files_with_matches"
        found = standing and standing.search(descriptor, matcher, order.max_file_bytes, counts=counts)
        if standing is not None and found is not None:
            reasons = standing.reasons
        else:
            own = OwnEngine(order, _located(order, descriptor), matcher, self._kept)
            found = own.search(CancellationToken(), may_call_crew=may_call_crew)
            reasons = own.reasons()
            if not order.glob:
                self._standing.put(key, own.tree)
        answer = Report(order, found, matcher, descriptor).write()
        answer.searched = found.searched
        answer.left_out += reasons
        return answer


def _located(order: Order, descriptor: int) -> Located:
    """The directory that the descriptor is; it is opened again by its name ``.`` and never by a path."""
    return Located(
        root=order.path,
        path=order.path,
        name="",
        parent_fd=descriptor,
        anchor_fd=os.dup(descriptor),
        status=os.fstat(descriptor),
        kind="directory",
    )


def _of_file(order: Order, matcher: Matcher, descriptor: int) -> Found:
    found = Found()
    path = os.path.basename(order.path)
    try:
        lines = lines_in(text_of(read_all(descriptor, order.max_file_bytes)), matcher, counts=True)
    except NotSearchedError as error:
        found.leave_out(path, error)
        return found
    found.searched = 1
    if lines:
        found.matched.append((path, lines))
    return found


def _count_again(found: Found, order: Order, matcher: Matcher, descriptor: int) -> None:
    """Across lines ripgrep counts matches, where lines are counted here, and takes binary files for text."""
    matched: list[tuple[str, int]] = []
    beneath = Beneath(descriptor)
    try:
        for path, _ in found.matched:
            try:
                lines = lines_in(text_of(beneath.read(path, order.max_file_bytes)), matcher, counts=True)
            except NotSearchedError as error:
                found.leave_out(path, error)
                continue
            if lines:
                matched.append((path, lines))
    finally:
        beneath.close()
    found.matched = matched
