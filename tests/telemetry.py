"""Records for tests, from what a test wants to say of them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from app.core.records import Run
from workloads.protocol.events import Environment
from workloads.protocol.machine import UNKNOWN_MACHINE, Machine
from workloads.protocol.stored import decode_leniently
from workloads.protocol.telemetry import Telemetry


def telemetry_of(readings: Mapping[str, Any]) -> Telemetry:
    """Return telemetry without impossible values, as when a record is read."""
    return decode_leniently(dict(readings), Telemetry)


def environment_of(run: Run, **values: Any) -> Environment:
    """Return a run's environment with other values; what does not fit is left out, as where a record is read."""
    known = msgspec.to_builtins(run.environment) if run.environment is not None else {}
    usual = {"engine": "tensorflow", "device": "cpu", "precision": "float32", "jit": False}
    return decode_leniently(usual | known | values, Environment, **usual)


def machine_of(run: Run, **values: Any) -> Machine:
    return decode_leniently(asdict(run.machine) | values, Machine, **asdict(UNKNOWN_MACHINE))
