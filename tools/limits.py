"""Every number that bounds a tool, in one place. Sizes are bytes, times are seconds."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

FILE_MAX_BYTES: Final = 256 * MIB
"""Read and Edit admit a file up to this size (F2, F5)."""

READ_OUTPUT_MAX_BYTES: Final = 1 * MIB
"""Formatted output of one Read (F2)."""

READ_DEFAULT_LINES: Final = 2_000
LINE_MAX_CHARS: Final = 2_000
"""A longer line is cut with a mark that tells its length (F2)."""

GLOB_DEFAULT_FILES: Final = 1_000
GLOB_MAX_FILES: Final = 100_000
"""Files that one Glob lists, unless told otherwise and at most (F7)."""

GLOB_OUTPUT_MAX_BYTES: Final = 512 * KIB
"""Paths that one Glob lists; those that do not fit are left out, and said to be."""

PATH_MAX_CHARS: Final = 4_096
"""Linux PATH_MAX; a longer path is refused before any system call."""

ARGUMENTS_MAX_DEPTH: Final = 64
"""Nesting of a call's arguments; deeper ones are refused before validation."""

ARGUMENTS_MAX_VALUES: Final = 1_000_000
"""Values in a call's arguments, whatever their size; more are refused before validation."""

COMMIT_ATTEMPTS: Final = 5
"""How often a call starts over when its before-state changes under it (E2)."""

FILE_LOCK_TIMEOUT_S: Final = 5.0
"""How long a commit waits for another process that is changing a file of the same directory (E12)."""

MEMORY_LOG_MAX_BYTES: Final = 64 * MIB
"""Text that the in-memory event log keeps before it lets the oldest events go."""

LIST_DEFAULT_ENTRIES: Final = 1_000
LIST_MAX_ENTRIES: Final = 100_000
"""Entries that one ListDir may list."""

LIST_OUTPUT_MAX_BYTES: Final = 512 * KIB
"""The entries that one ListDir lists, as text."""

GREP_PATTERN_MAX_CHARS: Final = 4_000
GREP_DEFAULT_HEAD: Final = 250
GREP_MAX_HEAD: Final = 100_000
"""Files or matching lines that one Grep shows, unless told otherwise and at most (F8)."""

GREP_CONTEXT_MAX_LINES: Final = 100

GREP_FILE_MAX_BYTES: Final = 64 * MIB
"""A larger file is not searched, and named (F8)."""

GREP_OUTPUT_MAX_BYTES: Final = 512 * KIB
"""The body of one Grep's answer; what does not fit is left out, and said to be."""

GREP_TIMEOUT_S: Final = 60.0
"""A whole search; then it is ended (F8)."""

GREP_FILE_TIMEOUT_S: Final = 2.0
"""A pattern on one file, with an allowance for the size; a file on which it takes longer is left out and named."""

GREP_MEMORY_MAX_BYTES: Final = 2 * 1024 * MIB
"""Address space of each process that searches."""

GREP_IDLE_S: Final = 300.0
"""How long a process that has nothing to search stays."""

COMMAND_MAX_BYTES: Final = 128 * KIB - 1
"""A command line; Linux takes no longer argument, and a script has no bound."""

COMMAND_DEFAULT_TIMEOUT_MS: Final = 120_000
COMMAND_MAX_TIMEOUT_MS: Final = 600_000
"""How long a command may run, unless told otherwise and at most (S1)."""

COMMAND_OUTPUT_MAX_BYTES: Final = 32 * KIB
"""Output of one command that is shown: its beginning and its end (S1)."""

COMMANDS_AT_ONCE: Final = 48
"""Commands that run at the same time; more are refused, for one that waits would hold up what is no command."""

ARTIFACT_MAX_BYTES: Final = 64 * MIB
"""One kept output; of a larger one the beginning is kept (X7)."""

ARTIFACTS_MAX_BYTES: Final = 512 * MIB
"""All kept outputs together; then the oldest go."""

