"""What the computers of a run tell each other through their engine's own key-value store.

The store passes on three things: facts that must be the same on all computers, decisions of rank 0, such as when
to stop, and why a computer has ended the run. The engines' libraries exchange everything else, and detect lost
computers themselves.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import msgspec

from workloads.engines.peers import COMPUTER, local_rank, rank
from workloads.protocol import events, typed
from workloads.protocol.errors import WorkloadError, bad_parameters
from workloads.protocol.messages import Message, message, with_texts
from workloads.protocol.reporter import Cancelled
from workloads.protocol.spec import ComputerPlace, RunSpec

# After this long without an answer from its library, an engine counts another computer as lost.
LOST_S = 20.0
# The others may still import their engine or read their data, or take this long for a step.
_WAITS_S = 600.0
_UNTIL_THE_END_S = 7 * 86_400.0
# When a computer ends, the engines of the others fail at once, sometimes before its reason arrives.
_REASON_WITHIN_S = 5.0
_OTHER_ENDS_WITHIN_S = 2.0
# All processes have read a decision before the one after the next is made, because a step lies between them.
_DECISIONS_KEPT = 2
_FACTS, _ENDED = "epochmark/facts", "epochmark/ended"
_TEXT_LIMIT = 200
# Settings that may differ between the computers.
_OWN_SETTINGS = frozenset({"power_limit_w", "cpus", "gpus"})
_CONNECTION = re.compile(
    r"gloo|nccl|connect|peer|socket|timed? ?out|deadline|unavailable|aborted|cancelled|heartbeat", re.IGNORECASE
)


class Store(Protocol):
    """A key-value store shared by the processes of a run, as provided by engines."""

    def put(self, key: str, value: str, /) -> object: ...

    def wait_for(self, key: str, timeout_s: float) -> str:
        """Return the value of a key, once it is set. Raises an engine's exception after the timeout."""
        ...

    def drop(self, key: str, /) -> object: ...


