"""All processes of a run decide as rank 0 does."""

import pytest

from workloads.engines.computers import Decisions
from workloads.engines.peers import RANK


class Memory:
    """A store in this process, whose values are there before anybody waits for them."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def put(self, key: str, value: str) -> None:
        assert key not in self.values
        self.values[key] = value

    def wait_for(self, key: str, timeout_s: float) -> str:
        assert timeout_s > 0
        return self.values[key]

    def drop(self, key: str) -> None:
        del self.values[key]


def test_others_get_the_decisions_of_rank_0_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Memory()
    first, other = Decisions(store), Decisions(store)
    for number, decision in enumerate([False, False, True, False, True] * 20):
        monkeypatch.setenv(RANK, "0")
        assert first.agreed(decision) == decision
        if number % 5 == 3:
            continue  # two decisions without a step between them
        monkeypatch.setenv(RANK, "1")
        for _ in range(2 if number % 5 == 4 and number else 1):
            last = other.agreed(not decision)
        assert last == decision
    assert len(store.values) < 5
