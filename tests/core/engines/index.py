"""A small package index on this computer, with wheels that are made for the test, as good or bad as it wants."""

import base64
import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote

Sha256 = Callable[[bytes], str]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def make_wheel(name: str, version: str, code: str = "") -> tuple[str, bytes]:
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f"__version__ = {version!r}\n{code}\n".encode(),
        f"{name}/data.bin": name.encode() * 1_000,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(content)}")
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path), content)  # without the time of day
    return f"{name}-{version}-py3-none-any.whl", raw.getvalue()


def make_sources(name: str, version: str) -> tuple[str, bytes]:
    arguments = f"name={name!r}, version={version!r}, py_modules=[{name!r}]"
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "setup.py": f"import setuptools\nsetuptools.setup({arguments})\n",
        f"{name}.py": f"__version__ = {version!r}\n",
    }
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return f"{name}-{version}.tar.gz", raw.getvalue()


class Handler(BaseHTTPRequestHandler):
    server: "Index"

    def do_GET(self) -> None:
        parts = unquote(self.path).strip("/").split("/")
        self.server.asked.append((self.command, parts[-1], self.headers.get("Range")))
        if parts[0] == "simple" and self.server.other_page is not None:
            self._give(200, *self.server.other_page)
        elif parts[0] == "simple" and self.server.page_status != 200:
            self._give(self.server.page_status, b"", "text/plain")
        elif parts[0] == "simple" and len(parts) == 2:
            self._give(200, self.server.page(parts[1]).encode(), "text/html")
        elif parts[0] == "files" and self.server.file_status != 200:
            self._give(self.server.file_status, b"", "text/plain")
        elif parts[0] == "files" and parts[-1] in self.server.wheels:
            kind = "application/gzip" if parts[-1].endswith(".gz") else "application/zip"
            self._give_file(self.server.wheels[parts[-1]], kind)
        else:
            self._give(404, b"", "text/plain")

    def do_HEAD(self) -> None:
        if self.server.head_status is None:
            self.do_GET()
        else:
            self._give(self.server.head_status, b"", "text/plain")

    def _give_file(self, content: bytes, kind: str) -> None:
        first, _, last = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        whole = len(content)
        if self.headers.get("Range") is None:
            self._give(200, content, kind, sent_bytes=self.server.breaks_after_bytes)
            return
        start = int(first) if first else whole - int(last)
        end = min(int(last) + 1, whole) if first and last else whole
        self._give(206, content[start:end], kind, Content_Range=f"bytes {start}-{end - 1}/{whole}")

    def _give(self, status: int, body: bytes, kind: str, sent_bytes: int | None = None, **headers: str) -> None:
        self.send_response(status)
        headers = {"Content_Type": kind, "Accept_Ranges": "bytes"} | headers
        if self.server.states_sizes:
            headers["Content_Length"] = str(len(body))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body if sent_bytes is None else body[:sent_bytes])
            if sent_bytes is not None:
                self.wfile.flush()
                self.server.broke_off.set()
                self.server.go_on.wait(60)
                if self.server.sends_rest:
                    self.wfile.write(body[sent_bytes:])

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client that has seen enough
            super().handle()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's own name
        pass


class Index(ThreadingHTTPServer):
    """Wheels by file name; `states` is what the pages say about their checksums."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.wheels: dict[str, bytes] = {}
        self.states: Sha256 | None = sha256
        self.asked: list[tuple[str, str, str | None]] = []
        self.breaks_after_bytes: int | None = None
        self.sends_rest = False  # once it may go on
        self.head_status: int | None = None  # of a server that answers no HEAD
        self.states_sizes = True
        self.page_status = self.file_status = 200
        self.other_page: tuple[bytes, str] | None = None  # content and type of what isn't a page of an index
        self.broke_off, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/simple"

    def add(self, name: str, version: str, code: str = "") -> str:
        """Offer a wheel; return its checksum."""
        file_name, content = make_wheel(name, version, code)
        self.wheels[file_name] = content
        return sha256(content)

    def page(self, package: str) -> str:
        links = []
        for name, content in self.wheels.items():
            if name.partition("-")[0] == package:
                mark = f"#sha256={self.states(content)}" if self.states is not None else ""
                links.append(f'<a href="/files/{quote(name)}{mark}">{name}</a>')
        return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>"


@contextmanager
def serving() -> Iterator[Index]:
    with Index() as index:
        thread = threading.Thread(target=index.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield index
        finally:
            index.go_on.set()
            index.shutdown()
            thread.join()