LOG_INLINE_MAX_BYTES: Final = 2 * KIB
"""A part of an event that stands in its row; a larger one is an artifact, kept once for each content."""

LOG_PART_MAX_BYTES: Final = 16 * MIB
"""One part of an event (arguments, hunks, a value, a before-state); of a larger one the size alone is kept."""

LOG_MAX_BYTES: Final = 512 * MIB
"""The whole event log, unless told otherwise; then the oldest calls go (X7)."""

LOG_MAX_DAYS: Final = 30
"""How long the event log keeps a call, unless told otherwise (X7)."""

LOG_BUSY_TIMEOUT_S: Final = 5.0
LOG_STILL_BUSY_TIMEOUT_S: Final = 0.25
"""How long an event waits for another process that writes to the log, and how long once one has waited in vain."""

LOG_REDACTION_TIMEOUT_S: Final = 0.25
"""How long one pattern may take with one text; then nothing of that text is kept."""

TOOL_SEARCH_MAX_LOADED: Final = 5
"""Tools that one query of ToolSearch loads: those that rank first (W4)."""

TOOL_SEARCH_MAX_NAMES: Final = 20
"""Tools that one call of ToolSearch loads by their names."""

TOOL_SEARCH_QUERY_MAX_CHARS: Final = 500
TOOL_SEARCH_MAX_WORDS: Final = 16
"""A query of ToolSearch, and the words of it that are looked for."""

TOOL_SEARCH_TEXT_MAX_CHARS: Final = 2_000
"""Of a deferred tool's description, and of the texts of its parameters, what is searched."""

TOOL_SEARCH_OUTPUT_MAX_BYTES: Final = 128 * KIB
"""The schemas that one ToolSearch shows; what does not fit is loaded all the same, and said not to be shown."""

TASKS_MAX: Final = 500
"""Tasks of one session; none is ever removed (W7)."""

TASK_TITLE_MAX_CHARS: Final = 200
TASK_NOTE_MAX_CHARS: Final = 4_000
TASK_NOTE_SHOWN_CHARS: Final = 200
"""A task's texts, and how much of its note a list shows."""

TASK_ORDER_MAX: Final = 1_000_000
"""The largest place of a task in the list, and the negative of the smallest."""

TASK_LIST_MAX_BYTES: Final = 64 * KIB
"""The tasks that one TaskList lists; how many do not fit is told."""

APPROVAL_SHOWN_MAX_CHARS: Final = 64 * KIB
"""Hunks that one approval shows, together; of a larger change at least the beginning of the first one."""

APPROVAL_SHOWN_MAX_HUNKS: Final = 100

APPROVAL_COUNTED_MAX_CHARS: Final = 16 * MIB
APPROVAL_COUNTED_MAX_HUNKS: Final = 20_000
"""Text of hunks in which lines are counted for an approval, and how many of them."""

APPROVAL_REASON_MAX_CHARS: Final = 4 * KIB
"""What a person says to a request, or a client of why there is no answer."""

APPROVAL_ARGUMENTS_MAX_CHARS: Final = 4 * KIB
"""Arguments that an approval shows, of a tool that tells no targets."""

APPROVAL_TIMEOUT_S: Final = 3_600.0
"""How long a call waits for an approval; whoever asks may give up sooner."""

APPROVAL_POLL_S: Final = 0.05
"""How often it is looked, while an approval is awaited, whether the call was cancelled through its token."""

SANDBOX_FILE_TIMEOUT_S: Final = 660.0
"""How long a sandbox with files of its own may take for one operation on a file; its client may give up sooner."""

SANDBOX_TURN_TIMEOUT_S: Final = 120.0
"""How long a change of a file in a sandbox waits for the changes before it."""

SANDBOX_CANCEL_GRACE_S: Final = 10.0
"""How long a cancelled call waits for what became of the change that it has sent to a sandbox."""

