"""`cluster run` and `run --join` as commands, in processes of their own on the loopback interface."""

import re
import shlex
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from app.core.messages import sentence
from tests.conftest import CommandLine, command
from tests.saying import said
from tests.waiting import wait_until

pytestmark = pytest.mark.slow
LOCAL = "127.0.0.1"
LONG = ("--set", "step_s=0.2")
PATIENCE_S = 100


class Command:
    """A command in progress, and what it has printed so far."""

    def __init__(self, environment: dict[str, str], *words: str) -> None:
        self.process = subprocess.Popen(
            command(*words),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def shown(self) -> str:
        return "".join(self._lines)

    def workers(self) -> list[psutil.Process]:
        """Return the processes that train."""
        found: list[psutil.Process] = psutil.Process(self.process.pid).children(recursive=True)
        return found

    def finish(self) -> int:
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return code

    def end(self) -> None:
        if self.process.poll() is None:
            for process in (*self.workers(), psutil.Process(self.process.pid)):
                process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self._lines.extend(self.process.stdout)


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    path = tmp_path / "hosts.txt"
    path.write_text(f"{LOCAL}\n{LOCAL}\n", encoding="utf-8")
    return path


@contextmanager
def both(environment: dict[str, str], hosts: Path, *options: str) -> Iterator[tuple[Command, Command]]:
    """Start a run on two computers, the second one with the command that the first one shows."""
    with ExitStack() as stack:
        first = Command(environment, "cluster", "run", "demo", "--hosts", str(hosts), *options)
        stack.callback(first.end)
        wait_until(lambda: "--key" in first.shown)
        words = re.search(r" (run demo .*--key \w+)", first.shown)
        assert words is not None
        second = Command(environment, *shlex.split(words[1]))
        stack.callback(second.end)
        yield first, second


def test_two_computers_run_together_and_both_show_the_result(
    environment: dict[str, str], hosts: Path, epochmark: CommandLine
) -> None:
    with both(environment, hosts, "--epochs", "2", "--seed", "3", "--set", "step_s=0.01") as commands:
        assert [each.finish() for each in commands] == [0, 0]
        first, second = (each.shown for each in commands)
    assert said("cluster.joined", rank="1", address=LOCAL).is_in(first)
    rows = [[line for line in shown.splitlines() if re.match(r" +[12]/2 ", line)] for shown in (first, second)]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 2
    stored = epochmark("results", "export", "--format", "csv", "1", "2").stdout
    assert stored.count("devices=2 machines=2") == 2


def test_another_setting_is_named_and_the_first_computer_still_waits(
    environment: dict[str, str], hosts: Path
) -> None:
    with ExitStack() as stack:
        first = Command(environment, "cluster", "run", "demo", "--hosts", str(hosts))
        stack.callback(first.end)
        wait_until(lambda: "--key" in first.shown)
        words = re.search(r" (run demo .*--key \w+)", first.shown)
        assert words is not None
        other = Command(environment, *shlex.split(words[1]), "--epochs", "7")
        stack.callback(other.end)
        assert other.finish() == 2
        differs = said("cluster.differs", here="3", there="7", rank="1")
        assert differs.is_in(other.shown)
        wait_until(lambda: differs.is_in(first.shown))
        assert first.process.poll() is None
        first.process.send_signal(signal.SIGINT)
        assert first.finish() == 130


def test_a_killed_computer_is_named_and_no_process_is_left(environment: dict[str, str], hosts: Path) -> None:
    with both(environment, hosts, *LONG) as (first, second):
        wait_until(lambda: all(len(each.workers()) == 1 for each in (first, second)))
        workers = [*first.workers(), *second.workers()]
        second.process.kill()
        assert first.finish() == 1
        assert said("cluster.lost_gone", rank="1", address=LOCAL).is_in(first.shown)
        wait_until(lambda: not any(worker.is_running() for worker in workers))


def free_port() -> str:
    with socket.create_server((LOCAL, 0)) as server:
        return str(server.getsockname()[1])


def test_a_launcher_starts_the_same_command_everywhere(environment: dict[str, str]) -> None:
    launched = {"WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": LOCAL, "EPOCHMARK_KEY": "k" * 16}
    words = ("cluster", "run", "demo", "--port", free_port())
    with ExitStack() as stack:
        # The one with rank 1 waits for the other one, too.
        commands = [Command(environment | launched | {"RANK": rank}, *words) for rank in ("1", "0")]
        for each in commands:
            stack.callback(each.end)
        assert [each.finish() for each in commands] == [0, 0]
        for each in commands:
            assert said("cli.demo_stored").is_in(each.shown)


def test_launched_computers_that_differ_end_at_once(environment: dict[str, str]) -> None:
    launched = {"WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": LOCAL, "EPOCHMARK_KEY": "k" * 16}
    words = ("cluster", "run", "demo", "--port", free_port())
    with ExitStack() as stack:
        commands = [
            Command(environment | launched | {"RANK": rank}, *words, "--seed", rank) for rank in ("0", "1")
        ]
        for each in commands:
            stack.callback(each.end)
        assert [each.finish() for each in commands] == [2, 2]
        for each in commands:
            assert said("cluster.differs", here="0", there="1", rank="1").is_in(each.shown)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", "demo", "--join", "x:y"), "cluster.needs_rank"),
        (("run", "demo", "--join", "x:y", "--rank", "0"), "cluster.needs_rank"),
        (("run", "demo", "--join", "x:y", "--rank", "1"), "cluster.bad_key"),
        (("run", "demo", "--join", "x:y", "--rank", "1", "--key", "k"), "cluster.unreadable_address"),
        (("run", "demo", "--join", "x", "--rank", "1", "--repeat", "2"), "cluster.without_repeat"),
        (("run", "demo", "--join", f"{LOCAL}:1", "--rank", "1", "--key", "k"), "cluster.not_reached"),
        (("run", "demo", "--join", "x" * 70, "--rank", "1", "--key", "k"), "cluster.not_reached"),
        (("cluster", "run", "demo"), "cluster.needs_hosts"),
        (("cluster", "run", "demo", "--hosts", "none.txt"), "cluster.hosts_unreadable"),
    ],
)
def test_what_is_missing_is_said(words: tuple[str, ...], code: str, epochmark: CommandLine) -> None:
    done = epochmark(*words)
    assert done.returncode == 2
    assert said(code).is_in(done.stderr)


