"""Connects a run on this computer with the other computers if the run uses several."""

import queue
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.core.cluster.member import RESULTS, Member, PeerEnd, PeerNews
from app.core.runs.event_messages import told
from workloads.protocol import events
from workloads.protocol.spec import Place

# Phases reported by a guest's own worker. All other phases are the host's.
_OWN_PHASES = frozenset({"import", "data", "build"})
# If a computer is lost, the engines of the others fail immediately, but can't identify it.
_CAUSE_WITHIN_S = 5.0
_ABORTED = (-6, 134)


@dataclass(frozen=True, slots=True)
class FromPeer:
    """A message from another computer, in the same queue as the worker's messages."""

    news: PeerNews


class Peers:
    """The other computers of a run. If `member` is None, there are none, and the run isn't affected."""

    def __init__(self, member: Member | None) -> None:
        self._member = member
        self._is_told = self._has_finished = False

    @property
    def leads(self) -> bool:
        """Whether this computer's worker takes the measurements and decides when the run ends."""
        return self._member is None or self._member.rank == 0

    @property
    def place(self) -> Place | None:
        """The computer's place in the run, for the worker's job; None for a run on a single computer."""
        return None if self._member is None else self._member.place

    def follow(self, put: Callable[[Any], None]) -> None:
        """Pass messages from other computers to a run's queue."""
        if self._member is not None:
            self._member.follow(lambda news: put(FromPeer(news)))

    def is_ours(self, event: events.Event) -> bool:
        """Return whether an event from this computer's worker counts rather than one from the host's worker."""
        if self.leads:
            return True
        if isinstance(event, events.End):
            self._has_finished = event.status == "completed"
            return not self._has_finished
        return not isinstance(event, RESULTS) or (isinstance(event, events.Phase) and event.name in _OWN_PHASES)

    def share(self, event: events.Event) -> None:
        """Pass an event from this computer's worker to other computers."""
        is_own = isinstance(event, events.Phase) and event.name in _OWN_PHASES
        if self._member is not None and not is_own:
            self._member.share(event)

    def decides(self, end: events.End | None, error: events.Error | None) -> bool:
        """Return whether the run must wait for another computer after this computer's worker has finished."""
        return self._has_finished and end is None and error is None

    def cause(
        self, error: events.Error | None, exit_code: int | None, messages: "queue.Queue[Any]"
    ) -> events.Error | None:
        """Return another computer's error if it explains this one's; otherwise, return this computer's error."""
        is_unclear = error is not None and (error.code == "internal" or exit_code in _ABORTED)
        if self._member is None or not is_unclear:
            return error
        end_s = time.monotonic() + _CAUSE_WITHIN_S
        while (left_s := end_s - time.monotonic()) > 0:
            try:
                received = messages.get(timeout=left_s)
            except queue.Empty:
                break
            if isinstance(received, FromPeer) and isinstance(received.news, PeerEnd) and received.news.error:
                return told(received.news.error)
        return error

    def end(self, status: str, error: events.Error | None) -> None:
        """Inform the other computers of how the run ended on this one. Further calls do nothing."""
        if self._member is not None and not self._is_told:
            self._is_told = True
            self._member.end(status, error)
