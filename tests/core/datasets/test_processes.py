"""Several processes at one data set: one works, others wait, and a killed one harms and blocks nothing."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.core.datasets.downloads import DownloadError
from app.core.datasets.install import fetch_dataset, import_dataset
from app.core.paths import Paths
from tests.conftest import ROOT
from tests.core.datasets.acts import acts_on
from tests.core.datasets.server import Handler, Server, broken_after, resumable, serving
from tests.saying import said
from tests.sure import sure
from workloads.datasets import nietzsche

Child = Callable[[], "subprocess.Popen[str]"]


@pytest.fixture
def child(mine: Paths, text: Path) -> Iterator[Child]:
    """Start a process that has written the new file but not yet renamed it."""
    started: list[subprocess.Popen[str]] = []

    def start() -> "subprocess.Popen[str]":
        arguments = ["-m", "tests.core.datasets.data_child", str(mine.data.parent), str(text)]
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert sure(process.stdout).readline() == "written\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def age(file: Path) -> None:
    """Let a file be as old as one that no process is still writing."""
    hours_ago_s = file.stat().st_mtime - 10_000
    os.utime(file, (hours_ago_s, hours_ago_s))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3), ids=["import", "fetch", "remove"])
def test_a_killed_import_leaves_the_old_file_and_a_draft_that_is_deleted_later(
    mine: Paths, text: Path, child: Child, number: int
) -> None:
    file = import_dataset(mine, "nietzsche", text)
    before = file.stat()
    killed = child()
    killed.kill()
    killed.wait()
    (draft,) = set(mine.datasets.iterdir()) - {file}
    assert file.stat() == before
    with serving() as server:
        server.content = text.read_bytes()
        act = acts_on(mine, "nietzsche", text, server.url, pytest.fail)[number]  # the lock is free again
        act()
        assert draft.exists(), "another process may still be writing it"
        age(draft)
        act()
    assert set(mine.datasets.iterdir()) == (set() if number == 2 else {file})


@pytest.mark.slow
def test_who_waits_goes_on_when_the_other_one_is_killed(mine: Paths, text: Path, child: Child) -> None:
    other = child()
    file = import_dataset(mine, "nietzsche", text, waits=other.kill)
    assert other.wait() != 0
    assert nietzsche.load(file).source == "real"


@pytest.mark.slow
def test_waiting_can_be_given_up_at_once(mine: Paths, text: Path, child: Child) -> None:
    child()

    def give_up() -> None:
        raise KeyboardInterrupt

    for act in acts_on(mine, "nietzsche", text, waits=give_up):
        with pytest.raises(KeyboardInterrupt):
            act()


def halting(server: Server) -> threading.Event:
    """Let the server send all but the last bytes, and those when the event is set."""
    go_on = threading.Event()

    def answer(handler: Handler, start: int) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(server.content)))
        handler.end_headers()
        handler.wfile.write(server.content[:-10])
        handler.wfile.flush()
        assert go_on.wait(30)
        handler.wfile.write(server.content[-10:])

    server.answer = answer
    return go_on


def test_what_another_process_has_just_fetched_is_not_fetched_again(mine: Paths, text: Path) -> None:
    with serving() as server, ThreadPoolExecutor(4) as pool:
        server.content = text.read_bytes()
        go_on = halting(server)
        begun = threading.Event()
        first = pool.submit(fetch_dataset, mine, "nietzsche", server.url, lambda *_: begun.set())
        assert begun.wait(30)

        def never(done_bytes: int, all_bytes: int) -> None:
            raise AssertionError

        waiting: list[None] = []

        def wait() -> None:
            waiting.append(None)
            if len(waiting) == 3:  # a latecomer fetches it again
                go_on.set()

        others = [pool.submit(fetch_dataset, mine, "nietzsche", server.url, never, wait) for _ in range(3)]
        files = {first.result(), *(other.result() for other in others)}
    assert server.ranges == [None]
    assert files == set(mine.datasets.iterdir())
    assert list(mine.downloads.iterdir()) == []


def test_who_waited_for_a_fetch_that_failed_goes_on_with_it(mine: Paths, text: Path) -> None:
    with serving() as server, ThreadPoolExecutor(1) as pool:
        server.content = text.read_bytes()
        break_off, begun = threading.Event(), threading.Event()

        def answer(handler: Handler, start: int) -> None:
            broken_after(300_000)(handler, start)
            handler.wfile.flush()
            assert break_off.wait(30)
            server.answer = resumable

        server.answer = answer
        first = pool.submit(fetch_dataset, mine, "nietzsche", server.url, lambda *_: begun.set())
        assert begun.wait(30)
        file = fetch_dataset(mine, "nietzsche", server.url, waits=break_off.set)
        with pytest.raises(DownloadError, match=said("dataset.download_incomplete", done_bytes="300,000").pattern):
            first.result()
    assert server.ranges == [None, "bytes=300000-"]
    assert nietzsche.load(file).source == "real"
