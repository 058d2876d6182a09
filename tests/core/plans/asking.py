"""Asks a group's kind, as the program does."""

from typing import Any

from app.core.plans.registry import kind_of
from app.core.records import Group, Order

ORDERS: dict[str, Order] = {"ab": "pairs", "engines": "there_and_back", "study": "shuffled"}


def ask(what: str, group: Group, *arguments: Any, **named: Any) -> Any:
    return getattr(kind_of(group), what)(group, *arguments, **named)
