"""Hosts and guests meet on the loopback interface: who is let in, what is refused, and how an end spreads."""

import contextlib
import queue
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace

import msgspec
import pytest

from app.core.cluster import wire
from app.core.cluster.guest import Guest
from app.core.cluster.host import Host
from app.core.cluster.member import shared_event
from app.core.errors import AppError, UsageError
from app.core.messages import Message, message, text
from tests.core.cluster.meeting import CLAIM, LOCAL, PATIENCE_S, QUICK, Listener, Meeting, connected
from tests.sure import sure
from workloads.protocol import events


@pytest.fixture
def meeting() -> Iterator[Meeting]:
    with contextlib.closing(Meeting()) as made:
        yield made


def code_of(error: AppError) -> str:
    assert isinstance(error.message, Message)
    return error.message.code


def both(meeting: Meeting) -> tuple[Listener, Listener, Guest]:
    guest = meeting.join()
    meeting.finish()
    return Listener(meeting.host), Listener(guest), guest


def test_all_start_when_the_last_one_has_joined() -> None:
    with contextlib.closing(Meeting(3)) as meeting, contextlib.ExitStack() as stack:
        guests: queue.Queue[Guest] = queue.Queue()
        threads = [threading.Thread(target=lambda rank=rank: guests.put(meeting.join(rank))) for rank in (2, 1)]
        for thread in threads:
            thread.start()
        meeting.finish()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert meeting.error is None
        assert {meeting.news.get(timeout=PATIENCE_S).code for _ in range(2)} == {"cluster.joined"}
        for guest in (guests.get(timeout=PATIENCE_S) for _ in range(2)):
            stack.callback(guest.end, "completed", None)
            assert guest.count == 3
            assert guest.place.addresses == meeting.host.place.addresses
            assert guest.place.rank == guest.rank


def test_the_results_of_the_host_reach_a_guest(meeting: Meeting) -> None:
    _, there, guest = both(meeting)
    epoch = events.Epoch(seq=3, t_s=1.0, index=0, duration_s=2.0, train_s=1.5, loss=0.5)
    meeting.host.share(epoch)
    meeting.host.share(events.Log(message="not this"))
    meeting.host.share(events.Metric(key="loss", value=1.0))
    assert there.news.get(timeout=PATIENCE_S) == epoch
    assert isinstance(there.news.get(timeout=PATIENCE_S), events.Metric)
    meeting.host.end("completed", None)
    assert there.end() is None
    guest.end("completed", None)


@pytest.mark.parametrize(
    ("rank", "claim", "key", "code"),
    [
        (1, CLAIM | {"version": "2"}, "", "cluster.differs"),
        (1, CLAIM | {"extra": "x"}, "", "cluster.differs"),
        (1, {}, "", "cluster.differs"),
        (2, CLAIM, "", "cluster.bad_rank"),
        (0, CLAIM, "", "cluster.bad_rank"),
        (1, CLAIM, "0" * 32, "cluster.wrong_key"),
    ],
)
def test_who_does_not_agree_is_refused_with_a_sentence_on_both_sides(
    meeting: Meeting, rank: int, claim: dict[str, str], key: str, code: str
) -> None:
    with pytest.raises(UsageError) as caught:
        meeting.join(rank, claim, key)
    assert code_of(caught.value) == code
    shown = meeting.news.get(timeout=PATIENCE_S)
    if code == "cluster.wrong_key":
        assert shown == message("cluster.stranger", address=LOCAL)
    else:
        assert text(shown.arguments["reason"]) == caught.value.message_text
    meeting.join().end("completed", None)  # the host still waits


def test_the_difference_is_named() -> None:
    with contextlib.closing(Meeting(gives_up=True)) as meeting:
        with pytest.raises(UsageError) as caught:
            meeting.join(claim=CLAIM | {"setting.batch_size": "64"})
        expected = message(
            "cluster.differs",
            what=message("cluster.fact_setting", name="batch_size"),
            here="32",
            there="64",
            rank=1,
        )
        meeting.finish()
        assert sure(meeting.error).message == expected
        said = caught.value.message
        assert isinstance(said, Message)
        assert (said.code, said.arguments["here"], said.arguments["there"]) == (expected.code, "32", "64")


def gather_in_vain(guest: Guest) -> None:
    with pytest.raises(UsageError):
        guest.gather()


def test_a_rank_joins_only_once() -> None:
    with contextlib.closing(Meeting(3)) as meeting:
        first = Guest(meeting.address, 1, meeting.key, CLAIM, QUICK)
        assert meeting.news.empty()
        waiting = threading.Thread(target=gather_in_vain, args=(first,))
        waiting.start()
        assert meeting.news.get(timeout=PATIENCE_S).code == "cluster.joined"
        with pytest.raises(UsageError) as caught:
            meeting.join(1)
        assert code_of(caught.value) == "cluster.rank_taken"
        meeting.host.end("failed", None)
        waiting.join(PATIENCE_S)
        first.end("failed", None)


