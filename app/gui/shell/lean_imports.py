"""Prevents Qt for Python from reading the source code of modules. Import this module before all others.

Qt searches the source for `from __feature__ import`, which Epochmark doesn't use. The lines would remain in
Python's linecache until the process exits, and would occupy 16 MB in an idle app.
"""

import sys

import PySide6.QtCore  # noqa: F401 - loads what is changed here

# Makes Qt treat every module as one that doesn't use features. Has no effect if Qt doesn't search.
_features = sys.modules.get("shibokensupport.feature")
if hasattr(_features, "_mod_uses_pyside"):
    setattr(_features, "_mod_uses_pyside", lambda _: True)  # noqa: B010 - mypy doesn't know the attribute
