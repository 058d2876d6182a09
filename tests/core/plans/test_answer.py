"""What a stored plan says in the list of results: a suite its score, a study what it found."""

import pytest

from app.core.paths import Paths
from app.core.plans.registry import kind_of
from app.core.plans.suite.stored import load_suite
from app.core.plans.suite.texts import suite_headline, suite_lines
from app.core.records import Plan
from app.core.storage.database import Database
from app.core.storage.groups import begin_group, load_group
from tests.saying import said
from tests.study_pictures import SUITE_FACTORS, store_suite
from workloads import CATALOGUE
from workloads.protocol.machine import Machine


@pytest.mark.parametrize("runs", [16, 4])
def test_a_suite_says_its_score_or_how_far_it_is(
    database: Database, paths: Paths, machine: Machine, runs: int
) -> None:
    group_id = store_suite(database, paths, machine, SUITE_FACTORS[0], runs=runs)
    group, result = load_group(database, group_id), load_suite(database, group_id)
    answer = kind_of(group).answer(database, group)
    whole = said("suite.points") if runs == 16 else said("suite.parts_done", count="4", planned="8")
    assert whole.is_all_of(answer.headline)
    assert (answer.headline == suite_headline(result)) == (runs == 16)
    assert (answer.sentence, answer.verdict) == (suite_lines(result)[0], result.verdict)


def test_a_suite_or_study_of_another_version_says_what_its_runs_do(database: Database) -> None:
    spec = CATALOGUE["demo"].default_spec("quick")
    for kind in ("suite", "study", "tournament"):
        group = load_group(database, begin_group(database, Plan(kind=kind, specs=(spec,))))
        assert kind_of(group).answer(database, group).headline == kind_of(group).headline(group)
