"""Limits how many events of a worker are stored and shown."""

from collections import Counter

from workloads.protocol import events

WARNINGS_OF_A_CODE, WARNINGS = 20, 100
# Limit for other events, which are sent at most a few times per run or replace an earlier event.
_OTHERS = 10_000
# A worker sends up to ten blocks of steps per second, and one at the end of each epoch.
_EPOCHS, _FIRST_BLOCKS, _BLOCKS_A_SECOND, _BLOCKS_OF_AN_EPOCH = 1_000_000, 1_000, 20, 3


class Flood:
    """Counts a run's events by kind. Events above the limit are dropped and counted."""

    def __init__(self) -> None:
        self.left_out = 0
        self._kept: Counter[str] = Counter()

    def lets_in(self, event: events.Event, elapsed_s: float) -> bool:
        """Return whether an event may be stored and shown.

        Args:
            elapsed_s: Time since the start of the run in seconds.
        """
        kept, kind = self._kept, event.type
        match event:
            case events.Log() | events.TelemetryEvent():  # never stored, or this process's own
                return True
            case events.Warn():
                of_code = f"warning {event.code}"
                fits = kept[kind] < WARNINGS and kept[of_code] < WARNINGS_OF_A_CODE
                kept[of_code] += fits
            case events.Epoch():
                fits = kept[kind] < _EPOCHS
            case events.Steps():
                most = _FIRST_BLOCKS + _BLOCKS_A_SECOND * elapsed_s + _BLOCKS_OF_AN_EPOCH * kept["epoch"]
                fits = kept[kind] < most
            case _:
                fits = kept[kind] < _OTHERS
        kept[kind] += fits
        self.left_out += not fits
        return fits
