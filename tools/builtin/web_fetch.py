"""WebFetch: a page of the public internet, its main part as Markdown, fetched without being led anywhere else (W1).

What is asked for is judged before the first byte, and so is each host that a redirect leads to. ``http_guard`` decides
which addresses are connected to, ``web_text`` makes text of what comes.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, Field

from ..contract import Capability, FunctionTool, InvocationResult, Plan, ToolContext, create_builtin_tool
from ..errors import ToolFailure
from ..limits import WEB_ERROR_MAX_CHARS
from ..support.blocking import run_blocking
from ..support.http_guard_errors import WebFailure
from ..support.http_guard_headers import check_headers
from ..support.http_guard_settings import Allowances, WebSettings
from ..support.http_guard_urls import check_target, url_target
from ..support.located import printable
from ..support.until_cancelled import until_cancelled
from ..support.web_cache import WebCache
from ..support.web_text import BodyReader, kind_of_type, name_of

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    from ..contract import CancellationToken, UrlTarget
    from ..support.http_guard import Resolver
    from ..support.http_guard_fetch import Fetched, Fetching
    from ..support.http_guard_settings import LiveWebSettings
    from ..support.web_text import Shown


class WebFetchInput(BaseModel):
    """Arguments of WebFetch."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(min_length=1, description="Absolute URL with http or https.")
    offset: int = Field(
        0,
        ge=0,
        description="Where in the text to begin; a result that does not show all tells the offset of what follows.",
    )
    whole: bool = Field(
        False,
        description="Whether to show all of an HTML page, with its navigation, header and footer, and not only its "
        "main part.",
    )
    headers: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="Request headers to send besides the usual ones, by name. They are not sent on to another host.",
    )
    fresh: bool = Field(False, description="Whether to fetch the page again although this session still has it.")


def create_web_fetch_tool(
    *,
    settings: LiveWebSettings = None,
    resolve: Resolver | None = None,
    description: str | None = None,
) -> FunctionTool:
    """Build the WebFetch tool. It keeps what it fetched for a while, so build one for each session.

    ``settings`` is where hosts that are not public are allowed, and a proxy is named; without them there are none. What
    gives them is asked at each call, and does not block; None is then that the web is switched off. ``resolve`` looks
    names up; None does it as this system does.

    Raises:
        ToolDefinitionError: settings that cannot be meant.
    """
    sessions = _Sessions(settings, resolve)

    async def prepare(parsed: WebFetchInput, context: ToolContext) -> Plan:
        target = url_target(parsed.url)
        headers = check_headers(parsed.headers)
        await context.admit((target,))
        plan = Plan(targets=(target,), state=_Asked(target, headers, parsed))
        try:
            sessions.for_target(target)
        except WebFailure as failure:
            plan.settled = InvocationResult.failed(str(failure))
        return plan

    async def commit(plan: Plan, context: ToolContext) -> InvocationResult:
        asked: _Asked = plan.state
        session = sessions.for_target(asked.target)  # the settings may be stricter than when it was judged
        shown = printable(asked.target.url)
        return await until_cancelled(
            context.cancellation,
            lambda: session.answer(asked, context),
            f"{shown}: the fetch was cancelled, and has stopped.",
        )

    return create_builtin_tool(
        name="WebFetch",
        description=description if description is not None else _description(sessions.first),
        model=WebFetchInput,
        prepare=prepare,
        commit=commit,
        capabilities=frozenset({Capability.NETWORK}),
    )