class Decisions:
    """Decisions of rank 0, in the order in which they are made."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._count = 0

    def agreed(self, decision: bool) -> bool:
        """Return the decision of rank 0. All processes must call this method the same number of times."""
        self._count += 1
        if rank():
            return self._store.wait_for(_decision_key(self._count), _WAITS_S) == "1"
        self._store.put(_decision_key(self._count), str(int(decision)))
        if self._count > _DECISIONS_KEPT:
            self._store.drop(_decision_key(self._count - _DECISIONS_KEPT))
        return decision


def _decision_key(number: int) -> str:
    return f"epochmark/decision/{number}"


class _Ended(msgspec.Struct, frozen=True):
    """A computer has ended the run before its result."""

    rank: int
    code: events.ErrorCode
    said: Message


class Computers:
    """The other computers of a run, seen from the first process on this one.

    Args:
        facts: What must be the same on all computers.
        give_up: Called in a thread when another computer ends the run. It ends this process.
        private: Regular expressions for what isn't told to the others, with replacements.
    """

    def __init__(
        self, facts: Mapping[str, Any], give_up: Callable[[WorkloadError], object], private: Mapping[str, str]
    ) -> None:
        self._facts, self._give_up, self._private = facts, give_up, private
        self._rank = int(os.environ[COMPUTER])
        self._store: Store | None = None
        self._is_over = threading.Event()

    def meet(self, store: Callable[[], Store], engine_version: str) -> None:
        """Compare the facts, and watch for the run's end on other computers from now on. See `compare`.

        Only the first call counts. An engine whose processes couldn't connect if a fact differs calls it itself.
        """
        if self._store is not None:
            return
        self._store = store()
        # One of its own, because PyTorch's is blocked for all threads while one of them waits.
        threading.Thread(target=self._watch, args=(store(),), daemon=True, name="computers").start()
        self.compare("start", {"engine_version": engine_version, **self._facts})

    def compare(self, name: str, facts: Mapping[str, Any]) -> None:
        """Compare facts with rank 0's under a name that is used once. Raises WorkloadError if one differs."""
        if self._store is None:
            return
        own = {name: "-" if value is None else str(value)[:_TEXT_LIMIT] for name, value in facts.items()}
        key = f"{_FACTS}/{name}"
        if self._rank == 0:
            self._store.put(key, msgspec.json.encode(own).decode())
            return
        theirs = typed.decode(self._store.wait_for(key, _WAITS_S).encode(), dict[str, str])
        for fact, here in own.items():
            if here != theirs.get(fact):
                arguments = {"fact": fact, "here": here, "there": theirs.get(fact, "-"), "rank": self._rank}
                raise bad_parameters("computers.differs", **arguments)

    @contextmanager
    def reports(self, is_out_of_memory: Callable[[BaseException], bool]) -> Iterator[None]:
        """Tell the other computers why the block fails, unless one of them is the cause, which is then raised."""
        try:
            yield
        except Cancelled:
            self.tell("crashed", message("computers.cancelled"))
            raise
        except WorkloadError as error:
            self.tell(error.code, error.message)
            raise
        except Exception as error:
            if self._is_over.is_set():  # cancelled here, so the others have ended
                raise Cancelled from error
            if is_out_of_memory(error):
                self.tell("out_of_memory", message("worker.out_of_memory"))
                raise
            # The watching thread ends this process if it knows the reason.
            time.sleep(_REASON_WITHIN_S)
            if not _CONNECTION.search(f"{type(error).__name__} {error}"):
                self.tell("internal", message("computers.failed"))
                raise
            lost = _lost(error)
            self.tell(lost.code, lost.message)
            raise lost from error
        finally:
            self._is_over.set()

    def tell(self, code: events.ErrorCode, said: Message) -> None:
        """End the run on the other computers for this reason, unless another one was faster."""
        self._is_over.set()
        if self._store is not None:
            with suppress(Exception):
                ended = _Ended(self._rank, code, with_texts(said, self._public))
                self._store.put(_ENDED, msgspec.json.encode(ended).decode())

    def _public(self, value: str) -> str:
        for expression, stand_in in self._private.items():
            value = re.sub(expression, stand_in, value)
        return value

    def _watch(self, store: Store) -> None:
        try:
            ended = typed.decode(store.wait_for(_ENDED, _UNTIL_THE_END_S).encode(), _Ended)
        except Exception as error:  # noqa: BLE001 - engines raise their own kinds
            # Rank 0, which keeps the store, may just be done.
            if not self._is_over.wait(2 * _REASON_WITHIN_S):
                self._give_up(_lost(error))
            return
        # Rank 0 keeps the store. If it ended first, JAX would abort the other process before it tells its reason.
        if not self._is_over.wait(_OTHER_ENDS_WITHIN_S if self._rank == 0 else 0):
            said = message("computers.ended", rank=ended.rank, reason=ended.said)
            self._give_up(WorkloadError(ended.code, said))


def _lost(error: Exception) -> WorkloadError:
    lines = [line.strip() for line in str(error).splitlines() if _CONNECTION.search(line)]
    reason = lines[-1][:_TEXT_LIMIT] if lines else type(error).__name__
    return WorkloadError("crashed", message("computers.lost", reason=reason))


_current: Computers | None = None


@contextmanager
def computers(
    place: ComputerPlace | None,
    facts: Mapping[str, Any],
    give_up: Callable[[WorkloadError], object],
    is_out_of_memory: Callable[[BaseException], bool],
    private: Mapping[str, str],
) -> Iterator[None]:
    """Let `meet` and `compare` in the block reach the other computers of a run; without a place, do nothing."""
    global _current  # noqa: PLW0603 - a worker runs one job
    if place is None or local_rank():
        yield
        return
    _current = Computers(facts, give_up, private)
    with _current.reports(is_out_of_memory):
        yield


def facts_of(spec: RunSpec, workload_version: int) -> dict[str, Any]:
    """Return what must be the same in the specs of all computers."""
    names = ("workload", "preset", "duration_s", "epochs", "steps", "batch_size", "precision", "jit", "seed")
    facts = {"workload_version": workload_version} | {name: getattr(spec, name) for name in names}
    facts |= {name: value for name, value in sorted(spec.settings.items()) if name not in _OWN_SETTINGS}
    return facts | dict(sorted(spec.parameters.items()))


def meet(store: Callable[[], Store], engine_version: str) -> None:
    if _current is not None:
        _current.meet(store, engine_version)


def cancel() -> None:
    """Tell the run's other computers that it was cancelled here, because an engine may be waiting for them."""
    if _current is not None:
        _current.tell("crashed", message("computers.cancelled"))


def compare(name: str, facts: Mapping[str, Any]) -> None:
    if _current is not None:
        _current.compare(name, facts)
