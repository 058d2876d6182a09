"""Passes decisions of rank 0, such as when to stop, to the run's other processes."""

from typing import Protocol

from workloads.engines.peers import rank

# Rank 0 may need this long for a step that the others have already finished.
_WAITS_S = 600.0
# All processes have read a decision before the one after the next is made, because a step lies between them.
_KEPT = 2


class Store(Protocol):
    """A key-value store shared by the processes of a run, as provided by engines."""

    def put(self, key: str, value: str, /) -> object:
        """Set the value of a new key."""
        ...

    def wait_for(self, key: str, timeout_s: float) -> str:
        """Return the value of a key, once it is set."""
        ...

    def drop(self, key: str, /) -> object:
        """Delete a key."""
        ...


class Decisions:
    """Decisions of rank 0, in the order in which they are made."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._count = 0

    def agreed(self, decision: bool) -> bool:
        """Return the decision of rank 0. All processes must call this method the same number of times."""
        self._count += 1
        if rank():
            return self._store.wait_for(_key(self._count), _WAITS_S) == "1"
        self._store.put(_key(self._count), str(int(decision)))
        if self._count > _KEPT:
            self._store.drop(_key(self._count - _KEPT))
        return decision


def _key(number: int) -> str:
    return f"epochmark/decision/{number}"
