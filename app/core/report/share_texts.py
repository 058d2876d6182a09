"""Texts common to all share pictures: the computer and the device."""

from collections.abc import Collection

import app
from app.core.analysis.power import counted, is_gpu, limit_text
from app.core.formats import format_installed_memory
from app.core.messages import sentence
from app.core.plain_text import joined, one_line
from app.core.records import RunSummary

DEVICE_CHARS = 120


def version_line(app_version: str) -> str:
    """Return the name and version of the app, and the project's address if there is one."""
    address = app.PROJECT_URL.partition("://")[2]
    return joined((sentence("share.version", version=app_version), address))


def device_title(run: RunSummary, *, varied: Collection[str] = ()) -> str:
    """Return the full name of the device used, as one safe line.

    The number of devices and a changed power limit are included, unless a study varies them.
    """
    name = run.device_name if is_gpu(run) else run.cpu_name
    kind = (run.device or "").partition(":")[0].upper()
    title = name or kind or sentence("share.unknown_device")
    title = title if "devices" in varied else counted(run, title)
    parts = (title, "" if "power_limit_w" in varied else limit_text(run))
    return one_line(" ".join(filter(None, parts)), DEVICE_CHARS)


def computer_parts(run: RunSummary) -> list[str]:
    """Return texts for the cores, memory and system; unknown ones are omitted."""
    parts = (
        sentence("share.cores", count=run.physical_cores) if run.physical_cores else "",
        format_installed_memory(run.memory_bytes) if run.memory_bytes else "",
        system_title(run.os_name or ""),
    )
    return [part for part in parts if part]


def system_title(os_name: str) -> str:
    """Return the common name of a system: for Linux, the distribution without the kernel."""
    kernel, _, distribution = os_name.partition(" (")
    return distribution.removesuffix(")") if kernel.startswith("Linux ") and distribution else os_name
