"""The facts that the computers of a run must agree on, as short strings by name."""

from collections.abc import Mapping

from app.core.messages import Message, message
from workloads.protocol import events

SETTING, PARAMETER, DATA, DATA_READ = "setting.", "parameter.", "data", "data_read"
_TEXT_LIMIT, _FACT_LIMIT = 100, 500


def difference(ours: Mapping[str, str], theirs: Mapping[str, str], rank: int) -> Message | None:
    """Return a sentence about the first fact that differs from a guest's, in the host's order; None if all agree.

    Args:
        ours: The host's facts.
        theirs: The guest's facts.
        rank: The guest's rank.
    """
    for name in [*ours, *(each for each in sorted(theirs) if each not in ours)]:
        here, there = ours.get(name, ""), theirs.get(name, "")
        if here != there:
            what = _name(name)
            return message("cluster.differs", what=what, here=_shown(here), there=_shown(there), rank=rank)
    return None


def data_text(event: events.Dataset) -> str:
    """Return a string that identifies the data that a worker has read."""
    return f"{event.name}, {event.source}, {event.samples}, {event.checksum or '-'}"[:_FACT_LIMIT]


def _name(name: str) -> Message:
    for prefix in (SETTING, PARAMETER):
        if name.startswith(prefix):
            return message(f"cluster.fact_{prefix.strip('.')}", name=_shown(name.removeprefix(prefix)))
    return message(f"cluster.fact_{name}" if name in _NAMED else "cluster.fact_other", name=_shown(name))


_NAMED = frozenset({"version", "workload", "workload_version", "engine", "engine_version", DATA, DATA_READ})


def _shown(text: str) -> str | Message:
    return text[:_TEXT_LIMIT] or message("cluster.none")