def test_who_leaves_before_the_start_may_come_again() -> None:
    with contextlib.closing(Meeting(2)) as meeting:
        stream = connected(meeting.address)
        guest = Guest(meeting.address, 1, meeting.key, CLAIM, QUICK)
        guest.end("cancelled", None)
        stream.close()
        assert meeting.news.get(timeout=PATIENCE_S).code == "cluster.lost_gone"
        meeting.join().end("completed", None)


def test_those_who_are_missing_are_named() -> None:
    with contextlib.closing(Meeting(3, timing=replace(QUICK, gather_s=0.01))) as meeting:
        meeting.finish()
        said = sure(meeting.error).message
        assert isinstance(said, Message)
        assert (said.code, said.arguments["ranks"]) == ("cluster.missing", [1, 2])


def test_nobody_is_there() -> None:
    with socket.create_server((LOCAL, 0)) as closed:
        address = closed.getsockname()[:2]
    with pytest.raises(UsageError) as caught:
        Guest(address, 1, "key", CLAIM, QUICK)
    assert code_of(caught.value) == "cluster.not_reached"


def test_a_port_in_use_and_an_address_of_another_computer_are_refused() -> None:
    with contextlib.closing(Meeting()) as meeting:
        for address, code in ((meeting.address, "cluster.port_in_use"), (("192.0.2.1", 0), "cluster.bad_address")):
            with pytest.raises(UsageError) as caught:
                Host(address, 2, "key", CLAIM, QUICK)
            assert code_of(caught.value) == code


@pytest.mark.parametrize(
    "greeting",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"",
        b"{}\n",
        b'{"type":"challenge","protocol":1,"nonce":"short"}\n',
        b"x" * (wire.LINE_LIMIT_BYTES + 2),
        wire.encode(wire.Alive()),
    ],
)
def test_a_guest_that_meets_another_program_says_so(greeting: bytes) -> None:
    with socket.create_server((LOCAL, 0)) as server:

        def answer() -> None:
            stream, _ = server.accept()
            with stream, contextlib.suppress(OSError):
                stream.sendall(greeting)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(UsageError) as caught:
            Guest(server.getsockname()[:2], 1, "key", CLAIM, QUICK)
        thread.join(PATIENCE_S)
    assert code_of(caught.value) == "cluster.no_host"


def test_a_host_without_the_key_and_one_of_another_protocol_are_refused_by_a_guest() -> None:
    for protocol, code in ((wire.PROTOCOL, "cluster.wrong_key"), (wire.PROTOCOL + 1, "cluster.other_protocol")):
        with socket.create_server((LOCAL, 0)) as server:

            def answer(protocol: int = protocol, server: socket.socket = server) -> None:
                stream, _ = server.accept()
                with stream:
                    stream.sendall(wire.encode(wire.Challenge(protocol=protocol, nonce="0" * 32)))
                    if stream.recv(1_000):
                        stream.sendall(wire.encode(wire.Welcome(proof="0" * 64)))

            thread = threading.Thread(target=answer)
            thread.start()
            with pytest.raises(UsageError) as caught:
                Guest(server.getsockname()[:2], 1, "key", CLAIM, QUICK)
            thread.join(PATIENCE_S)
        assert code_of(caught.value) == code


@pytest.mark.parametrize("line", [b"GET / HTTP/1.1\r\n\r\n", b"", b'{"type":"alive"}\n', b"\xff\n"])
def test_strangers_neither_get_in_nor_stop_the_meeting(meeting: Meeting, line: bytes) -> None:
    with connected(meeting.address) as stream:
        stream.sendall(line)
        stream.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            while stream.recv(1_000):
                pass
    meeting.join().end("completed", None)
    assert meeting.news.get(timeout=PATIENCE_S).code == "cluster.joined"


def test_a_guest_of_another_protocol_is_named_on_both_sides(meeting: Meeting) -> None:
    with connected(meeting.address) as stream:
        hello = wire.Hello(protocol=wire.PROTOCOL + 1, rank=1, nonce="0" * 32, proof="0" * 64)
        stream.sendall(wire.encode(hello))
        lines = stream.makefile("rb")
        lines.readline()
        refused = wire.decode(lines.readline().strip())
    expected = message("cluster.other_protocol", here=wire.PROTOCOL, there=wire.PROTOCOL + 1)
    assert refused == wire.Refused(said=expected)
    assert meeting.news.get(timeout=PATIENCE_S) == expected


