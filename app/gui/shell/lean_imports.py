"""Keeps Qt for Python from reading the source of every later module; the window imports this first.

It searches them for `from __feature__ import`, which nothing here uses. The lines stay in Python's linecache for
the life of the program: 16 MB of an idle window.
"""

import sys

import PySide6.QtCore  # noqa: F401 - loads what is changed here


def disable_shiboken_source_scan() -> None:
    """Make every module count as one that uses Qt without features; no effect if Qt has no such search."""
    features = sys.modules.get("shibokensupport.feature")
    if hasattr(features, "_mod_uses_pyside"):
        setattr(features, "_mod_uses_pyside", lambda _: True)  # noqa: B010 - unknown to mypy


disable_shiboken_source_scan()