WEB_URL_MAX_CHARS: Final = 8_192
"""A URL of WebFetch, as it is sent."""

WEB_TIMEOUT_S: Final = 30.0
"""One fetch as a whole, from the first look-up of a name to the last byte, redirects included (W1)."""

WEB_CONNECT_TIMEOUT_S: Final = 10.0
"""One connection, with its TLS handshake."""

WEB_REDIRECTS_MAX: Final = 10
"""Redirects that one fetch follows (W1)."""

WEB_BODY_MAX_BYTES: Final = 32 * MIB
"""A body, as it comes over the wire and also after decompression (W1)."""

WEB_HEAD_MAX_BYTES: Final = 64 * KIB
"""What a server may send before its body begins: status lines and headers."""

WEB_REQUEST_HEADERS_MAX_BYTES: Final = 8 * KIB
"""Request headers that a call of WebFetch sets, together."""

WEB_OUTPUT_MAX_CHARS: Final = 50_000
"""Of a page, what one answer shows; the rest is to be had by its offset."""

WEB_ERROR_MAX_CHARS: Final = 2_000
"""Of the page that comes with an HTTP status of failure, what is shown."""

WEB_PAGE_TIMEOUT_S: Final = 20.0
"""How long the process that turns a page into Markdown may take; then it is ended."""

WEB_PAGE_MEMORY_MAX_BYTES: Final = 1024 * MIB
"""Address space of the process that turns pages into Markdown."""

WEB_CACHE_MAX_BYTES: Final = 48 * MIB
WEB_CACHE_MAX_PAGES: Final = 64
WEB_CACHE_MAX_S: Final = 900.0
"""Pages that a session keeps: their bodies together, their number, and how long."""

WEB_PAGE_IDLE_S: Final = 300.0
"""How long a process that has no page to turn into Markdown stays."""

SEARCH_COUNT_MAX: Final = 20
"""Results that one call of WebSearch shows (W2)."""

SEARCH_COUNT_DEFAULT: Final = 10

SEARCH_QUERY_MAX_CHARS: Final = 500

SEARCH_PAGE_MAX: Final = 100
"""Pages of results that a call may name; a provider may have fewer."""

SEARCH_TIMEOUT_S: Final = 30.0
"""One search as a whole; a provider may give up sooner."""

SEARCH_ANSWER_MAX_BYTES: Final = 2 * MIB
"""What a provider of searches may answer, before and after decompression."""

SEARCH_TITLE_MAX_CHARS: Final = 300
SEARCH_SNIPPET_MAX_CHARS: Final = 600
SEARCH_NOTE_MAX_CHARS: Final = 300
SEARCH_RESULT_URL_MAX_CHARS: Final = 2_000
"""Of a result, what is shown; one with a longer URL is left out."""

ASK_QUESTIONS_MAX: Final = 4
"""Questions that one call of AskUserQuestion asks (W3)."""

ASK_OPTIONS_MAX: Final = 12
ASK_HEADER_MAX_CHARS: Final = 40
ASK_TEXT_MAX_CHARS: Final = 2_000
ASK_LABEL_MAX_CHARS: Final = 200
ASK_DESCRIPTION_MAX_CHARS: Final = 500
"""What a question may have, so that every client can show it whole."""

ASK_ANSWER_MAX_CHARS: Final = 10_000
"""One text of an answer; the rest of a longer one is cut, and told."""

ASK_TIMEOUT_S: Final = 3_600.0
"""How long one question waits for its answer; whoever asks may give up sooner."""

SCREENSHOT_MAX_SIDE: Final = 1_568
SCREENSHOT_MAX_PIXELS: Final = 1_200_000
SCREENSHOT_MAX_BYTES: Final = 3 * MIB
"""One picture of the screen: its longer side, its pixels, its bytes as PNG. More would be made smaller by what serves
a model, and then its coordinates would not be those of the picture (W6)."""

