"""Formats timestamps: for storage as ISO 8601 in UTC, to the second, and for display in local time."""

from datetime import UTC, datetime, timedelta


def now_text(ago_s: float = 0.0) -> str:
    """Return the current time, or the time `ago_s` seconds ago, as ISO 8601 in UTC, to the second."""
    return _text(datetime.now(UTC) - timedelta(seconds=ago_s))


def local_time(text: str) -> str:
    """Convert a stored time to the user's time zone, without seconds. Any other text is returned unchanged."""
    try:
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return text


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
