"""Words of buttons and the like that stand in several views."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "button.cancel": "Cancel",
    "button.copy": "Copy",
}
