"""What must be true of a run of ``interrupted_world``, whatever happened in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openbuffer.tools.events import ToolFinished, ToolIntended, ToolRejected

from .interrupted_scenarios import AGENT, COMMAND, DRAFT
from .interrupted_world import is_there

if TYPE_CHECKING:
    from .interrupted_scenarios import Ending, Happening
    from .interrupted_world import World


_TOLD = re.compile("at the same moment|still shows older text")


def judge(world: World, ending: Ending, happening: Happening) -> list[str]:
    """What is wrong about this run."""
    faults = list(world.faults)
    checks = [_judge_marks, _judge_words, _judge_cancel, _judge_log]
    for check in checks:
        faults += check(world, ending, happening)
    is_in_the_gap = world.step_of_act.startswith("the last look at the file is about")
    is_told = ending.cancelled or _TOLD.search(ending.text) is not None
    if world.wrote_behind and not (is_in_the_gap and is_told):
        faults.append("the file was written behind an editor that had it open")
    if world.outside_changed():
        faults.append("something outside of the root was changed")
    return faults


def _judge_marks(world: World, ending: Ending, happening: Happening) -> list[str]:
    """Nothing of the user's, of a command's or of another agent's is lost."""
    started = {"draft": {DRAFT}, "no file": {DRAFT}, "outdated": {COMMAND}}.get(world.scenario.start, set[str]())
    replaced = "".join(_knowingly_replaced(world))
    faults: list[str] = []
    is_told = "may be gone; tell the user" in ending.text
    marks = set[str]() if is_told else (started | world.brought) - happening.may_lose
    faults += [f"{mark} is lost" for mark in marks if not is_there(world, mark) and mark not in replaced]
    may_go = AGENT in happening.may_lose or (happening.saves_over and world.acted_after_agent)
    if ending.success and world.scenario.tool != "Read" and not may_go and not is_there(world, AGENT):
        faults.append("the call succeeded, and its text is nowhere")
    return faults


def _knowingly_replaced(world: World) -> list[str]:
    intents = [event for event in world.log if isinstance(event, ToolIntended) and event.change is not None]
    return [hunk.before for intent in intents[-1:] for hunk in (intent.change.hunks if intent.change else ())]


def _judge_words(world: World, ending: Ending, happening: Happening) -> list[str]:
    """The result says what is so."""
    text, seen, faults = ending.text, world.seen, list[str]()
    if "failed unexpectedly" in text:
        faults.append("the tool crashed")
    if world.scenario.tool == "Read":
        if ending.success and _read_text(text) not in {*seen.shown, *seen.disk}:
            faults.append("Read gave a text that was never there")
        return faults
    if ending.success and not seen.ever(AGENT):
        faults.append("the call succeeded, and its text was never anywhere")
    if "othing was changed" in text and not ending.success and is_there(world, AGENT):
        faults.append("the result says that nothing was changed, and something was")
    if "and saved to disk" in text and not seen.ever_on_disk(AGENT):
        faults.append("the result says that it was saved, and it never was on disk")
    unsaved = "not saved to disk" in text or "nothing was saved to disk" in text
    if unsaved and seen.ever_on_disk(AGENT) and "saves" not in _names(happening):
        faults.append("the result says that it was not saved, and it was on disk")
    if "Written to disk" in text and not seen.ever_on_disk(AGENT):
        faults.append("the result says that it was written to disk, and it never was")
    failed = not ending.success and not ending.cancelled
    doubts = ("not known", "unknown", "may ", "Read the file", "read it", "was not made in the open document as")
    if failed and is_there(world, AGENT) and not any(doubt in text for doubt in doubts):
        faults.append("the call failed, its text was there, and the result does not say that it may be")
    return faults


def _names(happening: Happening) -> str:
    return getattr(happening.act, "__name__", "")


def _read_text(output: str) -> str:
    header, *lines = output.split("\n")
    text = "\n".join(line.split("\t", 1)[1] for line in lines if "\t" in line)
    return text if "no line end after the last line" in header or not text else text + "\n"


def _judge_cancel(world: World, ending: Ending, happening: Happening) -> list[str]:
    last = world.steps[-1].startswith(("ToolFinished", "ToolRejected"))
    if happening.ends and not ending.cancelled and not last:
        return [f"the cancelled call ended as {ending.text[:80]!r}"]
    return ["the call was cancelled by nobody"] if ending.cancelled and not happening.ends else []


def _judge_log(world: World, ending: Ending, happening: Happening) -> list[str]:  # noqa: ARG001  # of the list of checks
    """Each intent has its outcome, and the last one is that of the call."""
    intents = [event.attempt for event in world.log if isinstance(event, ToolIntended)]
    outcomes = [event for event in world.log if isinstance(event, ToolFinished)]
    rejections = [event for event in world.log if isinstance(event, ToolRejected)]
    faults: list[str] = []
    without = set(intents) - {event.attempt for event in outcomes}
    if without or len(set(intents)) != len(intents):
        faults.append(f"intents {intents} have the outcomes {[(e.attempt, e.outcome) for e in outcomes]}")
    if not outcomes and not rejections:
        faults.append("the log tells nothing of the end of the call")
    if ending.success and (rejections or outcomes[-1].outcome != "succeeded"):
        faults.append("the log tells another end than the result")
    if isinstance(world.log[-1], ToolFinished) and world.log[-1].outcome == "outdated":
        faults.append("the last outcome is that it starts over")
    return faults