def _description(settings: WebSettings) -> str:
    return (
        "Fetches a URL by GET and returns what it says: of an HTML page the main part as Markdown, with absolute "
        "links; JSON, Markdown and other text as it is; of anything else the type and the size. Only hosts of the "
        "public internet are fetched, unless the user has allowed others; an address that is private, on this machine "
        f"or of a metadata service is refused. Up to {settings.max_redirects} redirects are followed, none from https "
        "to http; one to another host has to be permitted like a call. A page is at most "
        f"{settings.max_bytes} bytes, and a fetch takes at most {settings.timeout_s:g} seconds. At most "
        f"{settings.max_output_chars} characters of its text are shown at once; the result tells how many there are "
        "and the offset of what follows. No script of a page is run. A page that this session has fetched in the last "
        "minutes is not fetched again unless fresh is true; the result then tells how old it is. An HTTP status of "
        "failure is a failed result with the beginning of what came."
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    target: UrlTarget
    headers: Mapping[str, str]
    parsed: WebFetchInput


class _Sessions:
    """The settings as they are, and what calls share while they stay the same."""

    def __init__(self, settings: LiveWebSettings, resolve: Resolver | None) -> None:
        self._now = settings if callable(settings) else None
        self._resolve = resolve
        given = settings() if callable(settings) else settings
        self.first: Final = given or WebSettings()
        self._session = _Session(self.first, resolve)

    def for_target(self, target: UrlTarget) -> _Session:
        """What fetches this by the settings as they are now.

        Raises:
            WebFailure: they do not let it be fetched.
        """
        settings = self.first if self._now is None else self._now()
        if settings is None:
            raise WebFailure(
                f"{printable(target.url)}: the web is switched off by the settings (web.enabled), so that nothing is "
                "fetched. Do without it, or tell the user."
            )
        if settings != self._session.settings:
            self._session = _Session(settings, self._resolve)  # what was kept was fetched by other settings
        check_target(target, settings, self._session.allowances)
        return self._session


class _Session:
    """What the calls of one tool share. The modules of the network are imported when the first one fetches."""

    def __init__(self, settings: WebSettings, resolve: Resolver | None) -> None:
        self.settings = settings
        self.allowances = Allowances(settings)
        self._resolve = resolve
        self._cache = WebCache()
        self._reader = BodyReader()
        self._tls: ssl.SSLContext | None = None
        self._tls_lock = threading.Lock()

    async def answer(self, asked: _Asked, context: ToolContext) -> InvocationResult:
        kept = None if asked.parsed.fresh else self._cache.get(asked.target.url, asked.headers)
        if kept is None:
            fetched = await self._fetch(asked, context)
            self._cache.put(asked.target.url, asked.headers, fetched)
        else:
            fetched = kept.fetched
            if len(fetched.hops) > 1:
                await context.admit(fetched.hops[1:])
        is_failure = fetched.status >= 300
        limit = WEB_ERROR_MAX_CHARS if is_failure else self.settings.max_output_chars
        shown = await run_blocking(
            context.cancellation, lambda: self._read(fetched, asked.parsed, limit, context.cancellation)
        )
        if is_failure:
            return InvocationResult(success=False, output=shown.text, error=_status_failure(fetched))
        if shown.start < asked.parsed.offset:
            raise ToolFailure(
                f"{printable(fetched.target.url)}: the text has {shown.total} characters; there is nothing at offset "
                f"{asked.parsed.offset}. Leave offset out, or give a smaller one."
            )
        age_s = None if kept is None else kept.age_s
        head = _head(asked, fetched, shown, age_s)
        return InvocationResult(success=True, output=f"{head}\n\n{shown.text}" if shown.text else head)

    async def _fetch(self, asked: _Asked, context: ToolContext) -> Fetched:
        fetch, tls = await run_blocking(context.cancellation, self._prepared)
        return await fetch(
            asked.target,
            asked.headers,
            settings=self.settings,
            tls=tls,
            resolve=self._resolve,
            admit=context.admit,
            is_wanted=lambda content_type: kind_of_type(content_type) != "other",
            progress=context.progress,
        )

    def _prepared(self) -> tuple[Fetching, ssl.SSLContext]:
        """Import what fetches, in a thread since that takes a while, and read whom to trust."""
        from ..support.http_guard import tls_context  # noqa: PLC0415  see the class
        from ..support.http_guard_fetch import fetch  # noqa: PLC0415  see the class

        with self._tls_lock:
            if self._tls is None:
                self._tls = tls_context(self.settings)
            return fetch, self._tls

    def _read(self, fetched: Fetched, parsed: WebFetchInput, limit: int, token: CancellationToken) -> Shown:
        return self._reader.read(
            fetched.body,
            url=fetched.target.url,
            content_type=fetched.headers.get("content-type", ""),
            is_whole_body=fetched.is_whole,
            offset=0 if fetched.status >= 300 else parsed.offset,
            limit=limit,
            whole=parsed.whole,
            token=token,
        )


def _head(asked: _Asked, fetched: Fetched, shown: Shown, age_s: float | None) -> str:
    lines = [f"URL: {printable(fetched.target.url)}"]
    if len(fetched.hops) > 1:
        lines[0] += f" (redirected from {printable(asked.target.url)})"
    if shown.title:
        lines.append(f"Title: {printable(shown.title)}")
    if shown.kind == "other":
        lines.append(f"{_named(fetched)}: it is no text and is not shown.")
    else:
        charset = f", {shown.charset}" if shown.charset else ""
        lines.append(f"Type: {_type(fetched) or 'not told'}{charset}, {len(fetched.body)} bytes")
    if age_s is not None:
        lines.append(f"This session fetched it {age_s:.0f} seconds ago; fresh=true fetches it again.")
    if fetched.dropped_headers:
        lines.append("The headers of the call were not sent to the host that answered, since it is another one.")
    lines += [f"Note: {note}." for note in shown.notes]
    if shown.kind != "other" and not shown.text.strip():
        lines.append("There is no text in it." if shown.total == 0 else "There is no text in this part of it.")
    if shown.end < shown.total:
        lines.append(
            f"Shown: characters {shown.start} to {shown.end} of {shown.total}; offset={shown.end} shows what follows."
        )
    elif shown.start:
        lines.append(f"Shown: characters {shown.start} to {shown.end} of {shown.total}, the end.")
    return "\n".join(lines)


def _type(fetched: Fetched) -> str:
    return printable(fetched.content_type[:_TYPE_MAX_CHARS])


def _named(fetched: Fetched) -> str:
    size = len(fetched.body) if fetched.body else fetched.headers.get("content-length", "")
    told = f"{size} bytes" if str(size).isdigit() else "its size is not told"
    return f"{name_of(fetched.target.url)}: {_type(fetched) or 'of an unknown type'}, {told}"


def _status_failure(fetched: Fetched) -> str:
    wait = printable(fetched.headers.get("retry-after", "")[:50])
    what = _NEXT_STEPS.get(fetched.status, "")
    if not what:
        what = "Try again later." if fetched.status >= 500 else "Check the URL and the headers of the call."
    if wait and fetched.status in {429, 503}:
        what = f"Try again later; the server says after {wait} (seconds, or a date)."
    begun = " The beginning of what it sent is the output." if fetched.body else ""
    return f"{printable(fetched.target.url)}: the server answered HTTP {fetched.status_text}. {what}{begun}"


_TYPE_MAX_CHARS: Final = 80
_NEXT_STEPS: Final = {
    401: "The page needs credentials; send them as a header if there are any.",
    403: "The server does not give this page to this client; look for the same elsewhere.",
    404: "There is no such page; check the URL.",
    410: "The page is gone; look for the same elsewhere.",
    429: "There were too many requests; try again later.",
}

web_fetch: Final = create_web_fetch_tool()
"""Ready-made, for public hosts only (T7)."""
