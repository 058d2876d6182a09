"""How many CPUs this process may use: limited by the system, a container or the user."""

import os
from pathlib import Path


def visible_cpus() -> int | None:
    """Return the logical CPUs that this process may run on; None if the system doesn't say."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Return the CPU time that Linux grants this process's groups, in CPUs; None without a limit.

    Args:
        root: Where Linux's proc and sys folders are found.
    """
    quotas = [quota for folder in cgroup_folders(root) if (quota := _quota_of(folder)) is not None]
    return min(quotas, default=None)


def cgroup_folders(root: Path) -> list[Path]:
    """Return the folders that may limit this process's CPU time: its groups' and all above them."""
    folders = []
    for line in _read_text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        names = controllers.split(",")
        if number == "0" and not controllers:
            tops = [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]
        elif "cpu" in names:
            tops = [root / "sys/fs/cgroup" / name for name in (controllers, "cpu")]
        else:
            continue
        parts = [part for part in group.split("/") if part not in ("", ".", "..")]
        folders += [top.joinpath(*parts[:count]) for top in tops for count in range(len(parts) + 1)]
    return folders


def _quota_of(folder: Path) -> float | None:
    """Read one group's limit: "200000 100000" in version 2, two files in version 1."""
    parts = _read_text(folder / "cpu.max").split()
    if not parts:
        parts = [_read_text(folder / name).strip() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
    try:
        quota_us, period_us = (float(word) for word in parts)
    except ValueError:  # "max": no limit
        return None
    return quota_us / period_us if 0 < quota_us < 1e12 and 0 < period_us < 1e12 else None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:4_096]
    except (OSError, ValueError):  # ValueError: a zero byte in a group's name
        return ""
