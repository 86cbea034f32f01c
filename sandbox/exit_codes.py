"""How a command ended, by what a provider says about it. What is not one clear exit code is an error (S5). Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .errors import ExitCodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_EXIT_CODE: Final = 255


def exit_code_of_result(result: object) -> int:
    """The exit code of a command whose result was returned.

    Raises:
        ExitCodeError: it has none, none that a process can have, or several different ones.
    """
    code = _one_code(result)
    if code == 0 and (words := _error_words(result)):
        raise _conflicting(f"its exit code is 0, and an error is told as well: {words}")
    return code


def exit_code_of_exception(error: BaseException) -> int:
    """The exit code of a command whose end was raised; 0 is none then.

    Raises:
        ExitCodeError: as of a result.
    """
    code = _one_code(error)
    if code == 0:
        raise _conflicting("its exit code is 0, and it was raised as a failure")
    return code


def tells_exit_code(error: BaseException) -> bool:
    """Whether an exception is one about the end of a command, and no other failure."""
    return any(_holds(holder, name) for holder in _holders(error) for name in _NAMES)


_NAMES: Final = ("exit_code", "exitCode")
_STATUS: Final = re.compile(r"exit status (\d{1,10})\Z")
_ABSENT: Final = object()


def _one_code(ended: object) -> int:
    told = [value for holder in _holders(ended) for value in _told_by(holder)]
    if not told:
        raise ExitCodeError(
            f"the sandbox did not tell the command's exit code{_in_words(ended)}; {_NO_SUCCESS}", reason="missing"
        )
    codes = {_well_formed(value, ended) for value in told}
    match = _STATUS.search(_error_words(ended))
    if match is not None:
        codes.add(int(match.group(1)))
    if len(codes) > 1:
        raise _conflicting("these were told: " + ", ".join(map(str, sorted(codes))))
    return codes.pop()


def _holders(ended: object) -> Iterator[object]:
    """An exception can carry the result in itself, or as one of its attributes."""
    yield ended
    result = _attribute(ended, "result") if isinstance(ended, BaseException) else _ABSENT
    if result is not _ABSENT and not callable(result):
        yield result


def _told_by(holder: object) -> Iterator[object]:
    for name in _NAMES:
        value = _attribute(holder, name)
        if value is not _ABSENT and value is not None:
            yield value


def _well_formed(value: object, ended: object) -> int:
    # True is an int of Python, and no exit code.
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_EXIT_CODE:
        return int(value)
    raise ExitCodeError(
        f"the sandbox told {_shown(value)} ({type(value).__name__}) as the command's exit code, which no command "
        f"ends with{_in_words(ended)}; {_NO_SUCCESS}",
        reason="malformed",
    )


def _shown(value: object) -> str:
    try:
        return repr(value)[:80]
    except Exception:  # noqa: BLE001  a number of very many digits has no text, and others need not have one
        return "something"


def _in_words(ended: object) -> str:
    words = _error_words(ended)
    return f" ({words})" if words else ""


def _error_words(ended: object) -> str:
    for holder in _holders(ended):
        words = _attribute(holder, "error")
        if isinstance(words, str) and words.strip():
            return words.strip()[:500]
    return ""


def _holds(holder: object, name: str) -> bool:
    return _attribute(holder, name) is not _ABSENT


def attribute(holder: object, name: str, absent: object = None) -> object:
    """What the holder has by this name; None where that cannot be read, ``absent`` where it is not there."""
    try:
        return getattr(holder, name, absent)
    except Exception:  # noqa: BLE001  an attribute that cannot be read tells nothing, whatever it raises
        return None


def _attribute(holder: object, name: str) -> object:
    return attribute(holder, name, _ABSENT)


def _conflicting(words: str) -> ExitCodeError:
    return ExitCodeError(
        f"what the sandbox told about the command's end contradicts itself ({words}); {_NO_SUCCESS}",
        reason="conflicting",
    )


_NO_SUCCESS: Final = "do not take it for success: look at what the command should have done before you go on"
