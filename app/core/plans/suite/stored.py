"""Loads the suites stored on this computer."""

from app.core.errors import UsageError
from app.core.messages import message
from app.core.plans.suite.kind import KIND
from app.core.plans.suite.score import SuiteResult, suite_result
from app.core.records import Group
from app.core.storage.database import Database
from app.core.storage.groups import list_groups, load_groups, specs_of


def load_suite(database: Database, group_id: int) -> SuiteResult:
    """Return a stored suite. Raises UsageError if it doesn't exist or can't be read."""
    groups = load_groups(database, [group_id])
    if not groups:
        raise UsageError(message("suite.no_suite", group_id=group_id), message("suite.see_list"))
    return suite_of(database, groups[0])


def list_suites(database: Database, limit: int | None = None) -> list[SuiteResult]:
    """Return the readable stored suites, newest first."""
    results = []
    for group in list_groups(database, KIND, limit):
        try:
            results.append(suite_of(database, group))
        except UsageError:  # from another version of Epochmark
            continue
    return results


def suite_of(database: Database, group: Group) -> SuiteResult:
    """Return the result of a stored group. Raises UsageError if it isn't a readable suite."""
    return suite_result(group, specs_of(database, [run.id for run in group.runs]))
