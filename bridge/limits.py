"""Every number that bounds the server, in one place. Sizes are bytes, times are seconds."""

from __future__ import annotations

from typing import Final

MIB: Final = 1024 * 1024

FRAME_MAX_BYTES: Final = 128 * MIB
"""One incoming message. Editors stop synchronising at about 50 MB of text, which JSON at most doubles."""

MESSAGE_MAX_VALUES: Final = 4_000_000
"""JSON values in one incoming message; as objects they take far more memory than as bytes."""

HEADER_LINE_MAX_BYTES: Final = 4_096

RESULT_MAX_BYTES: Final = 64 * MIB
"""One answer; a tool's own bounds are far below."""

OUTGOING_MAX_BYTES: Final = 128 * MIB
"""Answers that wait for a client that does not read; beyond it the session ends."""

OUTGOING_STALL_S: Final = 120.0
"""How long a client may take nothing at all while answers wait for it; long enough for a pause in its debugger."""

WORKSPACE_FOLDERS_MAX: Final = 500
"""Open at the same time; more are left out."""

CONFIGURATION_TIMEOUT_S: Final = 10.0
"""How long a client may take to say what its settings are."""

CONFIGURATION_WAIT_S: Final = 2.0
"""How long a call waits for settings that the client was asked for."""

RUNNING_CALLS_MAX: Final = 64
"""Tool calls that run at the same time; more wait for their turn."""

PENDING_REQUESTS_MAX: Final = 2_048
"""Requests that run or wait; more are refused."""

SESSIONS_MAX: Final = 100
"""Sessions of one listening server; more are turned away."""

SESSIONS_THREADS_MAX: Final = 400
"""Threads of all sessions of a listening server, so that work that hangs in some leaves enough to the others."""

HANDSHAKES_MAX: Final = 64
"""Connections that have not shown the access token yet; of more the oldest is closed."""

HANDSHAKE_LEAST_S: Final = 0.25
"""How long a connection has to show it at least, however many others come."""

HANDSHAKE_MAX_BYTES: Final = 256 * 1024
"""The first message of a connection; capabilities of real editors take less than 40 KB."""

HANDSHAKE_TIMEOUT_S: Final = 10.0
"""How long the first message of a connection may take."""

LISTEN_LOCK_S: Final = 2.0
"""How long another server may be starting in the directory of a socket."""

PROGRESS_INTERVAL_S: Final = 0.1
"""At most one ``$/progress`` report per call in this time."""

PROGRESS_DELAY_S: Final = 0.5
"""How long a call lasts before the server makes a progress for it, where its client gave it none."""

PROGRESS_TOKEN_TIMEOUT_S: Final = 10.0
"""How long a client may take to accept a progress that the server makes."""

DIALOG_TIMEOUT_S: Final = 600.0
"""How long an open dialog waits for the user."""

DIALOG_QUEUE_S: Final = 3_000.0
"""How long a dialog waits for those before it, of a client that shows one at a time."""

DIALOG_PAUSE_S: Final = 0.2
"""Between a dialog that was withdrawn and the next one, of a client that shows one at a time."""

STOP_GRACE_S: Final = 3.0
"""How long running work may take to stop when the session ends; then the process leaves without it."""

FLUSH_GRACE_S: Final = 1.0
"""How long the last answers may take to be read at the end."""

LEAVE_GRACE_S: Final = 0.5
"""How long the interpreter may take to leave once the session is over; a thread that hangs is left behind."""

STUCK_LOOP_S: Final = 5.0
"""How long the event loop may wait for something else after the client is gone; then the process leaves without it."""

BUSY_LOOP_S: Final = 60.0
"""How long it may compute then without coming to anything."""

PARENT_POLL_S: Final = 2.0
"""How often the client's process is looked at where the system cannot tell of its end by itself."""

ID_SEARCH_MAX_BYTES: Final = 1 * MIB
"""How far into a message that cannot be read its request id is looked for."""

LOG_LINE_MAX_BYTES: Final = 4_000
"""One line on stderr; below PIPE_BUF, so that it is written whole or not at all."""

LOG_FILE_MAX_BYTES: Final = 5 * MIB
"""A log file that is longer becomes an older one."""

LOG_FILES_KEPT: Final = 3
"""Older log files."""

LOG_FILE_LINE_MAX_BYTES: Final = 32 * 1024
"""One record in the log file, with its traceback."""

CLIENT_LOG_AT_ONCE: Final = 20
"""``window/logMessage`` that may come in a row."""

CLIENT_LOG_INTERVAL_S: Final = 1.0
"""Where more come than that, one in this time."""

CLIENT_LOG_LINE_MAX_CHARS: Final = 2_000
"""One ``window/logMessage``."""

TRACE_VALUE_MAX_CHARS: Final = 2_000
"""What ``$/logTrace`` shows of params and answers."""

DROPPABLE_OVER_BYTES: Final = 1 * MIB
"""While more waits for a client that does not read, logs and traces are not added to it."""

GARBAGE_WAIT_S: Final = 60.0
"""How long a full collection of garbage waits for a moment at which little is asked for."""
