"""Asks a group's report, as the program does."""

from typing import Any

from app.core.plans.experiments import report_of
from app.core.records import Group, Order

ORDERS: dict[str, Order] = {"ab": "pairs", "engines": "there_and_back", "study": "shuffled"}


def ask(what: str, group: Group, *arguments: Any, **named: Any) -> Any:
    value = getattr(report_of(group), what)
    return value(*arguments, **named) if callable(value) else value
