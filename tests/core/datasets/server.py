"""A web server on this computer that answers as well or as badly as a test wants."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONTENT = hashlib.shake_256(b"epochmark").digest(1_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
Answer = Callable[["Handler", int], None]  # the handler, and where the asked range starts


class Handler(BaseHTTPRequestHandler):
    server: "Server"

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        self.server.asked.append(self.path.rsplit("/", 1)[-1])
        self.server.answer(self, int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0)

    @property
    def content(self) -> bytes:
        return self.server.files.get(self.path.rsplit("/", 1)[-1], self.server.content)

    def give(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"Content_Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client that has seen enough
            super().handle()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's own name
        pass


class Server(ThreadingHTTPServer):
    """Remembers which files and ranges were asked for; a file without contents of its own has `content`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.ranges: list[str | None] = []
        self.answer: Answer = resumable

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/file.tar.gz"


def resumable(handler: Handler, start: int) -> None:
    """Answer as a good server does."""
    content = handler.content
    if start:
        handler.give(206, content[start:], Content_Range=f"bytes {start}-{len(content) - 1}/{len(content)}")
    else:
        handler.give(200, content)


def broken_after(size_bytes: int) -> Answer:
    return lambda handler, start: handler.give(
        200, handler.content[:size_bytes], Content_Length=str(len(handler.content))
    )


def halted(server: Server) -> tuple[threading.Event, threading.Event]:
    """Let a server send half of its file; returns what says that it has, and what lets it send the rest."""
    begun, go_on = threading.Event(), threading.Event()
    half = len(server.content) // 2

    def answer(handler: Handler, start: int) -> None:
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(server.content) - start))
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(server.content) - 1}/{len(server.content)}")
        handler.end_headers()
        handler.wfile.write(server.content[start:half])
        handler.wfile.flush()
        begun.set()
        assert go_on.wait(60)
        handler.wfile.write(server.content[max(start, half) :])

    server.answer = answer
    return begun, go_on


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
