"""Exit codes as providers tell them: one clear one, or an error that says which kind of unclear it is."""

from __future__ import annotations

import enum
from types import SimpleNamespace
from typing import Any

import pytest
from e2b_doubles import CommandExitError
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.sandbox import ExitCodeError
from openbuffer.sandbox.exit_codes import exit_code_of_exception, exit_code_of_result, tells_exit_code


class Code(enum.IntEnum):
    THREE = 3


class Unreadable:
    @property
    def exit_code(self) -> int:
        raise RuntimeError("the connection is gone")


class Raised(Exception):  # noqa: N818  the shape of a provider's
    def __init__(self, **attributes: Any) -> None:
        super().__init__("raised")
        self.__dict__.update(attributes)


@pytest.mark.contract("S5")
@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ({"exit_code": 0}, 0),
        ({"exit_code": 255}, 255),
        ({"exit_code": Code.THREE}, 3),
        ({"exit_code": 0, "error": None}, 0),
        ({"exit_code": 0, "error": "  "}, 0),
        ({"exitCode": 3}, 3),
        ({"exit_code": 3, "exitCode": 3, "error": "exit status 3"}, 3),
        ({"exit_code": None, "exitCode": 3}, 3),
        ({"exit_code": 3, "error": "something else went wrong"}, 3),
    ],
)
def test_one_clear_code_is_the_code(attributes: dict[str, Any], code: int) -> None:
    found = exit_code_of_result(SimpleNamespace(**attributes))
    assert (found, type(found)) == (code, int)


@pytest.mark.contract("S5")
@pytest.mark.parametrize(
    "result", [SimpleNamespace(), SimpleNamespace(exit_code=None), None, "done", {"exit_code": 0}, Unreadable()]
)
def test_a_missing_code_is_an_error(result: object) -> None:
    with pytest.raises(ExitCodeError, match="do not take it for success") as caught:
        exit_code_of_result(result)
    assert caught.value.reason == "missing"


@pytest.mark.contract("S5")
def test_a_code_that_has_no_text_is_malformed_all_the_same() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError("no words")

    for code in (10**5_000, -(10**5_000), Silent()):
        with pytest.raises(ExitCodeError, match="do not take it for success") as caught:
            exit_code_of_result(SimpleNamespace(exit_code=code))
        assert caught.value.reason == "malformed"


@pytest.mark.contract("S5")
@pytest.mark.parametrize(
    "code",
    [True, False, "0", b"0", 0.0, float("nan"), float("inf"), -1, -9, 256, 2**31, 10**30, [0], (0,), {}, 0j, object()],
)
def test_a_malformed_code_is_an_error_never_success(code: object) -> None:
    for ended in (SimpleNamespace(exit_code=code), SimpleNamespace(exitCode=code)):
        with pytest.raises(ExitCodeError) as caught:
            exit_code_of_result(ended)
        assert caught.value.reason == "malformed"
    with pytest.raises(ExitCodeError) as caught:
        exit_code_of_exception(Raised(exit_code=code))
    assert caught.value.reason == "malformed"


@pytest.mark.contract("S5")
def test_a_command_ended_by_a_signal_says_so() -> None:
    with pytest.raises(ExitCodeError, match="signal: killed") as caught:
        exit_code_of_exception(CommandExitError(-1, error="signal: killed"))
    assert caught.value.reason == "malformed"


@pytest.mark.contract("S5")
@pytest.mark.parametrize(
    "attributes",
    [
        {"exit_code": 0, "exitCode": 1},
        {"exit_code": 2, "exitCode": 1},
        {"exit_code": 0, "error": "signal: killed"},
        {"exit_code": 0, "error": "exit status 1"},
        {"exit_code": 2, "error": "exit status 1"},
        {"exit_code": 1, "error": "exit status 0"},
    ],
)
def test_codes_that_contradict_each_other_are_an_error(attributes: dict[str, Any]) -> None:
    with pytest.raises(ExitCodeError, match="contradicts itself") as caught:
        exit_code_of_result(SimpleNamespace(**attributes))
    assert caught.value.reason == "conflicting"
    with pytest.raises(ExitCodeError) as caught:
        exit_code_of_exception(Raised(**attributes))
    assert caught.value.reason == "conflicting"


@pytest.mark.contract("S5")
@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"exit_code": 0}, "conflicting"),
        ({"exit_code": 3, "result": SimpleNamespace(exit_code=0)}, "conflicting"),
        ({"exit_code": 3, "result": SimpleNamespace(exitCode=4)}, "conflicting"),
        ({"exit_code": 3, "result": SimpleNamespace(exit_code=True)}, "malformed"),
        ({"exit_code": None}, "missing"),
        ({"result": SimpleNamespace(exit_code=0)}, "conflicting"),
    ],
)
def test_a_failure_that_was_raised_has_a_code_that_is_one(attributes: dict[str, Any], reason: str) -> None:
    error = Raised(**attributes)
    assert tells_exit_code(error)
    with pytest.raises(ExitCodeError) as caught:
        exit_code_of_exception(error)
    assert caught.value.reason == reason


def test_a_code_can_lie_in_the_result_that_an_exception_carries() -> None:
    assert exit_code_of_exception(Raised(result=SimpleNamespace(exit_code=4))) == 4
    assert exit_code_of_exception(Raised(exit_code=4, result=SimpleNamespace(exit_code=4))) == 4


def test_another_failure_tells_no_code() -> None:
    for error in (RuntimeError("x"), TimeoutError(), Raised(result="none"), Raised(code=3), KeyError("exit_code")):
        assert not tells_exit_code(error)


VALUES = st.none() | st.booleans() | st.integers(-300, 600) | st.floats() | st.text(max_size=3)


@pytest.mark.contract("S5")
@given(VALUES, VALUES, st.none() | st.sampled_from(["", "exit status 0", "exit status 1", "signal: killed"]))
def test_success_needs_a_zero_that_nothing_contradicts(snake: object, camel: object, error: str | None) -> None:
    result = SimpleNamespace(exit_code=snake, exitCode=camel, error=error)
    try:
        code = exit_code_of_result(result)
    except ExitCodeError:
        return
    told = [value for value in (snake, camel) if value is not None]
    assert told
    assert all(type(value) is int and value == code and 0 <= code <= 255 for value in told)
    assert code != 0 or not error
