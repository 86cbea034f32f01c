"""ComputerView and Computer: a picture of the computer that is driven, and one action with its mouse and keyboard (W6).

The computer is what the driver drives; without a driver there is none, and this host is never it. Coordinates are those
of the last picture that was handed out, so that one has to be taken first. While a person has the computer nothing is
done and no picture is taken, and nobody but them ends that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator, model_validator

from ..computer import (
    ACTIONS,
    ActionName,
    Click,
    DoubleClick,
    Drag,
    MouseButton,
    Move,
    PictureBounds,
    PressKeys,
    Scroll,
    TypeText,
    Wait,
)
from ..contract import Capability, FunctionTool, InvocationResult, Plan, ToolContext, create_builtin_tool
from ..errors import ToolDefinitionError
from ..limits import (
    COMPUTER_KEYS_MAX,
    COMPUTER_PATH_MAX_POINTS,
    COMPUTER_REASON_MAX_CHARS,
    COMPUTER_SCROLL_MAX,
    COMPUTER_TEXT_MAX_CHARS,
    COMPUTER_WAIT_DEFAULT_MS,
    COMPUTER_WAIT_MAX_MS,
    SCREENSHOT_MAX_BYTES,
    SCREENSHOT_MAX_PIXELS,
    SCREENSHOT_MAX_SIDE,
)
from ..support.computer_desk import ComputerDesk, Handover, PlannedAction
from ..support.computer_keys import keys_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from ..computer import ComputerDriver
    from ..ports import ArtifactStore, AskPort
    from ..support.computer_places import SeenPicture


class ComputerViewInput(BaseModel):
    """Arguments of ComputerView: none."""

    model_config = ConfigDict(extra="forbid")


class PathPoint(BaseModel):
    """One point of a drag."""

    model_config = ConfigDict(extra="forbid")

    x: float = Field(description="Its column in the last picture, counted from 0 at the left.")
    y: float = Field(description="Its row in the last picture, counted from 0 at the top.")


class ComputerInput(BaseModel):
    """Arguments of Computer."""

    model_config = ConfigDict(extra="forbid")

    action: ActionName = Field(description="What to do.")
    x: float | None = Field(
        None,
        description="Column in the last picture, counted from 0 at the left; of click, double_click, move and scroll.",
    )
    y: float | None = Field(
        None, description="Row in the last picture, counted from 0 at the top; of click, double_click, move and scroll."
    )
    button: MouseButton | None = Field(
        None, description="Mouse button of click, double_click and drag; left if left out."
    )
    path: list[PathPoint] | None = Field(
        None,
        min_length=2,
        max_length=COMPUTER_PATH_MAX_POINTS,
        description="Points of drag: the button is pressed at the first and released at the last.",
    )
    scroll_x: float | None = Field(
        None,
        alias="scrollX",
        ge=-COMPUTER_SCROLL_MAX,
        le=COMPUTER_SCROLL_MAX,
        description="By how many pixels of the picture to scroll to the right, to the left if negative.",
    )
    scroll_y: float | None = Field(
        None,
        alias="scrollY",
        ge=-COMPUTER_SCROLL_MAX,
        le=COMPUTER_SCROLL_MAX,
        description="By how many pixels of the picture to scroll down, up if negative.",
    )
    text: str | None = Field(
        None,
        min_length=1,
        max_length=COMPUTER_TEXT_MAX_CHARS,
        description="What type types where the keyboard is; a line end is Enter, a tab Tab.",
    )
    secret: bool | None = Field(None, description="Whether the text of type is kept out of the event log.")
    keys: list[str] | None = Field(
        None,
        min_length=1,
        max_length=COMPUTER_KEYS_MAX,
        description="What keypress presses together: modifiers (Control, Shift, Alt, Meta) and then one other key, such"
        " as Enter, Escape, ArrowUp, F5 or a single character.",
    )
    duration: int | None = Field(
        None,
        ge=1,
        le=COMPUTER_WAIT_MAX_MS,
        description=f"For how many milliseconds wait waits; {COMPUTER_WAIT_DEFAULT_MS} if left out.",
    )
    phase: Literal["begin", "end"] | None = Field(
        None,
        description="Of takeover: begin hands the computer to the user, end asks whether they hand it back; begin if "
        "left out.",
    )
    reason: str | None = Field(
        None,
        min_length=1,
        max_length=COMPUTER_REASON_MAX_CHARS,
        description="Of takeover: what the user is asked to do.",
    )

    @field_validator("text")
    @classmethod
    def _typable(cls, text: str | None) -> str | None:
        if text is None:
            return None
        text = text.replace("\r\n", "\n")
        if any((ord(sign) < 32 and sign not in "\n\t") or 127 <= ord(sign) < 160 for sign in text):
            raise ValueError("has a control character, which no key types; other keys are pressed with keypress")
        return text

    @field_validator("keys")
    @classmethod
    def _pressable(cls, keys: list[str] | None) -> list[str] | None:
        return None if keys is None else list(keys_of(keys))

    @model_validator(mode="after")
    def _fits_its_action(self) -> Self:
        needed, allowed = _TAKES[self.action]
        given = {name for name in type(self).model_fields if name != "action" and getattr(self, name) is not None}
        missing, excess = needed - given, given - needed - allowed
        if missing or excess:
            told = [f"without {_written(missing)}"] if missing else []
            told += [f"and not {_written(excess)}"] if excess else []
            optional = f", and may take {_written(allowed)}" if allowed else ""
            takes = _written(needed) or "nothing more"
            raise ValueError(f"{self.action} was called {' '.join(told)}; it takes {takes}{optional}")
        return self


_AT: Final = frozenset({"x", "y"})
_NONE: Final[frozenset[str]] = frozenset()
_TAKES: Final[Mapping[str, tuple[frozenset[str], frozenset[str]]]] = {
    "click": (_AT, frozenset({"button"})),
    "double_click": (_AT, frozenset({"button"})),
    "move": (_AT, _NONE),
    "drag": (frozenset({"path"}), frozenset({"button"})),
    "scroll": (_AT, frozenset({"scroll_x", "scroll_y"})),
    "type": (frozenset({"text"}), frozenset({"secret"})),
    "keypress": (frozenset({"keys"}), _NONE),
    "wait": (_NONE, frozenset({"duration"})),
    "takeover": (_NONE, frozenset({"phase", "reason"})),
}
"""What each action needs, and what it takes besides."""


def create_computer_tool(
    *,
    driver: ComputerDriver,
    artifacts: ArtifactStore | None = None,
    ask: AskPort | None = None,
    max_picture_side: int = SCREENSHOT_MAX_SIDE,
    max_picture_pixels: int = SCREENSHOT_MAX_PIXELS,
    max_picture_bytes: int = SCREENSHOT_MAX_BYTES,
    description: str | None = None,
    view_description: str | None = None,
) -> tuple[FunctionTool, FunctionTool]:
    """Build ComputerView and Computer, in this order, over one computer; build them for each session.

    ``artifacts`` keeps the pictures, by their hash. ``ask`` asks the user who has the computer whether they hand it
    back, unless a call brings a port of its own. ``description`` is that of Computer, ``view_description`` that of
    ComputerView.

    Raises:
        ToolDefinitionError: there is no driver, or it can do nothing that is known.
    """
    if driver is None:  # pyright: ignore[reportUnnecessaryComparison]  configuration is not checked by types
        raise ToolDefinitionError("Computer needs a driver; there is none of this host")
    names: list[ActionName] = [name for name in ACTIONS if name in driver.actions]
    if not names:
        raise ToolDefinitionError("Computer needs a driver that can do something")
    bounds = PictureBounds(max_picture_side, max_picture_pixels)
    desk = ComputerDesk(driver, bounds, max_picture_bytes, artifacts, ask)
    return _view_tool(desk, view_description), _acting_tool(desk, names, description)


def _view_tool(desk: ComputerDesk, description: str | None) -> FunctionTool:
    async def prepare(_parsed: ComputerViewInput, _context: ToolContext) -> Plan:
        desk.refuse_taken_over()
        return Plan()

    async def commit(_plan: Plan, context: ToolContext) -> InvocationResult:
        return await desk.look(context)

    return create_builtin_tool(
        name="ComputerView",
        description=description if description is not None else _view_description(desk),
        model=ComputerViewInput,
        prepare=prepare,
        commit=commit,
        capabilities=frozenset({Capability.SCREEN_READ}),
    )


def _acting_tool(desk: ComputerDesk, names: list[ActionName], description: str | None) -> FunctionTool:
    async def prepare(parsed: ComputerInput, _context: ToolContext) -> Plan:
        if parsed.action != "takeover":
            desk.refuse_taken_over()
        return Plan(state=await _planned(parsed, desk))

    async def commit(plan: Plan, context: ToolContext) -> InvocationResult:
        planned: PlannedAction = plan.state
        return await desk.act(planned, context)

    return create_builtin_tool(
        name="Computer",
        description=description if description is not None else _description(names),
        model=_model(names),
        prepare=prepare,
        commit=commit,
        capabilities=frozenset({Capability.COMPUTER}),
        recorded_arguments=_recorded,
    )


async def _planned(parsed: ComputerInput, desk: ComputerDesk) -> PlannedAction:
    """The action with its places on the screen, and the screen that they are for."""
    match parsed.action:
        case "type":
            assert parsed.text is not None
            what = f"Typed {len(parsed.text)} characters" + (
                ", which are kept out of the event log" * bool(parsed.secret)
            )
            return PlannedAction(TypeText(parsed.text), what)
        case "keypress":
            assert parsed.keys is not None
            return PlannedAction(PressKeys(tuple(parsed.keys)), f"Pressed {'+'.join(parsed.keys)}")
        case "wait":
            duration = parsed.duration or COMPUTER_WAIT_DEFAULT_MS
            return PlannedAction(Wait(duration / 1_000), f"Waited for {duration} ms")
        case "takeover":
            return PlannedAction(Handover(parsed.phase or "begin", parsed.reason or "the agent asks for it"), "")
        case _:
            return _pointed(parsed, await desk.seen())


def _pointed(parsed: ComputerInput, seen: SeenPicture) -> PlannedAction:
    button = parsed.button or "left"
    if parsed.action == "drag":
        assert parsed.path is not None
        path = tuple(seen.place(point.x, point.y) for point in parsed.path)
        what = f"Dragged with the {button} button through {len(path)} points"
        return PlannedAction(Drag(path, button), what, seen.screen)
    assert parsed.x is not None
    assert parsed.y is not None
    point, at = seen.place(parsed.x, parsed.y), f"at {parsed.x:g}, {parsed.y:g}"
    match parsed.action:
        case "click":
            return PlannedAction(Click(point, button), f"Clicked the {button} button {at}", seen.screen)
        case "double_click":
            return PlannedAction(DoubleClick(point, button), f"Double-clicked the {button} button {at}", seen.screen)
        case "scroll":
            by = parsed.scroll_x or 0, parsed.scroll_y or 0
            what = f"Scrolled by {by[0]:g}, {by[1]:g} {at}"
            return PlannedAction(Scroll(point, *seen.distance(*by)), what, seen.screen)
        case _:
            return PlannedAction(Move(point), f"Moved the pointer to {parsed.x:g}, {parsed.y:g}", seen.screen)


def _model(names: list[ActionName]) -> type[BaseModel]:
    """The input model, with the actions alone that the driver can do."""
    if len(names) == len(ACTIONS):
        return ComputerInput
    can = Literal[tuple(names)]  # type: ignore[valid-type]  a set that is known when the driver is
    field = (can, Field(description="What to do."))
    return create_model("ComputerInput", __base__=ComputerInput, action=cast("Any", field))


def _recorded(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments for the log: of a text that is to be kept out of it, that there was one."""
    if arguments.get("secret") is not True:
        return arguments
    return {**arguments, "text": "[not kept: the call says that it is secret]"}


