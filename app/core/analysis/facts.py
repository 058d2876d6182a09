"""Facts about a run that are only declared (see `records.Declared`): their values and sentences."""

from app.core.messages import sentence
from app.core.records import FIELDS, RunSummary


def fact_values(run: RunSummary) -> dict[str, float]:
    names = (name for name, declared in FIELDS.items() if declared.telemetry)
    return {name: value for name in names if (value := getattr(run, name)) is not None}


def fact_texts(run: RunSummary) -> list[str]:
    return [sentence(f"fact.{name}", value=value) for name, value in fact_values(run).items()]
