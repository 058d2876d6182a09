"""The design's tokens: colours for dark and light, sizes of type. Uses no Qt."""

from dataclasses import dataclass

# Okabe and Ito's colours, which are distinct with every kind of colour blindness.
SERIES = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#0072B2", "#D55E00")
HEADLINE_PX, TITLE_PX, TEXT_PX, LABEL_PX = 72, 18, 13, 11
GAP_PX, CARD_RADIUS_PX = 8, 12


@dataclass(frozen=True, slots=True)
class Tokens:
    """One theme's colours, as #RRGGBB. Text on any of the three surfaces has a contrast of at least 4.5 : 1."""

    dark: bool
    window: str
    surface: str
    raised: str
    border: str
    grid: str
    text: str
    muted: str
    accent: str
    on_accent: str
    selected: str  # behind the selected place in a list
    neutral_bar: str
    valid: str
    caution: str
    invalid: str


DARK = Tokens(
    dark=True,
    window="#0F1115",
    surface="#171A21",
    raised="#1E222B",
    border="#262B35",
    grid="#232833",
    text="#E7EAF0",
    muted="#9AA3B2",
    accent="#4C8DFF",
    on_accent="#0B1220",
    selected="#1F2733",
    neutral_bar="#343B49",
    valid="#5BD689",
    caution="#E3B341",
    invalid="#F2716B",
)
LIGHT = Tokens(
    dark=False,
    window="#F6F7F9",
    surface="#FFFFFF",
    raised="#FFFFFF",
    border="#E2E5EA",
    grid="#E8EBF0",
    text="#1B1F27",
    muted="#5B6472",
    accent="#1F6FEB",
    on_accent="#FFFFFF",
    selected="#E9EFFD",
    neutral_bar="#C5CBD6",
    valid="#14713A",
    caution="#8A5A00",
    invalid="#B3261E",
)
