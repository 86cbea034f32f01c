"""What replaces threads and clocks for the length of a run, so that it depends on nothing but its schedule."""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol
from unittest import mock

import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from lsprotocol.converters import get_converter
from openbuffer.editor_access import baselines, lsp, lsp_flight, memory_lsp

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable


class Surroundings(Protocol):
    """Who decides how long threads take, and what happens meanwhile."""

    def latency(self) -> int:
        """How many turns of the loop pass before a thread gets on; negative: hundredths of a second."""
        ...

    def in_thread(self) -> None:
        """A thread is somewhere in the middle of its work."""
        ...

    def thread_worked(self) -> None:
        """A thread has done something."""
        ...


@contextmanager
def no_threads_and_no_clock(surroundings: Surroundings) -> Generator[None]:
    """Work of threads runs on the loop, as one callback, some turns later; clocks are the loop's."""

    async def run_sync(work: Callable[..., Any], *args: Any, abandon_on_cancel: bool = False, **_: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        after(surroundings.latency(), lambda: _work(surroundings, done, work, args))
        with anyio.CancelScope(shield=not abandon_on_cancel):
            return await done

    def on_the_loop(work: Callable[..., Any], *args: Any) -> Any:
        surroundings.in_thread()
        return work(*args)

    clock = SimpleNamespace(monotonic=lambda: asyncio.get_running_loop().time())
    pools = lambda *_args, **_named: _Pool(surroundings)  # noqa: E731  # a class in its place, by another name
    with ExitStack() as stack:
        for module, name, value in (
            (anyio.to_thread, "run_sync", run_sync),
            (anyio.from_thread, "run_sync", on_the_loop),
            (baselines, "ThreadPoolExecutor", pools),
            (baselines, "wait", _wait),
            (lsp, "time", clock),
            (lsp_flight, "time", clock),
            (memory_lsp, "get_converter", _converter),  # takes longer to make than everything else in a run
        ):
            if hasattr(module, name):
                stack.enter_context(mock.patch.object(module, name, value))
        yield


_converter = functools.cache(get_converter)


def after(latency: int, act: Callable[[], None]) -> None:
    """Call ``act`` that many turns of the loop later, or hundredths of a second where it is negative."""
    loop = asyncio.get_running_loop()
    if latency < 0:
        loop.call_later(-latency / 100, act)
    elif latency == 0:
        loop.call_soon(act)
    else:
        loop.call_soon(after, latency - 1, act)


def _work(surroundings: Surroundings, done: asyncio.Future[Any], work: Callable[..., Any], args: Any) -> None:
    result, error = None, None
    try:
        result = work(*args)
    except BaseException as raised:  # noqa: BLE001  # whoever waits gets it, as from a thread
        error = raised
    surroundings.thread_worked()
    after(surroundings.latency(), lambda: _deliver(done, result, error))


def _deliver(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.done():
        return  # abandoned
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)


class _Read(Future[Any]):
    """A job of the pool, which is done when its time comes or when a thread waits for it."""

    job: Callable[[], Any] | None = None

    def do(self) -> None:
        job, self.job = self.job, None
        if job is not None and self.set_running_or_notify_cancel():
            self.set_result(job())


class _Pool:
    """Stands for the threads that read baselines."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._reads: deque[_Read] = deque()
        self._is_shut_down = False

    def submit(self, work: Callable[..., Any], *args: Any) -> Future[Any]:
        if self._is_shut_down:
            raise RuntimeError("cannot schedule new futures after shutdown")
        read = _Read()
        read.job = lambda: work(*args)
        self._reads.append(read)
        after(self._surroundings.latency(), read.do)
        return read

    def shutdown(self, *, wait: bool = True, cancel_futures: bool = False) -> None:  # noqa: ARG002  # of the executor
        self._is_shut_down = True
        for read in self._reads:
            read.cancel()


def _wait(reads: Iterable[_Read], _timeout: float) -> None:
    for read in reads:
        read.do()
