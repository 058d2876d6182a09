"""Hosts and guests on this computer's loopback interface."""

import queue
import socket
import threading
from collections.abc import Mapping
from typing import Any

from app.core.cluster import wire
from app.core.cluster.guest import Guest
from app.core.cluster.host import Host
from app.core.cluster.member import Member, PeerEnd, PeerNews
from app.core.cluster.timing import Timing
from app.core.errors import AppError
from app.core.messages import Message
from workloads.protocol import events

LOCAL = "127.0.0.1"
CLAIM = {"version": "1", "engine": "torch", "setting.batch_size": "32"}
QUICK = Timing(gather_s=30.0, answer_s=5.0, silent_s=5.0, beat_s=0.1)
PATIENCE_S = 30.0


class Meeting:
    """A host that waits in a thread, and whatever it says."""

    def __init__(
        self,
        count: int = 2,
        claim: Mapping[str, str] = CLAIM,
        timing: Timing = QUICK,
        local: str = LOCAL,
        **how: Any,
    ) -> None:
        self.key = wire.new_key()
        self.news: queue.Queue[Message] = queue.Queue()
        self.error: AppError | None = None
        self.host = Host((local, 0), count, self.key, claim, timing)
        self._thread = threading.Thread(target=self._gather, kwargs=how)
        self._thread.start()

    @property
    def address(self) -> tuple[str, int]:
        return self.host.address, self.host.port

    def join(
        self, rank: int = 1, claim: Mapping[str, str] = CLAIM, key: str = "", timing: Timing = QUICK
    ) -> Guest:
        guest = Guest(self.address, rank, key or self.key, claim, timing)
        try:
            guest.gather()
        except BaseException:
            guest.end("failed", None)
            raise
        return guest

    def finish(self) -> None:
        """Wait until the host has gathered all or given up."""
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def close(self) -> None:
        self.host.end("completed", None)
        self._thread.join(PATIENCE_S)

    def _gather(self, **how: Any) -> None:
        try:
            self.host.gather(self.news.put, **how)
        except AppError as error:
            self.error = error


class Listener:
    """What a member hears from the others."""

    def __init__(self, member: Member) -> None:
        self.news: queue.Queue[PeerNews] = queue.Queue()
        member.follow(self.news.put)

    def end(self) -> events.Error | None:
        """Wait for the end, and return its error."""
        while not isinstance(heard := self.news.get(timeout=PATIENCE_S), PeerEnd):
            pass
        return heard.error

    def said(self) -> Message:
        error = self.end()
        assert error is not None
        assert error.said is not None
        return error.said


def connected(address: tuple[str, int]) -> socket.socket:
    return socket.create_connection(address, PATIENCE_S)
