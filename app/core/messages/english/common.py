"""Words that several views share, such as those of buttons."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "button.cancel": "Cancel",
    "button.copy": "Copy",
}
