"""Compact text form of a suite, for the QR code of its picture. See `result_file.short_form` for the characters.

The fields, separated by ":", are: mark, SUITE, number of the suite, uid of the plan, engine, its version, device,
names of the processor and graphics card, a field for each test in the order of the definition, and the checksum.
The field of a test is the letter of its verdict, followed by the result of each round, separated by "/". Results
have SUITE_DIGITS digits, or more if rounding would otherwise change the points that the picture shows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.core.errors import UsageError
from app.core.messages import message
from app.core.plans.suite.definition import DEMO, SUITES, Definition, SuitePart
from app.core.plans.suite.known import is_of
from app.core.plans.suite.score import PartScore, SuiteResult, mean_of_parts, scored_part
from app.core.plans.suite.texts import points_text
from app.core.result_file.record import Dataset, Environment, Machine, Result, Spec, Statistics, Verdict
from app.core.result_file.short_form import (
    FIELD_ERRORS,
    LETTERS_LIMIT,
    MARK,
    OLD_MARK,
    SUITE_DIGITS,
    UNKNOWN_VERSION,
    checked,
    fields_of,
    normalized,
    read_device,
    read_token,
    usual_spec,
    with_checksum,
    written_device,
    written_name,
    written_number,
    wrong_letter,
)
from app.core.uids import derived_uid
from workloads import CATALOGUE
from workloads.protocol import typed
from workloads.settings import recorded_text

KIND = "SUITE"
_BEGINNINGS, _BETWEEN = tuple(f"{mark}:{KIND}:" for mark in (MARK, OLD_MARK)), "/"
_ALL_DIGITS = 17  # identify every float
_NUMBER, _UID, _PARTS = 2, 3, 9  # indexes of the suite's number, of the plan's uid and of the first test
_LEVELS = {"valid": "V", "caution": "C"}
_LOWEST, _HIGHEST = 1e-12, 1e24  # of a result, so that points are finite
_NUMBER_DIGITS = 6


def suite_form(result: SuiteResult) -> str:
    """Return the short form of a suite; "" if it has none.

    Only a score above 0 from runs with the settings of the definition has a short form. The demo has none.
    """
    total, run = result.total, result.example
    is_stored = bool(result.group.uid) and result.definition.number != DEMO.number
    is_scored = is_stored and total is not None and total.points > 0
    if not is_scored or total is None or run is None or not all(map(_is_usual, result.parts)):
        return ""
    if len({(each.engine, each.device) for each in result.runs}) > 1:
        return ""
    names = (written_name(run.cpu_name), written_name(run.device_name))
    software = (run.engine, run.engine_version or "", written_device(run.device))
    head = (MARK, KIND, str(result.definition.number), result.group.uid, *software, *names)
    for digits in range(SUITE_DIGITS, _ALL_DIGITS + 1):
        if points_text(_points(result.parts, digits)) == points_text(total.points):
            form = with_checksum((*head, *(_field(each, digits) for each in result.parts)))
            return form if len(form) <= LETTERS_LIMIT else ""
    return ""


def is_suite_form(typed: str) -> bool:
    """Return whether a typed or scanned text begins like the short form of a suite."""
    return normalized(typed).startswith(_BEGINNINGS)


def has_suite_form(typed: str) -> bool:
    return any(beginning in normalized(typed) for beginning in _BEGINNINGS)


def read_suite_form(typed: str) -> tuple[Result, ...]:
    """Parse a typed or scanned short form of a suite into the results of its runs.

    The results have no intervals. Their seed is the number of the round.

    Raises:
        UsageError: The text isn't the short form of a suite, contains a wrong character or other short forms, or
            refers to something that this version doesn't support.
    """
    text = normalized(typed)
    try:
        fields = fields_of(text, LETTERS_LIMIT)
    except UsageError:
        if text.count(f" {MARK}:") or text.count(f" {OLD_MARK}:"):
            raise UsageError(message("short_form.suite_alone")) from None
        raise
    if fields[0] == OLD_MARK:  # had no uid
        fields.insert(_UID, derived_uid(text).upper())
    if fields[1] != KIND or len(fields) <= _UID:
        raise wrong_letter()
    definition = _definition(fields[_NUMBER])
    try:
        return tuple(_results(definition, fields))
    except FIELD_ERRORS as error:
        raise UsageError(message("short_form.unknown_part")) from error


def _is_usual(each: PartScore) -> bool:
    return each.verdict in _LEVELS and all(is_of(each.part, run) for run in each.runs)


def _points(parts: Sequence[PartScore], digits: int) -> float | None:
    """Return the score that another person's app computes from results with this number of digits."""
    scored = []
    for each in parts:
        runs = [replace(run, value=float(written_number(run.value or 0.0, digits))) for run in each.runs]
        scored.append(scored_part(each.part, runs, len(runs)))
    complete = [each for each in scored if each is not None]
    mean = mean_of_parts(complete, complete) if len(complete) == len(parts) else None
    return None if mean is None else mean.points


def _field(each: PartScore, digits: int) -> str:
    values = (written_number(run.value or 0.0, digits) for run in each.runs)
    return _LEVELS[each.verdict or "caution"] + _BETWEEN.join(values)


def _definition(number: str) -> Definition:
    if not number.isdecimal() or len(number) > _NUMBER_DIGITS:
        raise UsageError(message("short_form.unknown_part"))
    definition = SUITES.get(int(number))
    if definition is None or definition.number == DEMO.number:
        raise UsageError(message("short_form.unknown_part"))
    return definition


def _results(definition: Definition, fields: Sequence[str]) -> Iterator[Result]:
    """Yield the result of each run. Raises one of FIELD_ERRORS if a field is invalid."""
    levels = {letter: level for level, letter in _LEVELS.items()}
    plan_uid = fields[_UID].lower()
    engine, engine_version, device, cpu_name, device_name = fields[_UID + 1 : _PARTS]
    environment = Environment(
        engine=read_token(engine), engine_version=engine_version or None, device=read_device(device)
    )
    machine = Machine(cpu_name=cpu_name or None, device_name=device_name or None)
    for part, field in zip(definition.parts, fields[_PARTS:], strict=True):
        level, values = levels[field[:1]], field[1:].split(_BETWEEN)
        if len(values) > definition.rounds:
            raise ValueError("too many rounds")
        for number, value in enumerate(map(float, values)):
            if not _LOWEST <= value < _HIGHEST:  # also rejects NaN
                raise ValueError("no amount")
            result = Result(
                uid=derived_uid(plan_uid, part.workload, part.batch_size, part.precision, number),
                plan_uid=plan_uid,
                app_version=UNKNOWN_VERSION,
                status="completed",
                spec=_spec(part, environment, number),
                environment=environment,
                machine=machine,
                dataset=None if part.batch_size is None else Dataset(source="synthetic"),
                statistics=Statistics(metric=part.metric, value=value, epochs_done=0),
                verdict=typed.convert({"level": level}, Verdict),
            )
            yield checked(result)


def _spec(part: SuitePart, environment: Environment, number: int) -> Spec:
    """Return the spec of a run in round `number`. The round distinguishes otherwise identical results."""
    device = environment.device or "cpu"
    asked = part.spec(engine=environment.engine, device=device, without_tf32=device.startswith("gpu"))
    return usual_spec(
        CATALOGUE[part.workload],
        workload_version=part.workload_version,
        preset=asked.preset,
        epochs=asked.epochs,
        batch_size=asked.batch_size,
        precision=asked.precision,
        jit=asked.jit,
        settings=recorded_text(asked) or None,
        seed=number,
    )
