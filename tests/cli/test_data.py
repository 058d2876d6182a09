"""The verb `data` with real processes: several at once, secrets in addresses, homes and settings that are odd."""

import signal
import subprocess
from pathlib import Path

import pytest

from app.core.messages import sentence
from app.core.paths import default_paths
from tests.archives import make_nietzsche
from tests.cli.commands import posix_only, sentence_of, start
from tests.conftest import CommandLine
from tests.core.datasets.server import Handler, halted, resumable, serving
from tests.saying import said
from workloads.datasets import nietzsche

WAITING = f"{sentence('cli.waiting_for_other', dataset='nietzsche')}\n"
INSTALLED = f"{sentence('cli.dataset_installed', dataset='nietzsche')}\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "nietzsche.txt"
    path.write_bytes(make_nietzsche())
    return path


def waiting(process: "subprocess.Popen[str]") -> bool:
    assert process.stderr is not None
    return process.stderr.readline() == WAITING


@pytest.mark.slow
@posix_only
def test_a_killed_fetch_blocks_nothing_and_the_next_resumes(environment: dict[str, str], text: Path) -> None:
    with serving() as server:
        server.content = text.read_bytes()
        begun, go_on = halted(server)
        first = start(environment, "data", "fetch", "nietzsche", "--url", server.url)
        assert begun.wait(60)
        second = start(environment, "data", "fetch", "nietzsche", "--url", server.url)
        third = start(environment, "data", "remove", "nietzsche")
        assert waiting(second)
        assert waiting(third)
        third.send_signal(signal.SIGINT)
        third.communicate(timeout=100)
        assert third.returncode == 130
        server.answer = resumable
        first.kill()
        first.communicate()
        go_on.set()
        out, err = second.communicate(timeout=100)
        assert (second.returncode, out) == (0, INSTALLED), err
    assert nietzsche.load(nietzsche.SOURCE.stored_in(default_paths(environment).datasets)).source == "real"


@pytest.mark.parametrize("status", [404, 302])
def test_an_address_is_shown_without_its_secrets(
    epochmark: CommandLine, environment: dict[str, str], status: int
) -> None:
    headers: list[str | None] = []

    def answer(handler: Handler, start: int) -> None:
        headers.append(handler.headers.get("Authorization"))
        handler.send_response(status, "No\x1b[31m\tway " + "x" * 5_000)
        handler.send_header("Location", "file:///etc/passwd?token=hush-hush")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with serving() as server:
        server.answer = answer
        url = server.url.replace("http://", "http://user:s%20cret@") + "?token=hush-hush#part"
        done = epochmark("data", "fetch", "nietzsche", "--url", url)
    refusal = "dataset.server_refused" if status == 404 else "dataset.server_redirects"
    assert said(refusal, address=server.url, status=status).is_in(sentence_of(done))
    assert len(sentence_of(done)) < 500
    log = default_paths(environment).logs / "epochmark.log"
    told = done.stdout + done.stderr + (log.read_text() if log.exists() else "")
    for secret in ("cret", "hush", "user", "\x1b"):
        assert secret not in told
    assert headers == ["Basic dXNlcjpzIGNyZXQ="]  # only the server receives it
