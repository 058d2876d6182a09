"""A connection between two computers of a run. Nothing that the other computer does can block the caller."""

import contextlib
import queue
import socket
import threading
from collections.abc import Callable, Sequence

from app.core.cluster import wire
from workloads.protocol import events

BEAT_S, SILENT_S = events.BEAT_S, events.HUNG_S
_PIECE_BYTES = 1 << 16
# Ten events a second, so this is reached only if the other computer reads nothing.
_UNSENT_LINES = 5_000
_CLOSES_WITHIN_S = 2.0


class SilentError(Exception):
    """The other computer hasn't sent anything for too long."""


class GoneError(Exception):
    """The connection has ended."""


class Connection:
    """Exchanges lines with another computer.

    Until `listen` is called, one thread sends and receives lines one at a time. Afterwards, two threads do this.

    Attributes:
        address: The other computer's address; "" if the connection has already ended.
        own_address: This computer's address on the network between the two.

    Args:
        stream: A connected socket, owned by this object.
        silent_s: Silence, in seconds, after which the other computer counts as lost.
        beat_s: Time between heartbeats, in seconds.
    """

    def __init__(self, stream: socket.socket, *, silent_s: float = SILENT_S, beat_s: float = BEAT_S) -> None:
        self._socket, self._beat_s = stream, beat_s
        self._received = b""
        self._unsent: queue.Queue[bytes | None] = queue.Queue(_UNSENT_LINES)
        self._threads: list[threading.Thread] = []
        self.address = self.own_address = ""
        stream.settimeout(silent_s)
        with contextlib.suppress(OSError):
            self.address, self.own_address = str(stream.getpeername()[0]), str(stream.getsockname()[0])
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, line: wire.Line) -> None:
        """Send a line immediately. Raises GoneError or SilentError."""
        self._send(wire.encode(line))

    def receive(self) -> wire.AnyLine:
        """Wait for a line. Raises GoneError, SilentError or wire.WireError."""
        while b"\n" not in self._received:
            if len(self._received) > wire.LINE_LIMIT_BYTES:
                raise wire.WireError
            try:
                piece = self._socket.recv(_PIECE_BYTES)
            except TimeoutError as error:
                raise SilentError from error
            except OSError as error:
                raise GoneError from error
            if not piece:
                raise GoneError
            self._received += piece
        line, _, self._received = self._received.partition(b"\n")
        return wire.decode(line)

    def listen(self, heard: Callable[[wire.AnyLine], None], lost: Callable[[Exception], None]) -> None:
        """Start receiving lines and sending heartbeats in the background.

        Args:
            heard: Called with each line, in another thread.
            lost: Called once, in another thread, with the GoneError, SilentError or wire.WireError that ends the
                connection.
        """
        for work in (lambda: self._receive_all(heard, lost), self._send_all):
            thread = threading.Thread(target=work, daemon=True, name="cluster")
            self._threads.append(thread)
            thread.start()

    def be_patient(self, silent_s: float) -> None:
        """Set the silence, in seconds, after which the other computer counts as lost."""
        self._socket.settimeout(silent_s)

    def post(self, line: wire.Line) -> None:
        """Queue a line for sending. Ends the connection if the other computer stopped reading long ago."""
        try:
            self._unsent.put_nowait(wire.encode(line))
        except queue.Full:
            self.abort()

    def abort(self) -> None:
        """End the connection immediately."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Send the queued lines if the other computer is still reading, and close the connection."""
        with contextlib.suppress(queue.Full):
            self._unsent.put_nowait(None)
        if not self._threads:
            self._send_all()
        self._join(self._threads[1:])
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        # If unread lines remained, the system would discard what the other computer hasn't read yet.
        self._join(self._threads[:1])
        self.abort()
        self._socket.close()

    def _join(self, threads: Sequence[threading.Thread]) -> None:
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(_CLOSES_WITHIN_S)

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except TimeoutError as error:
            raise SilentError from error
        except OSError as error:
            raise GoneError from error

    def _send_all(self) -> None:
        # The receiving thread reports why a connection has ended, after it has read the last lines.
        with contextlib.suppress(SilentError, GoneError):
            while True:
                try:
                    data = self._unsent.get(timeout=self._beat_s)
                except queue.Empty:
                    data = wire.encode(wire.Alive())
                if data is None:
                    return
                self._send(data)

    def _receive_all(self, heard: Callable[[wire.AnyLine], None], lost: Callable[[Exception], None]) -> None:
        try:
            while True:
                line = self.receive()
                if not isinstance(line, wire.Alive):
                    heard(line)
        except (GoneError, SilentError, wire.WireError) as error:
            self.abort()
            self._socket.close()
            lost(error)