def test_a_port_that_is_none_and_a_missing_key_are_refused(epochmark: CommandLine, hosts: Path) -> None:
    done = epochmark("cluster", "run", "demo", "--hosts", str(hosts), "--port", "65536")
    assert done.returncode == 2
    assert said("cli.number_out_of_range", option="--port").is_in(done.stderr)
    done = epochmark("cluster", "run", "demo", RANK="0", WORLD_SIZE="2", MASTER_ADDR=LOCAL)
    assert done.returncode == 2
    assert said("cluster.key_needed").is_in(done.stderr)


def test_an_engine_that_listens_on_all_addresses_must_be_allowed_to(
    environment: dict[str, str], epochmark: CommandLine, hosts: Path
) -> None:
    training = ("mnist_mlp", "--engine", "tensorflow", "--data", "synthetic")
    for words in (
        ("cluster", "run", *training, "--hosts", str(hosts)),
        ("run", *training, "--join", f"{LOCAL}:1", "--rank", "1", "--key", "k"),
    ):
        done = epochmark(*words)
        assert done.returncode == 2
        assert said("cluster.listens_everywhere", engine="TensorFlow").is_in(done.stderr)
    with ExitStack() as stack:
        first = Command(environment, "cluster", "run", *training, "--hosts", str(hosts), "--trust-network")
        stack.callback(first.end)
        wait_until(lambda: "--key" in first.shown)
        assert re.search(r" run mnist_mlp .*--trust-network .*--join ", first.shown)


def test_a_run_alone_listens_to_nothing(environment: dict[str, str]) -> None:
    with ExitStack() as stack:
        alone = Command(environment, "run", "demo", *LONG)
        stack.callback(alone.end)
        wait_until(lambda: sentence("column.seconds") in alone.shown)
        for process in (psutil.Process(alone.process.pid), *alone.workers()):
            assert not [each for each in process.net_connections() if each.status == psutil.CONN_LISTEN]
