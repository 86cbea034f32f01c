"""The variables that a command gets, in a copy that is its own (S3)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..contract import TraceContext
    from .command_host import CommandHost

_TRACE: Final = ("TRACEPARENT", "TRACESTATE")


def command_environment(host: CommandHost, trace: TraceContext | None, *, with_ambient: bool) -> dict[str, str]:
    """What the composition root gives, with the call's trace in the place of the process's own.

    Without a trace the process's own stays, but where ``with_ambient`` is False: what is confined is told neither.
    """
    given = host.environment
    if given is None:
        given = os.environ
    elif callable(given):
        given = given()
    environment = dict(given)
    if trace is not None or not with_ambient:
        for name in _TRACE:
            environment.pop(name, None)
    if trace is not None:
        environment["TRACEPARENT"] = trace.traceparent
    return environment
