"""The tool contract: FunctionTool, its two steps, and what goes in and comes out.

A call is ``validate`` -> ``prepare`` -> ``commit``. ``prepare`` has no effect: it resolves and opens what the
call is about and computes the exact change. ``commit`` checks that the before-state still holds and performs it.
The gate, the approval and the intent record sit between the two and see the :class:`Plan` (T12).

Nothing here touches a host: no process, no file, no network (T9).
"""

from __future__ import annotations

import inspect
import json
import re
import threading
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from .errors import (
    PlanOutdatedError,
    ToolArgumentError,
    ToolDefinitionError,
    ToolFailure,
    ToolResultError,
    UnrecordedEffectError,
)
from .image import ImageContent
from .limits import COMMIT_ATTEMPTS
from .models import check_model_schema, model_parser, model_schema, refuse_no_model
from .schema import ArgumentSchema, ToolSchema
from .targets import (
    BeforeState,
    Capability,
    CommandTarget,
    FileChange,
    FileTarget,
    Hunk,
    Target,
    UrlTarget,
    only_observes,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pydantic import BaseModel

    from .ports import ApprovalPort, AskPort, DeferredToolCatalog, ProgressPort

__all__ = [
    "Admission",
    "BeforeState",
    "CancellationToken",
    "Capability",
    "CommandTarget",
    "FileChange",
    "FileTarget",
    "FunctionTool",
    "Hunk",
    "ImageContent",
    "InvocationResult",
    "Plan",
    "Target",
    "ToolContext",
    "ToolResult",
    "TraceContext",
    "Unreadable",
    "UrlTarget",
    "admit_all",
    "create_builtin_tool",
    "create_function_tool",
    "create_pydantic_tool",
    "only_observes",
]

# --- what goes in ------------------------------------------------------------------------------------------


class CancellationToken:
    """A flag that blocking work polls; set once, from any thread, never reset."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Ask the work to stop at its next look at the token."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """True once :meth:`cancel` was called."""
        return self._event.is_set()


@dataclass(frozen=True, slots=True)
class TraceContext:
    """W3C trace context of the call (https://www.w3.org/TR/trace-context/)."""

    traceparent: str


class Admission(Protocol):
    """The gate's first word, asked by ``prepare`` once its targets are known and before any is read."""

    async def __call__(self, targets: Sequence[Target], /) -> None:
        """Return when the targets may be looked at; raise PermissionDeniedError when not."""
        ...


async def admit_all(_targets: Sequence[Target], /) -> None:
    """The admission of a tool that is called on its own, without the pipeline."""


class Unreadable(Protocol):
    """The paths that rules keep from being read, for a tool that walks and would come upon them (X4).

    Whoever searches leaves them out, and tells nothing of them: no name, no content, no number.
    """

    def __call__(self, path: str, /) -> bool:
        """Whether a canonical path may not be read, for itself or for what it lies in."""
        ...

    def within(self, start: str, /) -> Unreadable | None:
        """What of it matters below ``start``, which the gate has admitted; None where nothing does."""
        ...

    def plain(self) -> list[list[Any]]:
        """The same as lists and texts, for a process that searches (``UnreadablePaths.of`` is the way back)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What one call brings along; every part is optional and absent means absent."""

    call_id: str = ""
    cancellation: CancellationToken = field(default_factory=CancellationToken)
    admit: Admission = admit_all
    unreadable: Unreadable | None = None
    progress: ProgressPort | None = None
    ask: AskPort | None = None
    approvals: ApprovalPort | None = None
    trace: TraceContext | None = None
    deferred: DeferredToolCatalog | None = None


# --- the plan ----------------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Plan:
    """What a call will do, made without effect. Close it: it owns opened descriptors.

    ``settled`` is an answer that is already final (an ordinary failure, nothing to change); such a plan has
    nothing to commit. ``state`` belongs to the tool that made the plan and to nobody else.
    """

    targets: tuple[Target, ...] = ()
    change: FileChange | None = None
    settled: InvocationResult | None = None
    state: Any = None
    resources: ExitStack = field(default_factory=ExitStack)
    is_on_record: bool = False
    """Whether the log has the intent; the pipeline says so, and tools of a registry with effects wait for it (X2)."""

    def close(self) -> None:
        """Release the descriptors and what was there before; safe to call twice."""
        if self.change is not None and self.change.before is not None:
            self.change.before.let_go()
        self.resources.close()


# --- what comes out ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationResult:
    """The result protocol that every built-in tool declares (T4)."""

    success: bool
    output: str = ""
    error: str | None = None
    exit_code: int | None = None
    start_line: int | None = None
    images: tuple[ImageContent, ...] = ()

    def to_json(self, *, with_image_data: bool = True) -> dict[str, Any]:
        """The wire form; absent members are left out. Without their data, images are only described."""
        wire: dict[str, Any] = {"success": self.success, "output": self.output}
        if self.error is not None:
            wire["error"] = self.error
        if self.exit_code is not None:
            wire["exitCode"] = self.exit_code
        if self.start_line is not None:
            wire["startLine"] = self.start_line
        if self.images:
            wire["images"] = [image.to_json(with_data=with_image_data) for image in self.images]
        return wire

    @classmethod
    def failed(cls, error: str) -> InvocationResult:
        """An ordinary failure; ``error`` says what to do next."""
        return cls(success=False, error=error)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The execution envelope. ``invocation`` is there for tools that declare the protocol.

    ``data`` is the invocation result as JSON text for declared tools, and the returned value as it is for
    custom tools, whatever its shape.
    """

    tool: str
    success: bool
    value: Any
    invocation: InvocationResult | None = None

    @property
    def data(self) -> Any:
        """What the agent loop receives. Pictures are only described; their bytes are in ``invocation.images``."""
        if self.invocation is None:
            return self.value
        return json.dumps(self.recorded, ensure_ascii=False)

    @property
    def recorded(self) -> Any:
        """What a log keeps: the value, with its pictures described by size and hash."""
        if self.invocation is None or not self.invocation.images:
            return self.value
        return self.invocation.to_json(with_image_data=False)


# --- the tool ----------------------------------------------------------------------------------------------


class FunctionTool:
    """A named function with a schema, in two steps. Built by the factories below and by ``create_builtin_tool``.

    Raises:
        ToolDefinitionError: at construction, for a name that providers refuse or an empty description.
    """

    def __init__(
        self,
        *,
        name: str,
        description: str | Callable[[], str],
        schema: ArgumentSchema,
        parse: Callable[[dict[str, Any]], Any],
        prepare: Callable[[Any, ToolContext], Awaitable[Plan]],
        commit: Callable[[Plan, ToolContext], Awaitable[Any]],
        capabilities: frozenset[Capability],
        declares_invocation: bool,
        deferred: bool = False,
        recorded_arguments: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise ToolDefinitionError(f"{name!r} is not a tool name: 1 to 64 of letters, digits, _ and -")
        if isinstance(description, str) and not description.strip():
            raise ToolDefinitionError(f"{name}: a tool needs a description")
        self.name = name
        self._description = description
        self.capabilities = capabilities
        self.declares_invocation = declares_invocation
        self.deferred = deferred
        self._schema = schema
        self._parse = parse
        self._prepare = prepare
        self._commit = commit
        self._recorded_arguments = recorded_arguments
        self._acts_on_record_only = False

    @property
    def description(self) -> str:
        """What the model is told of it; made at first use where it is about the host that the tool works on."""
        if not isinstance(self._description, str):
            self._description = self._description()
        return self._description

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the arguments; exactly what :meth:`validate` enforces (T3)."""
        return self._schema.schema

    @property
    def schema(self) -> ToolSchema:
        """What a model sees."""
        return ToolSchema(name=self.name, description=self.description, input_schema=self.input_schema)

    def validate(self, arguments: object) -> Any:
        """Return the parsed arguments.

        Raises:
            ToolArgumentError: they do not fit the schema.
        """
        try:
            return self._parse(self._schema.validate(arguments))
        except ToolArgumentError:
            if self._recorded_arguments is None or not isinstance(arguments, dict):
                raise
            given = cast("dict[str, Any]", arguments)
            if self._recorded_arguments(given) == given:
                raise
        # An error repeats what does not fit, and is on record.
        raise ToolArgumentError(
            f"{self.name}: the arguments do not fit the input schema; which is not told, since the call has some that "
            "are not to be kept"
        )

    def recorded_arguments(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Valid arguments as a log keeps them: without what the call itself says is not to be kept."""
        return arguments if self._recorded_arguments is None else self._recorded_arguments(arguments)

    async def prepare(self, parsed: Any, context: ToolContext) -> Plan:
        """Compute what the call would do, without effect. The caller closes the plan."""
        try:
            return await self._prepare(parsed, context)
        except ToolFailure as failure:
            if not self.declares_invocation:
                raise
            return Plan(settled=InvocationResult.failed(str(failure)))

    async def commit(self, plan: Plan, context: ToolContext) -> ToolResult:
        """Perform the plan, or give the answer that is already final.

        Raises:
            PlanOutdatedError: the before-state no longer holds; nothing was changed.
            ToolResultError: the tool declares the invocation protocol and returned something else.
            UnrecordedEffectError: the tool acts on record only, and this plan is not on it; nothing was changed.
        """
        if plan.settled is not None:
            return self._envelope(plan.settled)
        if self._acts_on_record_only and not plan.is_on_record:
            raise UnrecordedEffectError(
                f"{self.name}: nothing was done. A tool of a registry acts only once its intent is on record; call it "
                "through SandboxedToolExecutor.call, or use the tool that the factory built."
            )
        try:
            value = await self._commit(plan, context)
        except ToolFailure as failure:
            if not self.declares_invocation:
                raise
            value = InvocationResult.failed(str(failure))
        return self._envelope(value)

    def acting_on_record_only(self) -> FunctionTool:
        """The same tool for a registry: without an intent on record it has no effect, however it is called (X2).

        Tools that only observe stay as they are.
        """
        if only_observes(self.capabilities):
            return self
        held = copy(self)
        held._acts_on_record_only = True  # noqa: SLF001  its own class
        return held

    async def execute(self, arguments: object, context: ToolContext | None = None) -> ToolResult:
        """Both steps in a row, for use without the pipeline; starts over when the before-state changes."""
        context = context or ToolContext()
        parsed = self.validate(arguments)
        for attempt in range(1, COMMIT_ATTEMPTS + 1):
            plan = await self.prepare(parsed, context)
            try:
                return await self.commit(plan, context)
            except PlanOutdatedError as outdated:
                if attempt == COMMIT_ATTEMPTS:
                    return self.gave_up(outdated)
            finally:
                plan.close()
        raise AssertionError("unreachable: the last attempt returns or raises")

    def gave_up(self, outdated: PlanOutdatedError) -> ToolResult:
        """The answer after the last attempt: an ordinary failure where the tool has such a thing."""
        if not self.declares_invocation:
            raise outdated
        return self._envelope(
            InvocationResult.failed(
                f"{outdated} It changed again at each of {COMMIT_ATTEMPTS} attempts; nothing was changed. "
                "Read it again and retry."
            )
        )

    def _envelope(self, value: Any) -> ToolResult:
        if not self.declares_invocation:
            return ToolResult(tool=self.name, success=True, value=value)
        if not isinstance(value, InvocationResult):
            raise ToolResultError(
                f"{self.name} declares an invocation result and returned {type(value).__name__}; what it did is unknown"
            )
        return ToolResult(tool=self.name, success=value.success, value=value.to_json(), invocation=value)


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def create_function_tool(
    name: str,
    description: str,
    json_schema: Mapping[str, Any],
    fn: Callable[..., Any],
    *,
    capabilities: frozenset[Capability] = frozenset(),
    deferred: bool = False,
) -> FunctionTool:
    """Build a custom tool from a JSON Schema; ``fn`` gets the validated arguments as a dict.

    ``fn`` may be a coroutine function and may take the :class:`ToolContext` as a second argument.

    Raises:
        ToolDefinitionError: a name, description or schema that clients or the validator refuse.
    """
    copied = json.loads(json.dumps(dict(json_schema)))  # later changes by the caller cannot loosen it
    schema = ArgumentSchema(name, lambda: copied)
    schema.check()
    return _custom_tool(name, description, schema, _as_given, fn, capabilities, deferred)


def create_pydantic_tool(
    name: str,
    description: str,
    model: type[BaseModel],
    fn: Callable[..., Any],
    *,
    capabilities: frozenset[Capability] = frozenset(),
    deferred: bool = False,
) -> FunctionTool:
    """Build a custom tool from a pydantic model; ``fn`` gets the parsed model.

    A model with ``extra="allow"`` lets unknown arguments pass; any other refuses them by name (T2).

    Raises:
        ToolDefinitionError: no model, or a name, description or schema that clients or the validator refuse.
    """
    refuse_no_model(name, model)
    schema = ArgumentSchema(name, lambda: model_schema(model))
    check_model_schema(name, schema)
    return _custom_tool(name, description, schema, model_parser(name, model), fn, capabilities, deferred)


def create_builtin_tool(
    *,
    name: str,
    description: str | Callable[[], str],
    model: type[BaseModel],
    prepare: Callable[[Any, ToolContext], Awaitable[Plan]],
    commit: Callable[[Plan, ToolContext], Awaitable[InvocationResult]],
    capabilities: frozenset[Capability],
    recorded_arguments: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
) -> FunctionTool:
    """Build a tool of ours: two steps, and the invocation protocol declared.

    A description that has to look at the host first is a function, called at first use: building a tool does no I/O.
    ``recorded_arguments`` leaves out of a log what a call says is not to be kept.
    """
    return FunctionTool(
        name=name,
        description=description,
        schema=ArgumentSchema(name, lambda: model_schema(model)),
        parse=model_parser(name, model),
        prepare=prepare,
        commit=commit,
        capabilities=capabilities,
        declares_invocation=True,
        recorded_arguments=recorded_arguments,
    )


def _as_given(arguments: dict[str, Any]) -> dict[str, Any]:
    return arguments


def _custom_tool(
    name: str,
    description: str,
    schema: ArgumentSchema,
    parse: Callable[[dict[str, Any]], Any],
    fn: Callable[..., Any],
    capabilities: frozenset[Capability],
    deferred: bool,
) -> FunctionTool:
    wants_context = _takes_two(fn)

    async def prepare(parsed: Any, _context: ToolContext) -> Plan:
        return Plan(state=parsed)

    async def commit(plan: Plan, context: ToolContext) -> Any:
        value = fn(plan.state, context) if wants_context else fn(plan.state)
        return await value if inspect.isawaitable(value) else value

    return FunctionTool(
        name=name,
        description=description,
        schema=schema,
        parse=parse,
        prepare=prepare,
        commit=commit,
        capabilities=capabilities,
        declares_invocation=False,
        deferred=deferred,
    )


def _takes_two(fn: Callable[..., Any]) -> bool:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:
        return False  # some functions written in C do not tell
    positional = [p for p in parameters if p.kind in kinds and p.default is p.empty]
    return len(positional) >= 2
