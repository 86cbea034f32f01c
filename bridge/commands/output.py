"""Output that cannot be written: the disk is full, the other end failed. Stdlib only: every command loads it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


class OutputError(Exception):
    """What a command printed did not arrive; the text is the system's reason."""


@contextmanager
def writing() -> Generator[None, None, None]:
    """Tell a failure of what is written in here from any other.

    Raises:
        OutputError: it could not be written.
        BrokenPipeError: nobody reads it any more.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.strerror or str(error)) from error
