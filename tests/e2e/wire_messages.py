"""Messages as no client should send them, and what a server owes for each; pure, and the same for the same seed.

A message is bytes and an expectation: the ids that an answer is owed to, and those that may get one. ``Owed.exactly``
is for whatever can be read; what is damaged may be answered under its id, if that can be made out, or not at all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

METHODS = (
    "openbuffer/callTool",
    "openbuffer/listTools",
    "workspace/executeCommand",
    "initialize",
    "no/such",
    "",
    "a" * 300,
)
TOLD = (
    *("textDocument/didOpen", "textDocument/didChange", "textDocument/didSave", "textDocument/didClose", "initialized"),
    *("$/setTrace", "$/cancelRequest", "window/workDoneProgress/cancel", "no/such", "workspace/didChangeConfiguration"),
    *("workspace/didChangeWorkspaceFolders", "$/progress", "$/unknown"),
)
HOLDS_MAX = 30
"""Calls that wait at the same time; they must not take every turn there is."""

PIECES = ("", "a", "é", "😋", "\u2028", "\x00", "\r\n", "Content-Length: 5\r\n\r\n", '"', "\\", "x" * 3_000)


@dataclass(frozen=True)
class Item:
    """What goes over the wire, and to whom an answer is owed; of damaged items the next message may be lost as well.

    Wild ones may have become a request of another id.
    """

    data: bytes
    exactly: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()
    is_damaged: bool = False
    is_wild: bool = False


def key(request_id: object) -> str:
    """An id, so that 1 and "1" are two."""
    return json.dumps(request_id)


def frame(message: object, *, ascii_only: bool = True) -> bytes:
    """One sound frame."""
    body = json.dumps(message, ensure_ascii=ascii_only).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@dataclass
class Messages:
    """A stream of them. ``begun``: initialize was answered; ``is_over``: shutdown was."""

    rng: random.Random
    root_uri: str
    call: Callable[[Messages], tuple[str, Any]]
    count: int = 0
    holds: list[Any] = field(default_factory=list)

    def next(self) -> Item:
        """Any message."""
        kinds = (
            (self.request, 30),
            (self.odd_request, 12),
            (self.notification, 18),
            (self.document, 12),
            (self.hold, 3),
            (self.let_go, 2),
            (self.cancel, 5),
            (self.answer, 6),
            (self.no_message, 5),
            (self.sloppy, 4),
            (self.damaged, 7),
        )
        (kind,) = self.rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])
        return kind()

    # --- what can be read --------------------------------------------------------------------------------------

    def request(self) -> Item:
        """A sound request with an id of its own."""
        request_id = self.new_id()
        method, params = self.call(self) if self.rng.random() < 0.6 else (self.rng.choice(METHODS), self.value())
        return self.sound(self.rpc(id=request_id, method=method, params=params), request_id)

    def odd_request(self) -> Item:
        """A request that has something that none should have."""
        request_id = self.new_id()
        message: dict[str, Any] = self.rpc(id=request_id, method=self.rng.choice(METHODS), params=self.value())
        match self.rng.randrange(6):
            case 0:
                del message["params"]
            case 1:
                message["method"] = self.rng.choice([None, 5, [], {}, True])
            case 2:
                message["jsonrpc"] = self.rng.choice(["1.0", None, 2.0])
            case 3:
                message["id"] = self.rng.choice([None, 1.5, True, [], {}])
                return Item(frame(message), perhaps=(key(None),))
            case 4:
                message["result"] = self.value()
            case _:
                message["method"] = "workspace/executeCommand"
                command = self.rng.choice(["openbuffer.callTool", "openbuffer.listTools", "none", 5])
                message["params"] = {"command": command, "arguments": self.rng.choice([[], [self.value()], None, {}])}
        return self.sound(message, request_id)

    def notification(self) -> Item:
        """Nobody is owed an answer for it."""
        return Item(frame(self.rpc(method=self.rng.choice(TOLD), params=self.value())))

    def document(self) -> Item:
        """Texts that come, change and go in any order, mostly as they should."""
        uri = f"{self.root_uri}/{self.rng.randrange(20)}.txt"
        version = self.rng.choice([self.count, self.count, 0, -1, None, "x"])
        match self.rng.randrange(5):
            case 0 | 1:
                item = {"uri": uri, "version": version, "languageId": "x", "text": "".join(self.pieces(20))}
                told = ("textDocument/didOpen", {"textDocument": item})
            case 2 | 3:
                changes: Any = [self.change() for _ in range(self.rng.randrange(4))]
                document = {"uri": uri, "version": version}
                told = ("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
            case _:
                method = self.rng.choice(["textDocument/didSave", "textDocument/didClose"])
                told = (method, {"textDocument": {"uri": uri}, "text": "".join(self.pieces(5))})
        return Item(frame(self.rpc(method=told[0], params=told[1]), ascii_only=self.rng.random() < 0.5))

    def change(self) -> Any:
        if self.rng.random() < 0.1:
            return self.value()
        text = "".join(self.pieces(4))
        if self.rng.random() < 0.3:
            return {"text": text}
        ends = [{"line": self.rng.randrange(-1, 9), "character": self.rng.randrange(-1, 99)} for _ in range(2)]
        return {"range": {"start": ends[0], "end": ends[1]}, "text": text}

    def hold(self) -> Item:
        """A call that waits until it is let go or cancelled; sometimes under an id that is in use."""
        if len(self.holds) >= HOLDS_MAX:
            return self.let_go()
        request_id = self.rng.choice(self.holds) if self.holds and self.rng.random() < 0.2 else self.new_id()
        self.holds.append(request_id)
        return self.sound(self.tool("hold", {}, request_id), request_id)

    def let_go(self) -> Item:
        """Every held call goes on."""
        request_id = self.new_id()
        self.holds.clear()
        return self.sound(self.tool("let_go", {}, request_id), request_id)

    def cancel(self) -> Item:
        """Of a call that waits, of none, or of nothing at all."""
        wanted = self.rng.choice(self.holds) if self.holds and self.rng.random() < 0.6 else self.value(depth=1)
        params = {"id": wanted} if self.rng.random() < 0.9 else self.value(depth=1)
        return Item(frame(self.rpc(method="$/cancelRequest", params=params)))

    def answer(self) -> Item:
        """To a question that was never asked."""
        number = self.rng.choice([f"openbuffer-{self.rng.randrange(9)}", self.count, None, 1.5, [], "x"])
        message = self.rpc(id=number)
        for member in self.rng.sample(["result", "error"], self.rng.randrange(3)):
            message[member] = self.value()
        return Item(frame(message), perhaps=(key(None),))

    def no_message(self) -> Item:
        """JSON that is no message."""
        inner = self.rpc(id=self.new_id(), method="no/such")
        value = self.rng.choice([[], [inner, inner], 5, "x", None, True, {}, {"jsonrpc": "2.0"}])
        return Item(frame(value), perhaps=(key(None),))

    def sloppy(self) -> Item:
        """A sound request in a frame that LSP does not quite have like this."""
        request_id = self.new_id()
        body = json.dumps(self.rpc(id=request_id, method="no/such")).encode()
        header = self.rng.choice(
            [
                b"content-length: %d\r\n\r\n", b"CONTENT-LENGTH:%d\r\n\r\n", b"Content-Length: %d\n\n",
                b"Content-Type: x\r\nContent-Length: %d\r\n\r\n", b"Content-Length: %d\r\nX-Y: z\r\n\r\n",
                b"\r\n\r\nContent-Length:   %d  \r\n\r\n",
            ]
        )  # fmt: skip
        return Item(header % len(body) + body, exactly=(key(request_id),))

    # --- what cannot -------------------------------------------------------------------------------------------

    def damaged(self) -> Item:
        """A request in a frame, or of JSON, that is broken."""
        request_id = self.new_id()
        body = json.dumps(self.rpc(id=request_id, method="no/such", params=self.value())).encode()
        whole = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        kind = self.rng.randrange(8)
        match kind:
            case 0:
                data = whole[: self.rng.randrange(len(whole))]
            case 1:
                data = b"Content-Length: %d\r\n\r\n%s" % (max(0, len(body) + self.rng.randrange(-40, 40)), body)
            case 2:
                at = self.rng.randrange(len(whole))
                data = whole[:at] + self.rng.randbytes(self.rng.randrange(9)) + whole[at + self.rng.randrange(9) :]
            case 3:
                data = self.rng.randbytes(self.rng.randrange(1, 500))
            case 4:
                broken = self.rng.choice([b"[" * 5_000, b'{"a":' * 5_000, b"\xff\xfe", b"NaN", b"9" * 5_000])
                broken = b'{"jsonrpc":"2.0","id":%s,"method":"x","params":%s}' % (key(request_id).encode(), broken)
                data = b"Content-Length: %d\r\n\r\n%s" % (len(broken), broken)
            case 5:
                data = self.rng.choice([b"Content-Length: -1\r\n\r\n", b"Content-Length: 99999999999999\r\n\r\n{}"])
            case 6:
                data = self.rng.choice(
                    [b"GET / HTTP/1.1\r\n\r\n", b"\r\n" * 50, b"hello\n", b"Content-Type: y\r\n\r\n"]
                )
            case _:
                data = b"Content-Length: %d\r\n\r\n" % self.rng.randrange(10**9, 10**12) + body
        return Item(data, perhaps=(key(request_id), key(None)), is_damaged=True, is_wild=kind == 2)

    # --- parts -------------------------------------------------------------------------------------------------

    def sound(self, message: Any, request_id: object) -> Item:
        return Item(frame(message, ascii_only=self.rng.random() < 0.8), exactly=(key(request_id),))

    def rpc(self, **members: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", **members}

    def tool(self, name: str, arguments: Any, request_id: object) -> dict[str, Any]:
        return self.rpc(id=request_id, method="openbuffer/callTool", params={"name": name, "arguments": arguments})

    def new_id(self) -> Any:
        self.count += 1
        spellings = (self.count, -self.count, str(self.count), f"é 😋 {self.count}", f"{'y' * 500}{self.count}")
        return self.rng.choices(spellings, (50, 10, 30, 5, 1))[0]

    def pieces(self, most: int) -> list[str]:
        return self.rng.choices(PIECES, (9, 9, 9, 9, 9, 2, 9, 1, 2, 2, 1), k=self.rng.randrange(most + 1))

    def value(self, depth: int = 4) -> Any:
        """Any JSON value."""
        match self.rng.randrange(9 if depth else 6):
            case 0:
                return None
            case 1:
                return self.rng.choice([True, False])
            case 2:
                return self.rng.choice([0, -1, 2**31, 2**63, 10**30, 1.5, -0.0, 1e308])
            case 3 | 4:
                return "".join(self.pieces(3))
            case 5:
                return self.rng.choice([self.root_uri, "openbuffer.callTool", "off", "verbose", 1])
            case 6:
                return [self.value(depth - 1) for _ in range(self.rng.randrange(4))]
            case _:
                names = (
                    "name",
                    "arguments",
                    "textDocument",
                    "uri",
                    "id",
                    "jsonrpc",
                    "token",
                    "workDoneToken",
                    "value",
                    "command",
                )
                return {self.rng.choice(names): self.value(depth - 1) for _ in range(self.rng.randrange(5))}
