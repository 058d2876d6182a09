"""What a stored plan says, whatever its kind: a few characters, a sentence and a verdict."""

from collections.abc import Callable
from dataclasses import dataclass

from app.core.analysis.groups import group_headline, group_note, group_sentence, group_verdict
from app.core.errors import UsageError
from app.core.records import Group
from app.core.storage.database import Database


@dataclass(frozen=True, slots=True)
class Answer:
    """What a plan says.

    Attributes:
        headline: In a few characters: a median, a factor, a score; "n/a" without a result.
        sentence: The same as a sentence.
        note: How certain it is, for a narrow column; the sentence where there's nothing shorter.
        verdict: The worst of its runs that count; None if none was judged.
    """

    headline: str
    sentence: str
    note: str
    verdict: str | None


def answer_of(database: Database, group: Group) -> Answer:
    """Return what a stored plan says; of one that another version made, what its runs say."""
    try:
        return _OF_KIND.get(group.kind, _of_runs)(database, group)
    except UsageError:
        return _of_runs(database, group)


def _of_runs(_: Database, group: Group) -> Answer:
    return Answer(group_headline(group), group_sentence(group), group_note(group), group_verdict(group))


# Imported by what needs them: a list without suites or studies doesn't wait for them.
def _suite(database: Database, group: Group) -> Answer:
    from app.core.suite.stored import suite_of
    from app.core.suite.texts import suite_headline, suite_lines, verdict_word

    result = suite_of(database, group)
    headline = suite_headline(result) if result.total is not None else verdict_word(result)
    line = suite_lines(result)[0]
    return Answer(headline, line, line, result.verdict)


def _study(database: Database, group: Group) -> Answer:
    from app.core.studies.findings import findings
    from app.core.studies.points import study_result

    line = findings(study_result(database, group))[0]
    return Answer(group_headline(group), line, line, group_verdict(group))


_OF_KIND: dict[str, Callable[[Database, Group], Answer]] = {"suite": _suite, "study": _study}
