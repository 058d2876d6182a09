"""A result file inside our report: what the link to save it holds. Nothing else of the page is read or run."""

import binascii

from app.core.report.html.page import FILE_ADDRESS, FILE_NAME
from app.core.result_file.canonical import UnfitError

_BEGINNINGS = (b"<!doctype html", b"<html")
# No text of a report can look like this: it has "<" as "&lt;", and its attributes have quotes as "&quot;".
_LINK = f'<a href="{FILE_ADDRESS}'.encode()
_LINK_END = f'" download="{FILE_NAME}"'.encode()


def is_page(content: bytes) -> bool:
    """Return whether a content begins as a page does."""
    return content[:100].removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_BEGINNINGS)


def extract(page: bytes) -> bytes:
    """Return the result file in a page; raises UnfitError if it has none, several, or a damaged one."""
    begin = page.find(_LINK)
    if begin < 0:
        raise UnfitError("exchange.no_file_in_page")
    if page.find(_LINK, begin + 1) >= 0:
        raise UnfitError("exchange.several_files_in_page")
    begin += len(_LINK)
    end = page.find(b'"', begin)
    if end < 0:
        raise UnfitError("exchange.cut_off", position=len(page))
    if not page.startswith(_LINK_END, end):
        raise UnfitError("exchange.damaged_in_page")
    try:
        return binascii.a2b_base64(memoryview(page)[begin:end], strict_mode=True)
    except binascii.Error as error:
        raise UnfitError("exchange.damaged_in_page") from error
