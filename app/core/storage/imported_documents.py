"""Reads the documents of imported results."""

import msgspec

from app.core.result_file.canonical import UnfitError, check
from app.core.result_file.record import Result
from workloads.protocol import typed


def read_document(document: object) -> Result | None:
    """Return a stored result; None if it is damaged."""
    try:
        result = typed.decode(document, Result) if isinstance(document, str | bytes) else None
        if result is not None:
            check(result, with_digest=False)
    except (msgspec.DecodeError, UnfitError):
        return None
    return result