SCREENSHOT_ATTEMPTS: Final = 4
"""How often a picture of too many bytes is taken again, smaller each time."""

SCREEN_MAX_SIDE: Final = 32_768
"""A screen's width or height in its own units; a driver that tells more is not believed."""

COMPUTER_DRIVER_TIMEOUT_S: Final = 120.0
"""One call of a driver, which gives up sooner by itself; after that it is cancelled."""

COMPUTER_ACTION_TIMEOUT_S: Final = 10.0
"""How long what is driven may take to answer to one action, typing aside."""

COMPUTER_SCREENSHOT_TIMEOUT_S: Final = 15.0
COMPUTER_RELEASE_TIMEOUT_S: Final = 2.0
"""How long it may take for a picture, and for keys and buttons to be released after an action that failed."""

COMPUTER_TEXT_MAX_CHARS: Final = 4_000
COMPUTER_PATH_MAX_POINTS: Final = 100
COMPUTER_KEYS_MAX: Final = 6
COMPUTER_SCROLL_MAX: Final = 10_000
"""What one action types, drags through, presses together and scrolls by (in pixels of the picture)."""

COMPUTER_WAIT_DEFAULT_MS: Final = 1_000
COMPUTER_WAIT_MAX_MS: Final = 60_000
COMPUTER_REASON_MAX_CHARS: Final = 500
"""Why the user is given the computer."""

COMPUTER_HAPPENED_MAX: Final = 10
COMPUTER_HAPPENED_MAX_CHARS: Final = 300
"""What is told of things that happened by themselves (dialogs, other pages): how many, and each of them."""

COMPUTER_PAGES_MAX: Final = 20
"""Pages that one page may open, each of which comes into view; further ones are told, and left alone."""

COMPUTER_POLL_S: Final = 0.1
"""How often it is looked whether the user has handed the computer back."""

RETRIEVAL_DEFAULT_TOKENS: Final = 1_000
RETRIEVAL_LEAST_TOKENS: Final = 200
RETRIEVAL_MAX_TOKENS: Final = 16_000
"""Tokens, as ``retrieval.budget`` estimates them, of one answer of CodebaseRetrieval (W5)."""

RETRIEVAL_QUERY_MAX_CHARS: Final = 4_000
RETRIEVAL_NAMES_MAX: Final = 100
"""The question, and how many identifiers and active files it may come with."""

RETRIEVAL_FILE_MAX_BYTES: Final = 2 * MIB
"""A larger file is not parsed, and named."""

RETRIEVAL_FILE_MAX_SYMBOLS: Final = 20_000
"""Definitions that are kept of one file, and references."""

RETRIEVAL_MAX_FILES: Final = 100_000
"""Source files of one root that are looked at."""

RETRIEVAL_SIGNATURE_MAX_CHARS: Final = 100
"""Of the beginning of a definition, what is kept and shown."""

RETRIEVAL_FILE_TIMEOUT_S: Final = 2.0
RETRIEVAL_BATCH_TIMEOUT_S: Final = 4.0
"""How long one file, and some dozens together, may take to be parsed; a file that takes longer is named."""

RETRIEVAL_HANGS_MAX: Final = 8
"""Files that may take too long in one call; of batches with further ones nothing is parsed."""

RETRIEVAL_BUILD_TIMEOUT_S: Final = 60.0
"""How long one call parses; what is left then is parsed by the next."""

RETRIEVAL_MEMORY_MAX_BYTES: Final = 1024 * MIB
"""Address space of each process that parses."""

RETRIEVAL_IDLE_S: Final = 300.0
"""How long a process that has nothing to parse stays."""

RETRIEVAL_INDEX_MAX_BYTES: Final = 256 * MIB
"""A kept index; a larger one is neither written nor read."""

RETRIEVAL_KEPT_INDEXES: Final = 32
"""Indexes in one directory; then those that were not written for the longest time go."""
