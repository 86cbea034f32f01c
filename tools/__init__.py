"""The tool contract, neutral: importing this touches no host (T9). Imported as ``openbuffer.tools``.

Tools that use files or processes are in ``openbuffer.tools.host``; the pipeline that asks, records and runs
them is in ``openbuffer.tools.executor``.
"""

from .contract import (
    CancellationToken,
    Capability,
    CommandTarget,
    FileChange,
    FileTarget,
    FunctionTool,
    Hunk,
    InvocationResult,
    Plan,
    Target,
    ToolContext,
    ToolResult,
    TraceContext,
    UrlTarget,
    create_function_tool,
    create_pydantic_tool,
)
from .errors import (
    EventLogError,
    GrepIsolationError,
    PermissionDeniedError,
    PlanOutdatedError,
    ReadByteLimitError,
    ReadCancelledError,
    ToolArgumentError,
    ToolCancelledError,
    ToolCrashedError,
    ToolDefinitionError,
    ToolExecutionError,
    ToolNotFoundError,
    ToolResultError,
)
from .schema import ToolSchema

__all__ = [
    "CancellationToken",
    "Capability",
    "CommandTarget",
    "EventLogError",
    "FileChange",
    "FileTarget",
    "FunctionTool",
    "GrepIsolationError",
    "Hunk",
    "InvocationResult",
    "PermissionDeniedError",
    "Plan",
    "PlanOutdatedError",
    "ReadByteLimitError",
    "ReadCancelledError",
    "Target",
    "ToolArgumentError",
    "ToolCancelledError",
    "ToolContext",
    "ToolCrashedError",
    "ToolDefinitionError",
    "ToolExecutionError",
    "ToolNotFoundError",
    "ToolResult",
    "ToolResultError",
    "ToolSchema",
    "TraceContext",
    "UrlTarget",
    "create_function_tool",
    "create_pydantic_tool",
]
