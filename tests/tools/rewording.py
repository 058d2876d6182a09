"""Puts every sentence of the catalogue into other words of the same length, so that tests which need ours fail."""

import ast
import re
import string
from pathlib import Path

CATALOGUE = Path("app", "core", "messages", "english")
# What has to stay: commands, options, links, and what code compares.
_STAYS = re.compile(
    r"^  %\(prog\)s.*$|`[^`]*`|https?://\S+|--?[a-z][\w-]*|\b[A-Z_]{2,}\b|\b\w+[_/.]\w+\b|%\(\w+\)s"
    r"|\b(?:sudo )?apt-get install\b",
    re.MULTILINE,
)
_OTHERS = str.maketrans("aeiouAEIOU", "eioaaEIOAA")


def reword(clone: Path) -> None:
    for path in sorted((clone / CATALOGUE).glob("*.py")):
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines(keepends=True)
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line.encode()))
        content = source.encode()
        for node in sorted(
            _sentences(ast.parse(source)), key=lambda node: (node.lineno, node.col_offset), reverse=True
        ):
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            content = content[:begin] + repr(other_words(str(node.value))).encode() + content[end:]
        path.write_bytes(content)


def _sentences(tree: ast.Module) -> list[ast.Constant]:
    values = [value for node in ast.walk(tree) if isinstance(node, ast.Dict) for value in node.values]
    parts = [part for value in values for part in (value.elts if isinstance(value, ast.Tuple) else [value])]
    return [part for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def other_words(sentence: str) -> str:
    """Return a sentence with other vowels; its placeholders, commands and options stay."""
    made = []
    for text, name, spec, conversion in string.Formatter().parse(sentence):
        plain = text.replace("{", "{{").replace("}", "}}")
        kept = [match.span() for match in _STAYS.finditer(plain)]
        at = 0
        for begin, end in kept:
            made.append(plain[at:begin].translate(_OTHERS) + plain[begin:end])
            at = end
        made.append(plain[at:].translate(_OTHERS))
        if name is not None:
            made.append("{" + name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}")
    return "".join(made)
