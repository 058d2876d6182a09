"""Describes a suite: score, sentences, table and charts. Pure functions."""

from collections.abc import Sequence
from dataclasses import replace

from app.core.analysis.comparability import engine_name
from app.core.analysis.published import short_name
from app.core.messages import sentence, text
from app.core.metrics import amount_text
from app.core.plain_text import joined
from app.core.plans.suite.definition import POINTS, Definition
from app.core.plans.suite.known import KnownScore
from app.core.plans.suite.score import PartScore, SuiteResult
from app.core.plans.suite.uncertainty import Score
from app.core.report.card import Figure, Series, Spot, Table
from app.core.report.share_texts import device_title
from app.core.titles import level_title
from workloads.engines.registry import engine_title
from workloads.protocol.spec import RunSpec

# Scores from this value upwards are shown without decimals.
_WHOLE = 100.0


def points_text(points: float | None) -> str:
    """Format points without their unit, such as "1,023"; "n/a" for None."""
    if points is None:
        return "n/a"
    return f"{points:,.0f}" if points >= _WHOLE or not points else f"{points:.1f}"


def interval_text(score: Score | None) -> str:
    """Return the interval of a score, such as "995 to 1,052"; "" if there is none."""
    if score is None or score.low is None or score.high is None:
        return ""
    return sentence("studies.interval", low=points_text(score.low), high=points_text(score.high))


def certainty_text(score: Score | None) -> str:
    """Return the margin of error of a score, or a note if it has no interval; "" without a score or for 0 points.

    The margin is the distance to the farther end of the interval, as a percentage of the duration, as for runs.
    """
    if score is None or score.points <= 0:
        return ""
    if score.half_pct is None:
        return sentence("suite.no_interval")
    return sentence("share.within", half_pct=score.half_pct)


def precisions_text(definition: Definition) -> str:
    """Return the precisions of a suite's tests, such as "float32"."""
    return " + ".join(dict.fromkeys(part.precision for part in definition.parts))


def suite_conditions(result: SuiteResult) -> str:
    """Return the device, engine and precision, without which a score is meaningless; "" before the first run."""
    run = result.example
    if run is None:
        return ""
    engine = engine_name(run.engine, run.engine_version)
    return joined((device_title(run), engine, precisions_text(result.definition)))


def suite_lines(result: SuiteResult) -> list[str]:
    """Return the sentences about a suite, most important first. The table of tests shows the details."""
    return [_headline(result), *_means(result), *_zeros(result), *_rounds(result), _reference(result)]


def suite_notes(result: SuiteResult) -> list[str]:
    """Return the sentences except for the score and the verdict, for views that show these separately."""
    if result.total is None:
        return [_headline(result)]
    return [*_means(result), *_zeros(result), *_rounds(result)]


def suite_headline(result: SuiteResult) -> str:
    """Return the score of a suite in a few characters; "n/a" if there is none."""
    total = result.total
    return "n/a" if total is None else sentence("suite.points", points=points_text(total.points))


def verdict_word(result: SuiteResult) -> str:
    """Return the verdict of a suite or, without a score, its progress."""
    if result.total is None:
        done = sum(each.score is not None for each in result.parts)
        return sentence("suite.parts_done", count=done, planned=len(result.parts))
    return level_title(result.verdict or "caution")


def verdict_texts(result: SuiteResult) -> tuple[str, ...]:
    """Return a suite's verdict with its first reason, then in shorter versions; () before the first run.

    Without a score, the only version is the number of completed tests.
    """
    level = result.verdict
    if level is None:
        return ()
    if result.total is None:
        return (verdict_word(result),)
    word = level_title(level)
    if level == "valid":
        return (word,)
    parts = [each for each in result.parts if each.verdict == level]
    if not parts and result.is_wide:
        return (sentence("suite.with_reason", word=word, reason=sentence("suite.rough")), word)
    count = sentence("suite.badge", verdict=word, count=len(parts), planned=len(result.parts))
    reasons = list(dict.fromkeys(each.reason for each in parts if each.reason))
    longer = (sentence("suite.badge_because", badge=count, reason=reasons[0]),) if reasons else ()
    return (*longer, count, word)


def suite_table(result: SuiteResult) -> Table:
    headings = [sentence(f"suite.column_{name}") for name in ("part", "points", "interval", "result", "verdict")]
    reasons = tuple(each.reason for each in result.parts)
    return Table(tuple(headings), tuple(map(_row, result.parts)), reasons=reasons)


