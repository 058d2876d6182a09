"""Prevents Qt for Python from reading the source of every later module. Must be imported first.

Qt searches it for `from __feature__ import`, which isn't used here. The lines would be kept in Python's linecache
until the program ends, which takes 16 MB in an idle window.
"""

import sys

import PySide6.QtCore  # noqa: F401 - loads what is changed here


def disable_shiboken_source_scan() -> None:
    """Make every module count as one that uses Qt without features; no effect if Qt has no such search."""
    features = sys.modules.get("shibokensupport.feature")
    if hasattr(features, "_mod_uses_pyside"):
        setattr(features, "_mod_uses_pyside", lambda _: True)  # noqa: B010 - unknown to mypy


disable_shiboken_source_scan()
