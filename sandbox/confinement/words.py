"""What a confined command may do, in the words of a result. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..detect import ProcessLimit


def containment_words(
    *,
    allowed: Sequence[str],
    left_out: Sequence[str],
    temporary: Sequence[str],
    network: bool,
    hard_linked: Sequence[str],
    process_limit: ProcessLimit,
    ends_whole: bool = True,
) -> str:
    """The sentence for the result, with one more for each thing that is not as the settings ask for."""
    private = [f"{' and '.join(temporary)} (the session's own, kept until it ends)"] if temporary else []
    places = ", ".join(["the workspace", *private, *allowed])
    sockets = "network on, Unix sockets closed" if network else "no network, no Unix sockets"
    background = "; processes that it leaves behind end with it" if ends_whole else ""
    sentences = [
        f"May write only in {places}; {sockets}{background}.",
        *(f"{each}." for each in left_out),
    ]
    if hard_linked:
        sentences.append(f"Hidden, but with another name on its file system that is not: {', '.join(hard_linked)}.")
    if process_limit == "none":
        sentences.append("The number of processes is not limited on this host.")
    return " ".join(sentences)