class Stranger:
    """A guest with the key that sends whatever a test wants."""

    def __init__(self, meeting: Meeting, stream: socket.socket) -> None:
        self._stream, self._lines = stream, stream.makefile("rb")
        challenge, nonce = self.received(), "0" * 32
        assert isinstance(challenge, wire.Challenge)
        proof = wire.prove(meeting.key, "guest", challenge.nonce, nonce, 1)
        self.send(wire.Hello(protocol=wire.PROTOCOL, rank=1, nonce=nonce, proof=proof))
        self.send(wire.Claim(facts=CLAIM))
        assert isinstance(self.received(), wire.Welcome)
        probe = self.received()
        assert isinstance(probe, wire.Probe)
        self.port = probe.port

    def send(self, line: wire.Line) -> None:
        self._stream.sendall(wire.encode(line))

    def received(self) -> wire.AnyLine:
        return wire.decode(self._lines.readline().strip())


def test_a_blocked_port_is_named(meeting: Meeting) -> None:
    """A guest says what a firewall between the two would make it say."""
    with connected(meeting.address) as stream:
        guest = Stranger(meeting, stream)
        guest.send(wire.Probed(reached=False, port=1))
        while isinstance(refused := guest.received(), wire.Alive):
            pass
    assert isinstance(refused, wire.Refused)
    assert (refused.said.code, refused.said.arguments["port"]) == ("cluster.blocked", guest.port)


def test_a_guest_that_cannot_be_reached_is_refused(meeting: Meeting) -> None:
    with socket.create_server((LOCAL, 0)) as closed:
        port = closed.getsockname()[1]
    with connected(meeting.address) as stream:
        guest = Stranger(meeting, stream)
        guest.send(wire.Probed(reached=True, port=port))
        while isinstance(refused := guest.received(), wire.Alive):
            pass
    assert isinstance(refused, wire.Refused)
    assert refused.said.arguments["target"] == 1


def test_who_waits_gets_signs_of_life(meeting: Meeting) -> None:
    with connected(meeting.address) as stream:
        guest = Stranger(meeting, stream)
        assert [guest.received() for _ in range(3)] == [wire.Alive()] * 3


@pytest.mark.parametrize(
    "event", [events.Log(message="x"), events.Hello(protocol=1, pid=1, python="", wall_time_ns=1)]
)
def test_a_guest_takes_nothing_but_results_from_the_host(event: events.Event) -> None:
    assert shared_event(msgspec.Raw(events.encode(event))) is None
    assert shared_event(msgspec.Raw(b"{}")) is None


def test_a_lost_guest_ends_the_run_for_all() -> None:
    with contextlib.closing(Meeting(3)) as meeting:
        guests: dict[int, Guest] = {}
        threads = [
            threading.Thread(target=lambda rank=rank: guests.update({rank: meeting.join(rank)})) for rank in (1, 2)
        ]
        for thread in threads:
            thread.start()
        meeting.finish()
        for thread in threads:
            thread.join(PATIENCE_S)
        here, there = Listener(meeting.host), Listener(guests[2])
        guests[1].end("completed", None)  # too early, so the connection just ends
        for listener in (here, there):
            assert listener.said() == message("cluster.lost_gone", rank=1, address=LOCAL)
        guests[2].end("failed", None)


@pytest.mark.parametrize("silent", ["host", "guest"])
def test_a_silent_computer_is_named(silent: str) -> None:
    """It sends no sign of life within the other one's patience, as if it were suspended."""
    mute = replace(QUICK, beat_s=1_000.0)
    impatient = replace(QUICK, silent_s=0.3)
    host, guest = (mute, impatient) if silent == "host" else (impatient, mute)
    with contextlib.closing(Meeting(timing=host)) as meeting:
        joined = meeting.join(timing=guest)
        meeting.finish()
        error = sure(Listener(joined if silent == "host" else meeting.host).end())
        rank = 0 if silent == "host" else 1
        assert error.code == "hung"
        assert error.said == message("cluster.lost_silent", rank=rank, address=LOCAL, silent_s=0.3)
        joined.end("failed", None)


def test_the_reason_of_a_failure_reaches_the_others(meeting: Meeting) -> None:
    here, _, guest = both(meeting)
    reason = message("worker.out_of_memory")
    guest.end("failed", events.Error(code="out_of_memory", said=reason))
    error = sure(here.end())
    assert error.code == "out_of_memory"
    assert error.said == message("cluster.ended", rank=1, address=LOCAL, reason=reason)


def test_other_data_ends_the_run_for_all(meeting: Meeting) -> None:
    here, there, guest = both(meeting)
    meeting.host.share(events.Dataset(name="mnist", source="real", samples=60_000, checksum="ab"))
    guest.share(events.Dataset(name="mnist", source="real", samples=60_000, checksum="cd"))
    for said in (here.said(), there.said()):
        plain = said if said.code == "cluster.differs" else said.arguments["reason"]
        shown = plain if isinstance(plain, Message) else Message(plain["code"], plain["arguments"])
        assert shown.code == "cluster.differs"
    guest.end("failed", None)


def test_a_cancelled_run_is_cancelled_for_all(meeting: Meeting) -> None:
    _, there, guest = both(meeting)
    meeting.host.end("cancelled", None)
    said = there.said()
    assert (said.code, said.arguments["rank"]) == ("cluster.ended", 0)
    guest.end("failed", None)
