"""Times as they are stored: ISO 8601, UTC, to the second."""

from datetime import UTC, datetime, timedelta


def now_text(ago_s: float = 0.0) -> str:
    """Return the current time, or the given one, as ISO 8601 in UTC, to the second."""
    return (datetime.now(UTC) - timedelta(seconds=ago_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
