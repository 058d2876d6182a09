"""All processes of a run decide as rank 0 does."""

from pathlib import Path

import pytest

from app.core.redaction.private_texts import own_names
from workloads.engines.computers import Computers, Decisions
from workloads.engines.peers import COMPUTER, RANK
from workloads.protocol.messages import message
from workloads.protocol.spec import RunSpec


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


def test_the_others_are_not_told_this_computers_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(COMPUTER, "0")
    monkeypatch.setenv("HOSTNAME", "node-kraken-07")
    monkeypatch.setenv("USER", "wilhelmine")
    spec = RunSpec(workload="storage", parameters={"folders": str(tmp_path / "secret place")})
    computers = Computers({}, print, own_names(spec))
    store = Memory()
    computers.meet(lambda: store, "1.0")
    reason = message("storage.no_room", folder=str(tmp_path / "secret place"), images=3, need_bytes=1)
    computers.tell("bad_parameters", message("computers.lost", reason=["wilhelmine@node-kraken-07", reason]))
    told = store.values["epochmark/ended"]
    assert not [word for word in ("wilhelmine", "kraken", "secret place") if word in told]
    assert "<folder 1>" in told