def _written(names: frozenset[str] | set[str]) -> str:
    """The names as the schema has them, in its order."""
    fields = ComputerInput.model_fields
    return ", ".join(fields[name].alias or name for name in fields if name in names)


def _view_description(desk: ComputerDesk) -> str:
    bounds, most = desk.bounds, desk.max_bytes
    return (
        "Takes a picture of the computer that this session drives, a browser page for example, and returns it as PNG. "
        "The output tells the size of the picture, that of the screen where it is another, and what happened by itself "
        "since the last call. A picture has at most "
        f"{bounds.side} pixels on its longer side, {bounds.pixels} pixels in all and {most} bytes; what is larger is "
        "made smaller where the computer can do that, and else the call fails. While the user has the computer no "
        "picture is taken, and the call fails."
    )


def _description(names: list[ActionName]) -> str:
    told = [
        "Does one action with the mouse or the keyboard of the computer that this session drives.",
        "Returns what was done and what happened by itself meanwhile (dialogs, other pages), and no picture.",
    ]
    if {"click", "double_click", "move", "drag", "scroll"} & set(names):
        told.append(
            "Coordinates are pixels of the last picture that ComputerView returned, from its upper left corner. "
            "The call fails and does nothing where they are outside of it, where there is no picture yet, and where "
            "the screen has another size or shows another page by now."
        )
    told.append(
        "Keys and buttons that an action presses are released at its end, also when it fails or is cancelled; what "
        "could not be released is told."
    )
    if "takeover" in names:
        told.append(
            "takeover hands the computer to the user: until they hand it back no other action is done and no picture "
            "is taken, and after that coordinates need a new picture."
        )
    told.append("While the user has the computer, other actions fail.")
    return " ".join(told)
