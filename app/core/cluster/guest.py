"""A guest: a computer that takes part in a run led by another computer, the host."""

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable, Mapping

import msgspec

from app.core.cluster import wire
from app.core.cluster.connection import Connection, GoneError, SilentError
from app.core.cluster.facts import DATA_READ, data_text
from app.core.cluster.member import (
    Member,
    PeerEnd,
    PeerNews,
    can_connect,
    ending,
    interface_of,
    loss,
    peer_end,
    shared_event,
    without_details,
)
from app.core.cluster.timing import Timing
from app.core.errors import UsageError
from app.core.messages import Message, message
from workloads.protocol import events
from workloads.protocol.spec import Endpoint, Place

_RETRY_S, _TICK_S = 0.5, 0.5


class Guest(Member):
    """Connects to the host of a run, and waits until all computers have joined.

    Args:
        address: Address and port of the host.
        rank: This computer's number, counting from 1.
        key: The run's key.
        claim: The facts that all computers must agree on; see `facts`.
        timing: Time limits.
        retries: Whether to wait for a host that isn't listening yet, as when both are started together.

    Raises:
        UsageError: No host can be reached at the address, or the host refuses this computer.
    """

    def __init__(
        self,
        address: tuple[str, int],
        rank: int,
        key: str,
        claim: Mapping[str, str],
        timing: Timing | None = None,
        *,
        retries: bool = False,
    ) -> None:
        self.rank, self._timing = rank, timing or Timing()
        self._host = address[0]
        self._lines: queue.Queue[wire.AnyLine | Exception] = queue.Queue(wire.RANKS)
        self._heard: Callable[[PeerNews], None] | None = None
        self._early: list[PeerNews] = []
        self._lock = threading.Lock()
        self._is_started = self._is_over = False
        self._connection = self._connect(address, retries=retries)
        try:
            self._identify(key)
            self._connection.be_patient(self._timing.silent_s)
            self._connection.send(wire.Claim(facts=dict(claim)))
            self._connection.listen(self._on_line, self._on_loss)
        except (GoneError, SilentError, wire.WireError) as error:
            self._connection.close()
            raise UsageError(message("cluster.no_host", address=address[0], port=address[1])) from error
        except BaseException:
            self._connection.close()
            raise

    def gather(self) -> None:
        """Wait for all other computers. Raises UsageError if the host refuses this one or ends the run."""
        with contextlib.ExitStack() as stack:
            while True:
                line = self._next()
                if isinstance(line, wire.Probe):
                    listener = stack.enter_context(self._listener())
                    reached = can_connect(self._connection.address, line.port, self._timing.answer_s)
                    self._connection.post(wire.Probed(reached=reached, port=listener.getsockname()[1]))
                elif isinstance(line, wire.Start):
                    self._start(line)
                    return

    def follow(self, heard: Callable[[PeerNews], None]) -> None:
        """Pass on everything that other computers have sent and will send. `heard` may be called in any thread."""
        with self._lock:
            self._heard, early = heard, self._early
            for news in early:
                heard(news)

    def share(self, event: events.Event) -> None:
        """Send the digest of the data to the host."""
        if isinstance(event, events.Dataset):
            self._connection.post(wire.Claim(facts={DATA_READ: data_text(event)}))

    def end(self, status: str, error: events.Error | None) -> None:
        """Report the run's end on this computer, unless another one ended it first, and close all connections."""
        with self._lock:
            was_over, self._is_over = self._is_over, True
        if not was_over and status != "completed":
            line = ending(self.rank, status, error)
            said = None if line.said is None else without_details(line.said)
            self._connection.post(msgspec.structs.replace(line, said=said))
        self._connection.close()

    def _connect(self, address: tuple[str, int], *, retries: bool) -> Connection:
        end_s = time.monotonic() + (self._timing.gather_s if retries else 0.0)
        while True:
            try:
                stream = socket.create_connection(address, self._timing.answer_s)
            except (OSError, UnicodeError) as error:  # UnicodeError: a part of the name is too long
                if time.monotonic() > end_s or isinstance(error, UnicodeError):
                    said = message(
                        "cluster.not_reached", address=address[0], port=address[1], reason=_reason(error)
                    )
                    raise UsageError(said) from error
                time.sleep(_RETRY_S)
            else:
                return Connection(stream, silent_s=self._timing.answer_s, beat_s=self._timing.beat_s)

    def _identify(self, key: str) -> None:
        challenge = self._receive()
        if not isinstance(challenge, wire.Challenge):
            raise wire.WireError
        if challenge.protocol != wire.PROTOCOL:
            said = message("cluster.other_protocol", here=challenge.protocol, there=wire.PROTOCOL)
            raise UsageError(said)
        nonce = wire.new_nonce()
        proof = wire.prove(key, "guest", challenge.nonce, nonce, self.rank)
        self._connection.send(wire.Hello(protocol=wire.PROTOCOL, rank=self.rank, nonce=nonce, proof=proof))
        welcome = self._receive()
        if not isinstance(welcome, wire.Welcome):
            raise wire.WireError
        if not wire.is_proof(welcome.proof, key, "host", nonce, challenge.nonce, self.rank):
            raise UsageError(message("cluster.wrong_key"))

    def _receive(self) -> wire.AnyLine:
        line = self._connection.receive()
        if isinstance(line, wire.Refused):
            raise UsageError(line.said)
        return line

    def _next(self) -> wire.AnyLine:
        line = None
        while line is None:  # with a time limit, because Ctrl-C can't interrupt an endless wait on Windows
            with contextlib.suppress(queue.Empty):
                line = self._lines.get(timeout=_TICK_S)
        if isinstance(line, Exception):
            raise UsageError(_said(loss(line, 0, self._host, self._timing.silent_s)))
        if isinstance(line, wire.Refused):
            raise UsageError(line.said)
        if isinstance(line, wire.Ended):
            raise UsageError(_said(peer_end(line).error))
        return line

    def _listener(self) -> socket.socket:
        own = self._connection.own_address
        return socket.create_server((own, 0), family=socket.AF_INET6 if ":" in own else socket.AF_INET)

    def _start(self, line: wire.Start) -> None:
        self.count = len(line.addresses)
        # The host can listen on another address than the one that this computer has connected to.
        host = Endpoint(self._connection.address, line.addresses[0].port)
        interface = interface_of(self._connection.own_address)
        self.place = Place(rank=self.rank, addresses=(host, *line.addresses[1:]), interface=interface)

    def _on_line(self, line: wire.AnyLine) -> None:
        if not self._is_started:
            self._is_started = isinstance(line, wire.Start)
            with contextlib.suppress(queue.Full):
                self._lines.put_nowait(line)
        elif isinstance(line, wire.Shared):
            if (event := shared_event(line.event)) is not None:
                self._deliver(event)
        elif isinstance(line, wire.Ended):
            self._finish(peer_end(line))

    def _on_loss(self, error: Exception) -> None:
        if not self._is_started:
            self._lines.put(error)
        self._finish(PeerEnd(loss(error, 0, self._host, self._timing.silent_s)))

    def _finish(self, end: PeerEnd) -> None:
        with self._lock:
            was_over, self._is_over = self._is_over, True
        if not was_over:
            self._deliver(end)

    def _deliver(self, news: PeerNews) -> None:
        with self._lock:
            if self._heard is None:
                self._early.append(news)
                return
        self._heard(news)


def _said(error: events.Error | None) -> Message:
    return error.said if error is not None and error.said is not None else message("cluster.failed")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
