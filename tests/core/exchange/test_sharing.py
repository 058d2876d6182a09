"""What the user leaves out is in nothing that leaves: neither picture, text, row nor result file."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace
from typing import Any

import msgspec
import pytest

from app.core.exchange.preview import without
from app.core.exchange.sharing import TEXT_FORMS, picture_card, run_without, shared_result
from app.core.messages import sentence
from app.core.plans.experiments import report_of
from app.core.records import Group, Plan, PlanPlace, Run, Side
from app.core.report.card import ShareCard
from app.core.report.forum_texts import in_form
from app.core.report.result_records import result_of
from app.core.result_file.canonical import decode
from app.core.result_file.short_form import read_short_forms
from app.core.storage.database import Database
from app.core.storage.groups import begin_group, load_group
from app.core.storage.queries import set_comment
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun
from tests.build import ORDERS, set_fields
from tests.recording import as_preset, asked, recorded_events, store_recording
from tests.sure import sure
from workloads.protocol.machine import Gpu

# What each field says in the recorded run.
SAYS = {"cpu": "EPYC", "cores": "visible_cpus", "memory": "24 GB", "system": "Debian", "comment": "under the desk"}


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A database with the recorded run, to be copied: storing its thousands of events takes longest."""
    with Database(tmp_path_factory.mktemp("one") / "runs") as stored:
        run_id = store_recording(stored, as_preset(recorded_events(), "quick"))
        set_comment(stored, run_id, "under the desk")
        yield stored


@pytest.fixture
def run(database: Database, one_run: Database) -> Run:
    one_run.connection.backup(database.connection)
    return load_run(database, 1)


def everything(database: Database, run: Run, hidden: tuple[str, ...]) -> str:
    parts = shared_result(database, JudgedRun(run), hidden=hidden)
    texts = (parts.text_as(form) for form in TEXT_FORMS)
    return "\n".join((str(astuple(parts.card)), parts.enclosed.decode(), *texts))


@pytest.mark.slow
def test_what_is_left_out_is_nowhere(database: Database, run: Run) -> None:
    whole = everything(database, run, ())
    for name, words in SAYS.items():
        assert words in whole, name
        assert words not in everything(database, run, (name,)), name
    assert run.summary.started_at[:10] not in everything(database, run, ("date",))


def test_who_leaves_out_the_card_leaves_out_its_power_limit(database: Database, run: Run) -> None:
    card = Gpu("NVIDIA GeForce RTX 3090", "nvidia", power_limit_w=231.25, power_default_w=377.5)
    columns: dict[str, Any] = {"power_limit_w": 231.25, "power_default_w": 377.5, "device_name": card.name}
    capped = replace(
        run, summary=replace(run.summary, device="gpu:0", **columns), machine=replace(run.machine, gpus=(card,))
    )
    limit = sentence("power.at_limit_of", limit_w=231.25, default_w=377.5)
    whole, bare = (everything(database, capped, hidden) for hidden in ((), ("gpu",)))
    for words in (limit, "231.25", "377.5", card.name):
        assert words in whole
        assert words not in bare


def test_who_leaves_out_the_cpu_leaves_out_its_power_limit(database: Database, run: Run) -> None:
    columns: dict[str, Any] = {"power_limit_w": 44.75, "power_default_w": 66.5}
    capped = replace(run, summary=replace(run.summary, device="cpu", **columns))
    assert without(result_of(capped), ("cpu",)).statistics.power_limit_w is None
    assert without(result_of(capped), ("gpu",)).statistics.power_limit_w == 44.75
    limit = sentence("power.at_limit_of", limit_w=44.75, default_w=66.5)
    whole, bare, other = (everything(database, capped, hidden) for hidden in ((), ("cpu",), ("gpu",)))
    for words in (limit, "44.75", "66.5"):
        assert words in whole
        assert words not in bare
        assert words in other


def test_without_anything_removable_it_still_says_how_fast(database: Database, run: Run) -> None:
    parts = shared_result(database, JudgedRun(run))
    names = tuple(field.name for field in parts.fields if field.removable)
    bare = shared_result(database, JudgedRun(run), hidden=names)
    assert {"cpu", "cores", "memory", "system", "date", "comment", "steps", "telemetry"} <= set(names)
    assert (bare.card.headline, bare.card.machine) == ("≈ 51.8", "CPU")
    assert "s per epoch" in bare.text
    (result,) = decode(bare.enclosed)
    assert result.machine.cpu_name is None
    assert bare.card.short_form.split(":")[14:16] == ["", ""]


@pytest.mark.parametrize("names", [("cpu",), ("gpu", "memory"), ("system", "comment"), ("cores",), ("date",)])
def test_picture_and_file_leave_out_the_same(run: Run, names: tuple[str, ...]) -> None:
    assert result_of(run_without(JudgedRun(run), names).run).machine == without(result_of(run), names).machine


def test_the_code_has_the_uid_of_its_file(database: Database, run: Run) -> None:
    for hidden in ((), ("cpu",), ("date", "telemetry")):
        parts = shared_result(database, JudgedRun(run), hidden=hidden)
        (result,) = decode(parts.enclosed)
        assert f":{sure(result.uid).upper()}:" in parts.card.short_form


TEXT = "≈ 51.8 s * per_epoch\nMachine: <b>[i]AMD</b> `x` #1 @all\n- a list\n1. one\n"


