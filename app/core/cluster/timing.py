"""The time limits of a run on several computers."""

from dataclasses import dataclass

from app.core.cluster.connection import BEAT_S, SILENT_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Time limits of a host or guest, in seconds.

    Attributes:
        gather_s: How long to wait for all computers.
        answer_s: How long to wait for an answer before the run, and for a port of another computer.
        silent_s: Silence after which a computer counts as lost.
        beat_s: Time between heartbeats.
    """

    gather_s: float = 600.0
    answer_s: float = 8.0
    silent_s: float = SILENT_S
    beat_s: float = BEAT_S
