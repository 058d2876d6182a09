"""The computer with rank 0: waits for the others, checks that they agree, and relays the end of the run."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from app.core.cluster import wire
from app.core.cluster.addresses import is_port_taken
from app.core.cluster.connection import Connection, GoneError, SilentError
from app.core.cluster.facts import DATA_READ, data_text, difference
from app.core.cluster.member import (
    RESULTS,
    Member,
    PeerEnd,
    PeerNews,
    can_connect,
    ending,
    interface_of,
    loss,
    peer_end,
    without_details,
)
from app.core.cluster.timing import Timing
from app.core.errors import AppError, UsageError
from app.core.messages import Message, message
from workloads.protocol import events
from workloads.protocol.spec import Endpoint, Place

_TICK_S = 0.2
# Strangers can't keep more connections open than this.
_STRANGERS = 32


@dataclass(slots=True)
class _Guest:
    rank: int
    address: str
    connection: Connection
    facts: Mapping[str, str] = field(default_factory=dict)
    engine_port: int = 0
    is_ready: bool = False


class Host(Member):
    """Listens for the other computers of a run.

    Args:
        address: Address to listen on, and port; 0 for any free port.
        count: Number of computers, including this one.
        key: The run's key.
        claim: The facts that all computers must agree on; see `facts`.
        timing: Time limits.

    Raises:
        UsageError: The address can't be used.
    """

    def __init__(
        self,
        address: tuple[str, int],
        count: int,
        key: str,
        claim: Mapping[str, str],
        timing: Timing | None = None,
    ) -> None:
        self.rank, self.count = 0, count
        self._key, self._claim, self._timing = key, claim, timing or Timing()
        self._listener = _listener(address)
        self.address, self.port = self._listener.getsockname()[:2]
        # Reserved until the engine needs it, so that guests can test whether they can reach it.
        self._engine_listener = _listener((self.address, 0))
        self._engine_port = self._engine_listener.getsockname()[1]
        self._guests: dict[int, _Guest] = {}
        self._changed = threading.Condition()
        self._strangers = threading.Semaphore(_STRANGERS)
        self._news: Callable[[Message], None] = lambda _: None
        self._dispute: Message | None = None
        self._heard: Callable[[PeerNews], None] | None = None
        self._early: list[PeerNews] = []
        self._data: str | None = None
        self._is_started = self._is_over = False

    def gather(self, news: Callable[[Message], None], *, gives_up: bool = False) -> None:
        """Wait for all other computers.

        Args:
            news: Called in other threads with a message about each computer that joined, left or was refused.
            gives_up: Whether to stop waiting if a computer that has the key must be refused.

        Raises:
            AppError: Some computers didn't join in time, or one was refused.
        """
        self._news = news
        threading.Thread(target=self._accept, daemon=True, name="cluster-accept").start()
        end_s = time.monotonic() + self._timing.gather_s
        with self._changed:
            while not self._are_all_ready():
                if self._is_over:
                    raise AppError(message("cluster.cancelled"))
                if gives_up and self._dispute is not None:
                    raise AppError(self._dispute)
                if time.monotonic() > end_s:
                    missing = [rank for rank in range(1, self.count) if rank not in self._guests]
                    raise AppError(message("cluster.missing", ranks=missing, waited_s=self._timing.gather_s))
                self._changed.wait(_TICK_S)
            self._is_started = True
        self._stop_listening()
        own = Endpoint(self.address, self._engine_port)
        others = (self._guests[rank] for rank in range(1, self.count))
        addresses = (own, *(Endpoint(guest.address, guest.engine_port) for guest in others))
        self.place = Place(rank=0, addresses=addresses, interface=interface_of(self.address))
        self._post(wire.Start(addresses=addresses))

    def follow(self, heard: Callable[[PeerNews], None]) -> None:
        """Pass on everything that other computers have sent and will send. `heard` may be called in any thread."""
        with self._changed:
            self._heard, early = heard, self._early
        for news in early:
            heard(news)

    def share(self, event: events.Event) -> None:
        """Send an event of the result to all guests, or compare the data described by an event with theirs."""
        if isinstance(event, events.Dataset):
            with self._changed:
                self._data = data_text(event)
            for guest in list(self._guests.values()):
                self._compare_data(guest)
        elif isinstance(event, RESULTS):
            self._post(wire.Shared(event=msgspec.Raw(events.encode(event).strip())))

    def end(self, status: str, error: events.Error | None) -> None:
        """Report the run's end on this computer, unless another one ended it first, and close all connections."""
        with self._changed:
            was_over, self._is_over = self._is_over, True
        if not was_over:
            line = ending(self.rank, status, error)
            said = None if line.said is None else without_details(line.said)
            self._post(msgspec.structs.replace(line, address=self.address, said=said))
        self._stop_listening()
        for guest in list(self._guests.values()):
            guest.connection.close()

    def _are_all_ready(self) -> bool:
        return len(self._guests) == self.count - 1 and all(each.is_ready for each in self._guests.values())

    def _stop_listening(self) -> None:
        for listener in (self._listener, self._engine_listener):
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # on Linux, wakes the thread that accepts
            listener.close()

    def _post(self, line: wire.Line) -> None:
        for guest in list(self._guests.values()):
            guest.connection.post(line)

    def _accept(self) -> None:
        while True:
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            if not self._strangers.acquire(blocking=False):
                stream.close()
                continue
            threading.Thread(target=self._meet, args=(stream,), daemon=True, name="cluster-meet").start()

    def _meet(self, stream: socket.socket) -> None:
        connection = Connection(stream, silent_s=self._timing.answer_s, beat_s=self._timing.beat_s)
        # Also limits the time of computers that send a byte now and then.
        deadline = threading.Timer(2 * self._timing.answer_s, connection.abort)
        deadline.daemon = True
        deadline.start()
        try:
            rank = self._identify(connection)
            claim = connection.receive() if rank is not None else None
        except (GoneError, SilentError, wire.WireError):
            connection.close()
            return
        finally:
            deadline.cancel()
            self._strangers.release()
        if rank is None or not isinstance(claim, wire.Claim):
            connection.close()
            return
        self._consider(_Guest(rank, connection.address, connection, claim.facts))

    def _identify(self, connection: Connection) -> int | None:
        """Return the rank of a computer that has connected; None if it lacks the key or violates the protocol."""
        nonce = wire.new_nonce()
        connection.send(wire.Challenge(protocol=wire.PROTOCOL, nonce=nonce))
        hello = connection.receive()
        if not isinstance(hello, wire.Hello):
            return None
        if hello.protocol != wire.PROTOCOL:
            said = message("cluster.other_protocol", here=wire.PROTOCOL, there=hello.protocol)
            connection.send(wire.Refused(said=said))
            self._news(said)
            return None
        if not wire.is_proof(hello.proof, self._key, "guest", nonce, hello.nonce, hello.rank):
            connection.send(wire.Refused(said=message("cluster.wrong_key")))
            self._news(message("cluster.stranger", address=connection.address))
            return None
        connection.send(wire.Welcome(proof=wire.prove(self._key, "host", hello.nonce, nonce, hello.rank)))
        return hello.rank

    def _consider(self, guest: _Guest) -> None:
        """Refuse a guest, or accept it and have it test the engine's port."""
        guest.connection.be_patient(self._timing.silent_s)
        with self._changed:
            refusal = self._refusal(guest)
            if refusal is None:
                self._guests[guest.rank] = guest
        if refusal is not None:
            self._refuse(guest, refusal)
            return
        guest.connection.listen(lambda line: self._on_line(guest, line), lambda error: self._on_loss(guest, error))
        guest.connection.post(wire.Probe(port=self._engine_port))

    def _refusal(self, guest: _Guest) -> Message | None:
        if self._is_started:
            return message("cluster.too_late")
        if not 1 <= guest.rank < self.count:
            return message("cluster.bad_rank", rank=guest.rank, last=self.count - 1)
        if guest.rank in self._guests:
            return message("cluster.rank_taken", rank=guest.rank, address=self._guests[guest.rank].address)
        return difference(self._claim, guest.facts, guest.rank)

    def _refuse(self, guest: _Guest, said: Message) -> None:
        guest.connection.post(wire.Refused(said=said))
        with self._changed:
            if self._guests.get(guest.rank) is guest:
                del self._guests[guest.rank]
        guest.connection.close()  # sends the reason, before the program may end because of the dispute
        self._news(message("cluster.refused", rank=guest.rank, address=guest.address, reason=said))
        with self._changed:
            self._dispute = said
            self._changed.notify_all()

    def _on_line(self, guest: _Guest, line: wire.AnyLine) -> None:
        match line:
            case wire.Probed() if not self._is_started:
                self._finish_probe(guest, line)
            case wire.Claim():
                guest.facts = line.facts
                self._compare_data(guest)
            case wire.Ended():
                error = peer_end(msgspec.structs.replace(line, rank=guest.rank, address=guest.address)).error
                self._stop(guest, error, line)

    def _finish_probe(self, guest: _Guest, line: wire.Probed) -> None:
        here, there = (0, self.address), (guest.rank, guest.address)
        if not line.reached:
            self._refuse(guest, _blocked(there, here, self._engine_port))
        elif not can_connect(guest.address, line.port, self._timing.answer_s):
            self._refuse(guest, _blocked(here, there, line.port))
        else:
            with self._changed:
                guest.engine_port, guest.is_ready = line.port, True
                self._changed.notify_all()
            self._news(message("cluster.joined", rank=guest.rank, address=guest.address))

    def _compare_data(self, guest: _Guest) -> None:
        ours, theirs = self._data, guest.facts.get(DATA_READ)
        if ours is None or theirs is None:
            return
        if (said := difference({DATA_READ: ours}, {DATA_READ: theirs}, guest.rank)) is not None:
            line = wire.Ended(rank=0, address=self.address, code="bad_parameters", said=said)
            self._stop(None, events.Error(code="bad_parameters", said=said), line)

    def _on_loss(self, guest: _Guest, error: Exception) -> None:
        failed = loss(error, guest.rank, guest.address, self._timing.silent_s)
        assert failed.said is not None
        if self._is_started:
            line = wire.Ended(rank=guest.rank, address=guest.address, code=failed.code, said=failed.said)
            self._stop(guest, failed, line)
            return
        with self._changed:
            was_there = self._guests.get(guest.rank) is guest
            if was_there:
                del self._guests[guest.rank]
        if was_there:
            self._news(failed.said)

    def _stop(self, cause: _Guest | None, error: events.Error | None, line: wire.Ended) -> None:
        """End the run on all computers because of one of them."""
        with self._changed:
            if self._is_over:
                return
            self._is_over = True
        relayed = line if cause is None else msgspec.structs.replace(line, rank=cause.rank, address=cause.address)
        for guest in list(self._guests.values()):
            if guest is not cause:
                guest.connection.post(relayed)
        self._deliver(PeerEnd(error))

    def _deliver(self, news: PeerNews) -> None:
        with self._changed:
            heard = self._heard
            if heard is None:
                self._early.append(news)
        if heard is not None:
            heard(news)


def _blocked(origin: tuple[int, str], target: tuple[int, str], port: int) -> Message:
    return message(
        "cluster.blocked", rank=origin[0], address=origin[1], target=target[0], target_address=target[1], port=port
    )


def _listener(address: tuple[str, int]) -> socket.socket:
    """Return a socket that listens on an address. Raises UsageError if the address can't be used."""
    host, port = address
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_STRANGERS)
    except (OSError, UnicodeError) as error:  # UnicodeError: a part of the name is too long
        code = "cluster.port_in_use" if is_port_taken(error) else "cluster.bad_address"
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(message(code, address=host, port=port, reason=reason)) from error