def state_text(part: PartScore) -> str:
    """Return a test's verdict or state, with the reason if there is one."""
    word = level_title(part.verdict) if part.verdict else sentence(f"suite.state_{part.state}")
    return sentence("suite.with_reason", word=word, reason=part.reason) if part.reason else word


def suite_figure(result: SuiteResult, current_spec: RunSpec | None = None) -> Figure:
    """Return a chart of all tests' points, with a line for the reference computer.

    The names of tests that have no score, or one with a caution, tell so.
    """

    def name(part: PartScore) -> str:
        if part.verdict == "valid":
            return part.part.title
        is_running = part.score is None and current_spec is not None and part.part.is_of(current_spec)
        word = level_title(part.verdict) if part.verdict else sentence(f"suite.state_{part.state}")
        state = sentence("suite.state_running") if is_running else word
        return sentence("suite.name_with_verdict", name=part.part.title, verdict=state)

    spots = [None if (score := each.score) is None else _spot(score, is_marked=True) for each in result.parts]
    return Figure(
        name=sentence("suite.parts"),
        kind="rows",
        value_title=sentence("suite.axis", precision=precisions_text(result.definition)),
        rows=tuple(map(name, result.parts)),
        series=(Series("", tuple(spots)),),
        baseline=(POINTS, sentence("suite.reference")),
    )


def scores_figure(shown: SuiteResult, others: Sequence[SuiteResult]) -> Figure | None:
    """Return a chart of this computer's scores with their intervals; None if there is only one.

    Scores with the definition's engine come first.

    Args:
        shown: The highlighted suite.
        others: Other suites with the same definition, in any order.
    """

    def rank(each: SuiteResult) -> tuple[bool, bool, int]:
        is_of_engine = each.example is not None and each.example.engine == shown.definition.engine
        return not is_of_engine, each is not shown, -each.group.id

    scored = [(each, total) for each in sorted([shown, *others], key=rank) if (total := each.total) is not None]
    if not others or not scored:
        return None
    return Figure(
        name=sentence("suite.your_scores"),
        kind="rows",
        value_title=sentence("suite.axis", precision=precisions_text(shown.definition)),
        rows=tuple(_score_name(each) for each, _ in scored),
        series=(Series("", tuple(_spot(total, is_marked=each is shown) for each, total in scored)),),
        baseline=(POINTS, sentence("suite.reference")),
    )


def places_figure(shown: SuiteResult, elsewhere: Sequence[KnownScore]) -> Figure | None:
    """Return a chart of a score among other computers' scores, best first; None without a score."""
    if shown.total is None:
        return None
    places = _places(shown, elsewhere)
    return _figure(places, shown.definition)


def others_figure(elsewhere: Sequence[KnownScore], definition: Definition) -> Figure | None:
    """Return a chart of the scores of other computers and the reference computer; None without other scores."""
    others = [each for each in elsewhere if each.suite == definition.number]
    return _figure(_best_first(_others(others, definition, "")), definition) if others else None


def _figure(places: Sequence[tuple[str, Score, bool]], definition: Definition) -> Figure:
    return Figure(
        name=sentence("suite.known_computers"),
        kind="rows",
        value_title=sentence("suite.axis", precision=precisions_text(definition)),
        rows=tuple(name for name, _, _ in places),
        series=(Series("", tuple(_spot(score, is_marked=is_own) for _, score, is_own in places)),),
    )


