"""Removes from text anything that identifies the owner: paths, names, serial numbers and addresses."""

import re
from collections.abc import Mapping
from functools import cache

from app.core.redaction.private_texts import hide, private_texts

# Parts of a path in a log. Spaces are allowed only before the last slash, because folder names may contain spaces.
_INNER = r"[^\n\"'`<>|*?,;:()\[\]{}]{0,400}"
_LAST = r"[^\s\"'`<>|*?,;:()\[\]{}]{0,200}"
_HEX = "[0-9a-f]"
_RULES: tuple[tuple[str, str], ...] = (
    (r"(https?://)[^\s/@]{1,200}@", r"\1<user>@"),
    # Email addresses, and user@host in a prompt. Library symbols such as memcpy@GLIBC_2.14 look similar.
    (r"\b[\w.+-]{1,64}@(?!GLIBC|lib)[\w-]{1,64}(?:\.[\w-]{1,64}){0,5}", "<address>"),
    # A line of a system journal starts with the time, followed by the host.
    (
        r"((?:^|\n)(?:- \[\w{1,40}\] )?(?:[a-z]{3} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,+-]{8,24}z?)) "
        r"[\w.-]{1,64}(?= [\w.@/-]{1,64}(?:\[\d{1,9}\])?:)",
        r"\1 <host>",
    ),
    (rf"\b{_HEX}{{32,128}}\b", "<id>"),
    (rf"\b(?:[a-z]{{2,6}}-)?{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}\b", "<serial>"),
    (rf"\b(?:{_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}\b", "<address>"),
    (rf"\b(?:PCI:?)?{_HEX}{{4,8}}:{_HEX}{{2}}:{_HEX}{{2}}(?:\.{_HEX})?\b", "<bus>"),
    # Versions of packages may also consist of four numbers: nvidia-cudnn-cu12==9.10.2.21.
    (r"(?:(?<![\w.=<>~-])|(?<=addr=)|(?<=ip=)|(?<=peer=))\d{1,3}(?:\.\d{1,3}){3}\b(?!\.\d)", "<address>"),
    (rf"(?<![\w:])(?:{_HEX}{{1,4}}:){{4,7}}{_HEX}{{1,4}}\b", "<address>"),
    (
        rf"(?<![\w:]){_HEX}{{1,4}}(?::{_HEX}{{1,4}}){{0,5}}::(?:{_HEX}{{1,4}}:){{0,5}}{_HEX}{{0,4}}(?!\w)",
        "<address>",
    ),
    (r"(running on this host) \([^)\n]{0,200}\)", r"\1 (<host>)"),
    (r"\b(hostname|host|user|username|computer name)( ?[:=] ?)\S{1,200}", r"\1\2<name>"),
    (r"\b(name|pid|process)( ?= ?)(?:'[^'\n]{0,200}'|<[^>\n]{0,200}>|[^\s,]{1,200})", r"\1\2<process>"),
    (r"\b(serial(?: number)?|uuid)( {0,40}[:=]? {0,20})(?=[\w-]{0,60}\d)[\w-]{4,60}", r"\1\2<serial>"),
    (rf"file:/{{1,3}}{_LAST}", "<path>"),
    # A user name on Windows may contain a space, even at the end of a path.
    (
        r"\b([a-z]:(?:\\{1,2}|/)users(?:\\{1,2}|/))[^\s\\/:\"'<>|]{1,64} (?-i:[A-Z][\w.-]{0,63})(?=[>\"'\n,;)]|$)",
        "<path>",
    ),
    # Windows paths with single or double backslashes, and network shares.
    (rf"(?<!\w)(?:[a-z]:[\\/]|\\\\(?=\w))(?:{_INNER}[\\/])?{_LAST}", "<path>"),
    (rf"(?<![\w~])(?:~\w{{0,64}}|\.\.?)[\\/](?:{_INNER}[\\/])?{_LAST}", "<path>"),
    # Excludes TensorFlow's device names and the paths of its source files.
    (
        r"(?:(?<![\w.<>/-])|(?<=\s-[A-Za-z]))/(?!/|(?:job|device|physical_device|replica|task):)"
        rf"(?:{_INNER}/)?{_LAST}",
        "<path>",
    ),
    # Name of a virtual environment in front of a shell prompt.
    (r"\([\w.-]{1,40}\) (?=(?:PS )?<(?:address|path)>)", "(<environment>) "),
)


def scrub(text: str, private: Mapping[str, str] | None = None) -> str:
    """Remove from a text everything that identifies a computer or its owner.

    Args:
        text: Any text, such as a log from another computer.
        private: Strings to replace first; None for this user's folders and names.
    """
    text = hide(text, private_texts() if private is None else private) or ""
    for pattern, stand_in in _compiled():
        text = pattern.sub(stand_in, text)
    return text


@cache  # compiled on first use, because the hardware page doesn't need the patterns
def _compiled() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), stand_in) for pattern, stand_in in _RULES)
