"""Takes out of a text what names its owner: paths, names, serial numbers, addresses."""

import contextlib
import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from app.core.keeping.export import hide, private_texts

# What ends a path in a log. A space does so only after its last slash: folders have spaces in their names.
_INNER = r"[^\n\"'`<>|*?,;:()\[\]{}]{0,400}"
_LAST = r"[^\s\"'`<>|*?,;:()\[\]{}]{0,200}"
_HEX = "[0-9a-f]"
_RULES: tuple[tuple[str, str], ...] = (
    (r"\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,5}", "<address>"),
    (rf"\b(?:[a-z]{{2,6}}-)?{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}\b", "<serial>"),
    (rf"\b(?:{_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}\b", "<address>"),
    (rf"\b(?:PCI:?)?{_HEX}{{4,8}}:{_HEX}{{2}}:{_HEX}{{2}}(?:\.{_HEX})?\b", "<bus>"),
    # Versions of packages have four numbers too: nvidia-cudnn-cu12==9.10.2.21.
    (r"(?<![\w.=<>~-])\d{1,3}(?:\.\d{1,3}){3}\b(?!\.\d)", "<address>"),
    (rf"(?<![\w:])(?:{_HEX}{{1,4}}:){{4,7}}{_HEX}{{1,4}}\b", "<address>"),
    (
        rf"(?<![\w:]){_HEX}{{1,4}}(?::{_HEX}{{1,4}}){{0,5}}::(?:{_HEX}{{1,4}}:){{0,5}}{_HEX}{{0,4}}(?!\w)",
        "<address>",
    ),
    (r"(running on this host) \([^)\n]{0,200}\)", r"\1 (<host>)"),
    (r"\b(hostname|host|user|username|computer name)( ?[:=] ?)\S{1,200}", r"\1\2<name>"),
    (r"\b(name|pid|process)( ?= ?)(?:'[^'\n]{0,200}'|<[^>\n]{0,200}>|[^\s,]{1,200})", r"\1\2<process>"),
    (r"\b(serial(?: number)?|uuid)( ?[:=]? {0,20})(?=[\w-]{0,60}\d)[\w-]{4,60}", r"\1\2<serial>"),
    (rf"file:/{{1,3}}{_LAST}", "<path>"),
    # Windows, with one backslash or two, and shares.
    (rf"(?<!\w)(?:[a-z]:[\\/]|\\\\(?=\w))(?:{_INNER}[\\/])?{_LAST}", "<path>"),
    (rf"(?<![\w~])(?:~\w{{0,64}}|\.\.?)[\\/](?:{_INNER}[\\/])?{_LAST}", "<path>"),
    # Not what TensorFlow calls its devices, and not in the middle of its own source files.
    (
        r"(?:(?<![\w.<>/-])|(?<=\s-[A-Za-z]))/(?!/|(?:job|device|physical_device|replica|task):)"
        rf"(?:{_INNER}/)?{_LAST}",
        "<path>",
    ),
)
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), stand_in) for pattern, stand_in in _RULES)


def scrub(text: str, private: Mapping[str, str] | None = None) -> str:
    """Return the text without anything that tells whose computer it comes from.

    Args:
        text: Any text, also another computer's log.
        private: Texts to replace first, by default this user's folders and names.
    """
    text = hide(text, private_texts() | _names() if private is None else private) or ""
    for pattern, stand_in in _COMPILED:
        text = pattern.sub(stand_in, text)
    return text


def _names() -> dict[str, str]:
    """Return this computer's and this user's names, where they are long enough to be no other word."""
    named = {platform.node(): "<host>", platform.node().split(".")[0]: "<host>"}
    named |= dict.fromkeys((os.environ.get(name, "") for name in ("USER", "USERNAME", "LOGNAME")), "<user>")
    with contextlib.suppress(RuntimeError):  # a user without an entry and without HOME
        named[Path.home().name] = "<user>"
    return {name: stand_in for name, stand_in in named.items() if len(name) >= 4}
