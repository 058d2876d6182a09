"""The interface common to host and guests, through which a run exchanges events with the other computers."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
import psutil

from app.core.cluster.connection import GoneError, SilentError
from app.core.cluster.wire import Ended
from app.core.messages import Message, message
from workloads.protocol import events
from workloads.protocol.spec import Place

# Events from the host's worker that make up the common result.
RESULTS = (events.Phase, events.Steps, events.Epoch, events.Metric)


@dataclass(frozen=True, slots=True)
class PeerEnd:
    """The run must end on this computer because it has ended on another. `error` is None if it was completed."""

    error: events.Error | None


PeerNews: TypeAlias = events.Event | PeerEnd


class Member:
    """This computer's part in a run on several computers, once all have joined.

    Attributes:
        rank: This computer's number, counting from 0.
        count: Number of computers.
        place: Details that the engine needs to connect to the other computers.
    """

    rank: int
    count: int
    place: Place

    def follow(self, heard: Callable[[PeerNews], None]) -> None:
        """Pass on everything that other computers have sent and will send. `heard` may be called in any thread."""
        raise NotImplementedError

    def share(self, event: events.Event) -> None:
        """Process an event of this computer's worker."""
        raise NotImplementedError

    def end(self, status: str, error: events.Error | None) -> None:
        """Inform the other computers of the run's end, unless they caused it, and close all connections."""
        raise NotImplementedError


def ending(rank: int, status: str, error: events.Error | None) -> Ended:
    """Return the line for the end of a run on this computer."""
    if status == "completed":
        return Ended(rank=rank)
    if error is None:
        return Ended(rank=rank, said=message("cluster.cancelled"))
    return Ended(rank=rank, code=error.code, said=error.said or message("cluster.failed"))


def peer_end(line: Ended) -> PeerEnd:
    """Return the end of the run, as reported by another computer."""
    if line.said is None:
        return PeerEnd(None)
    if line.said.code.startswith("cluster.lost"):  # names the computer itself
        return PeerEnd(events.Error(code=line.code, said=line.said))
    said = message("cluster.ended", rank=line.rank, address=line.address, reason=line.said)
    return PeerEnd(events.Error(code=line.code, said=said))


def loss(error: Exception, rank: int, address: str, silent_s: float) -> events.Error:
    """Return the error for a connection that has ended."""
    if isinstance(error, SilentError):
        said = message("cluster.lost_silent", rank=rank, address=address, silent_s=silent_s)
        return events.Error(code="hung", said=said)
    code = "cluster.lost_gone" if isinstance(error, GoneError) else "cluster.lost_garbled"
    return events.Error(code="crashed", said=message(code, rank=rank, address=address))


def interface_of(address: str) -> str | None:
    """Return the name of the network interface that has an address; None if there is none."""
    for name, addresses in psutil.net_if_addrs().items():
        if any(each.address.partition("%")[0] == address for each in addresses):
            return str(name)
    return None


def can_connect(address: str, port: int, timeout_s: float) -> bool:
    """Return whether a port at an address accepts connections."""
    try:
        socket.create_connection((address, port), timeout_s).close()
    except OSError:
        return False
    return True


def shared_event(raw: msgspec.Raw) -> events.Event | None:
    """Return an event sent by the host; None if it doesn't belong to a result."""
    try:
        event = events.decode(bytes(raw))
    except events.DamagedEventError:
        return None
    return event if isinstance(event, RESULTS) else None


def without_details(said: Message) -> Message:
    """Return a message as is, or a general one if it is too large for a line."""
    return said if len(msgspec.json.encode(said)) < events.LINE_LIMIT_BYTES // 2 else message("cluster.failed")