def nearest_rows(figure: Figure, limit: int) -> Figure:
    """Return a chart with at most `limit` rows, those nearest to the highlighted row."""
    (series,) = figure.series
    marked = next(number for number, spot in enumerate(series.spots) if spot is not None and spot.is_marked)
    first = max(0, min(marked - limit // 2, len(figure.rows) - limit))
    spots = series.spots[first : first + limit]
    return replace(figure, rows=figure.rows[first : first + limit], series=(replace(series, spots=spots),))


def rank_text(shown: SuiteResult, elsewhere: Sequence[KnownScore]) -> str:
    """Return the rank of a score in the chart of known computers; "" without a score or other computers."""
    if shown.total is None or not elsewhere:
        return ""
    places = _places(shown, elsewhere)
    rank = next(number for number, (_, _, is_own) in enumerate(places, 1) if is_own)
    return sentence("suite.rank", rank=rank, count=len(places))


def _places(shown: SuiteResult, elsewhere: Sequence[KnownScore]) -> list[tuple[str, Score, bool]]:
    """Return, best first, the name and score of each computer, and whether the score is the one shown."""
    engine = engine_title(shown.example.engine) if shown.example is not None else ""
    own = (sentence("compare.you"), shown.total or Score(0.0), True)
    return _best_first([own, *_others(elsewhere, shown.definition, engine)])


def _best_first(places: Sequence[tuple[str, Score, bool]]) -> list[tuple[str, Score, bool]]:
    return sorted(places, key=lambda place: -place[1].points)


def _others(elsewhere: Sequence[KnownScore], definition: Definition, engine: str) -> list[tuple[str, Score, bool]]:
    """Return names and scores of the reference and other computers. `engine` is omitted from the names."""
    software = definition.software.split(",")[0]  # without the precision, which is on the axis

    def name(*parts: str) -> str:
        return ", ".join(
            part for part in parts if part and not (engine and part.startswith(engine))
        )  # the same engine is implied

    places = [(name(sentence("suite.reference_name"), software), Score(POINTS), False)]
    for each in elsewhere:
        words = name(each.name, each.engine, sentence("heading.imported"))
        places.append((_with_verdict(words, each.verdict), each.score, False))
    return places


def _spot(score: Score, *, is_marked: bool) -> Spot:
    return Spot(0.0, score.points, score.low, score.high, points_text(score.points), is_marked=is_marked)


def imported_name(score: KnownScore) -> str:
    """Return the name of another computer's score, marked as unverified."""
    return _with_verdict(sentence("suite.imported", name=score.name, engine=score.engine), score.verdict)


def _score_name(result: SuiteResult) -> str:
    """Return a name that distinguishes a suite from this computer's other suites: engine, device and number."""
    run = result.example
    assert run is not None  # it has a score
    device = short_name(device_title(run))
    name = sentence("suite.score_of", engine=engine_title(run.engine), device=device, group_id=result.group.id)
    return _with_verdict(name, result.verdict or "caution")


def _with_verdict(name: str, level: str) -> str:
    return name if level == "valid" else sentence("suite.name_with_verdict", name=name, verdict=level_title(level))


def _row(part: PartScore) -> tuple[str, ...]:
    headline = ""
    if part.verdict is not None and part.run is not None:
        headline = amount_text(part.run.metric, part.value, is_short=True)
    points = "" if part.score is None else points_text(part.score.points)
    return part.part.title, points, interval_text(part.score), headline, state_text(part)


def _headline(result: SuiteResult) -> str:
    total = result.total
    if result.changed:
        return sentence("suite.changed", there=list(result.changed))
    if total is None:
        if not result.is_finished and all(
            each.state in ("done", "waiting", "out_of_memory") for each in result.parts
        ):
            return sentence("suite.not_finished", count=len(result.left), planned=result.group.planned)
        without = [each.part.title for each in result.parts if each.score is None]
        return sentence("suite.no_score", count=len(without), planned=len(result.parts), parts=without)
    return sentence(
        "suite.scored",
        name=result.name,
        points=points_text(total.points),
        interval=interval_text(total) or sentence("suite.no_interval"),
        conditions=suite_conditions(result),
        verdict=verdict_word(result),
    )


def _means(result: SuiteResult) -> list[str]:
    training, prediction = result.mean("training"), result.mean("prediction")
    if training is None or prediction is None:
        return []
    means = {"training": points_text(training.points), "prediction": points_text(prediction.points)}
    return [f"{sentence('suite.means', **means)}."]


def _zeros(result: SuiteResult) -> list[str]:
    zeros = [each.part.title for each in result.parts if each.score is not None and each.score.points <= 0]
    if not zeros:
        return []
    lines = [sentence("suite.zeros", count=len(zeros), parts=zeros)]
    rest = result.mean_of_fitting
    if rest is not None:
        count = len(result.parts) - len(zeros)
        lines.append(sentence("suite.rest", count=count, points=points_text(rest.points)))
    return lines


def _rounds(result: SuiteResult) -> list[str]:
    """Return a note if there is no second round, which would reveal errors common to all tests."""
    total = result.total
    if total is None or total.points <= 0 or result.rounds >= result.definition.rounds:
        return []
    return [sentence("suite.one_round")]


def _reference(result: SuiteResult) -> str:
    definition = result.definition
    machine = ", ".join(filter(None, (text(definition.machine), definition.software)))  # the demo has no software
    return sentence("suite.reference_sentence", points=points_text(POINTS), machine=machine)
