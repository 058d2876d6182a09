"""Creates HTML elements whose text is escaped, safe to show, and free of private names."""

from collections.abc import Iterable, Mapping, Sequence
from xml.etree.ElementTree import Element

from app.core.plain_text import one_line
from app.core.redaction.private_texts import hide
from app.core.titles import level_title

TEXT_LIMIT = 500
Content = Element | str | None


def element(tag: str, *content: Content, **attributes: str | float | None) -> Element:
    """Return an element with its contents. Attributes with the value None are omitted.

    Args:
        tag: Name of the element.
        content: Elements and strings, in order; None is ignored.
        attributes: Attributes by name. Underscores become hyphens, and a trailing underscore ("class_", "for_") is
            removed.
    """
    made = Element(tag)
    for name, value in attributes.items():
        if value is not None:
            made.set(name.rstrip("_").replace("_", "-"), f"{value:g}" if isinstance(value, float) else str(value))
    last: Element | None = None
    for each in content:
        if isinstance(each, str):
            text = one_line(each, TEXT_LIMIT)
            if last is None:
                made.text = (made.text or "") + text
            else:
                last.tail = (last.tail or "") + text
        elif each is not None:
            made.append(each)
            last = each
    return made


def without_private(root: Element, private: Mapping[str, str]) -> None:
    """Replace private text in an element and its descendants, including attributes."""
    for each in root.iter():
        each.text, each.tail = hide(each.text, private), hide(each.tail, private)
        for name, value in each.items():
            if not value.startswith("data:"):  # created without private text
                each.set(name, hide(value, private) or "")


def table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> Element:
    """Return a table. The first cell of each row is its heading.

    Args:
        caption: Caption of the table.
        headings: Headings of the columns.
        rows: Rows with one cell for each heading.
        words: Number of text columns on the left. The other columns contain numbers.
    """
    head = element("tr", *(_cell("th", text, number, words, "col") for number, text in enumerate(headings)))
    body = [
        element(
            "tr",
            *(
                _cell("td" if number else "th", text, number, words, None if number else "row")
                for number, text in enumerate(row)
            ),
        )
        for row in rows
    ]
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", *body))
    # Focusable, so that a wide table can be scrolled with the keyboard.
    return element("div", whole, class_="table", tabindex="0", role="group", aria_label=caption)


def _cell(tag: str, text: str, number: int, words: int, scope: str | None) -> Element:
    return element(tag, text, class_=None if number < words else "number", scope=scope)


def pairs(lines: Iterable[tuple[str, str]]) -> Element:
    """Return a list of labels with their values."""
    parts = [element("div", element("dt", name), element("dd", value)) for name, value in lines if value]
    return element("dl", *parts)


def section(heading: str, *content: Content, level: int = 3) -> Element | None:
    """Return a section with a heading; None if it would be empty."""
    there = [each for each in content if each is not None]
    return element("section", element(f"h{level}", heading), *there) if there else None


def pill(level: str) -> Element:
    """Return a verdict as a coloured label."""
    return element("span", level_title(level), class_=f"pill {level}")