def test_forums_show_the_words_and_no_markup_of_a_name() -> None:
    assert in_form(TEXT, "plain") == TEXT
    markdown = in_form(TEXT, "markdown").splitlines()
    assert markdown[0] == r"**≈ 51.8 s \* per\_epoch**"
    assert markdown[2] == r"- Machine: \<b\>\[i\]AMD\</b\> \`x\` \#1 \@all"
    assert markdown[3:5] == [r"- \- a list", r"- \1. one"]
    assert in_form(TEXT, "reddit").splitlines()[2].startswith("* Machine")
    assert in_form(TEXT, "discord").splitlines()[1].startswith("> Machine")
    code = in_form(TEXT, "bbcode").splitlines()
    assert code[0] == "[b]≈ 51.8 s * per_epoch[/b]"
    assert code[2] == "[*]Machine: <b>(i)AMD</b> `x` #1 @all"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["repeat", "ab"])
def test_what_is_left_out_is_left_out_of_every_run_of_a_group(database: Database, kind: str) -> None:
    recorded = as_preset(recorded_events(), "quick")
    spec, _ = asked(recorded)
    specs = (spec,) if kind == "repeat" else (spec, msgspec.structs.replace(spec, threads=1))
    plan = Plan(kind=kind, specs=specs, rounds=2 if kind == "repeat" else 1, order=ORDERS.get(kind, "in_turn"))
    group_id = begin_group(database, plan)
    sides: tuple[Side | None, ...] = ("A", "B") if kind == "ab" else (None, None)
    places = [PlanPlace(group_id, number, side) for number, side in enumerate(sides, 1)]
    ids = [store_recording(database, recorded, place=place) for place in places]
    set_comment(database, ids[1], "Marvin's secret lab")
    group = load_group(database, group_id)
    parts = shared_result(database, JudgedRun(load_run(database, ids[0])), group)
    assert "comment" in {field.name for field in parts.fields if field.removable}
    bare = shared_result(database, JudgedRun(load_run(database, ids[0])), group, ("comment", "date", "cpu"))
    everything_left = "\n".join((str(astuple(bare.card)), bare.enclosed.decode(), bare.text, bare.row))
    for words in ("Marvin", "EPYC", group.created_at[:10]):
        assert words not in everything_left, words
    wholes = decode(parts.enclosed)
    for code in read_short_forms(parts.card.short_form):
        assert code.machine.cpu_name == "AMD EPYC"
        assert code.uid in {whole.uid for whole in wholes}, "of the typical run, which is in the file"
    assert {code.machine.cpu_name for code in read_short_forms(bare.card.short_form)} == {None}
    assert len(decode(bare.enclosed)) == len(bare.row.splitlines()) - 1 == 2


def stored_group(database: Database, kind: str, changes: Sequence[dict[str, Any]], times: int = 3) -> Group:
    """Store the rounds of an A/B or of several engines, each round a little slower than the one before."""
    recorded = as_preset(recorded_events(), "quick")
    spec, _ = asked(recorded)
    specs = tuple(msgspec.structs.replace(spec, **change) for change in changes)
    group_id = begin_group(database, Plan(kind=kind, specs=specs, rounds=times, order=ORDERS.get(kind, "in_turn")))
    for planned in load_group(database, group_id).plan.runs():
        run_id = store_recording(database, recorded, place=PlanPlace(group_id, planned.number, planned.side))
        factor = 1 + 0.01 * (planned.number - 1)
        slower = dict.fromkeys(("value", "value_low", "value_high"), lambda value, by=factor: value * by)
        software = {name: getattr(planned.spec, name) for name in ("engine", "jit", "threads")}
        set_fields(database, f"id = {run_id}", **software, **slower)
    return load_group(database, group_id)


def card_of_group(database: Database, group: Group) -> ShareCard:
    return picture_card(database, JudgedRun(load_run(database, sure(report_of(group).example).id)), group)


@pytest.mark.slow
def test_an_ab_has_the_typical_runs_of_both_sides_in_its_code(database: Database) -> None:
    group = stored_group(database, "ab", ({}, {"jit": True}))
    card = card_of_group(database, group)
    a, b = read_short_forms(card.short_form)
    assert (a.spec.jit, b.spec.jit) == (False, True)
    values = {side: sorted(run.value or 0 for run in group.runs if run.side == side) for side in "AB"}
    for code, side in ((a, "A"), (b, "B")):
        assert code.statistics.value == pytest.approx(values[side][1], rel=1e-3), "the median of three"
    again = shared_result(database, JudgedRun(load_run(database, group.runs[0].id)), group)
    assert again.card.short_form == card.short_form
    wholes = decode(again.enclosed)
    assert {a.uid, b.uid} <= {whole.uid for whole in wholes}


def test_several_engines_have_one_run_of_each_in_their_code_the_fastest_first(database: Database) -> None:
    group = stored_group(database, "engines", ({}, {"engine": "torch"}, {"engine": "jax"}), times=1)
    card = card_of_group(database, group)
    codes = read_short_forms(card.short_form)
    fastest = min(group.runs, key=lambda run: run.value or 0)
    assert codes[0].environment.engine == fastest.engine
    assert {code.environment.engine for code in codes} == {"tensorflow", "torch", "jax"}
