"""Design tokens: colours of the dark and light themes, and type sizes. Doesn't use Qt."""

from dataclasses import dataclass, replace

# Colours of chart lines, as names of Tokens attributes. They are Okabe and Ito's colours, which can be
# distinguished with all kinds of colour blindness. The light theme darkens them as needed for lines on white.
SERIES = ("sky", "orange", "green", "pink", "blue", "vermilion")
HEADLINE_PX, TITLE_PX, TEXT_PX, LABEL_PX = 72, 18, 13, 11
GAP_PX, CARD_RADIUS_PX = 8, 12
# In narrower windows, page titles and button texts are hidden to make room for the content.
WIDE_WINDOW_PX = 1024


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colours of a theme, as #RRGGBB.

    On all three surfaces, the contrast is at least 4.5 : 1 for text, and 3 : 1 for lines and frames of controls.
    """

    dark: bool
    window: str
    surface: str
    raised: str
    border: str  # decorative borders, which are exempt from contrast rules
    control: str  # frames of controls
    grid: str
    text: str
    muted: str
    accent: str
    on_accent: str
    selected: str  # background of the selected list entry
    neutral_bar: str
    valid: str
    caution: str
    invalid: str
    sky: str
    orange: str
    green: str
    pink: str
    blue: str
    vermilion: str


DARK = Tokens(
    dark=True,
    window="#0F1115",
    surface="#171A21",
    raised="#1E222B",
    border="#262B35",
    control="#68717F",
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
    sky="#56B4E9",
    orange="#E69F00",
    green="#009E73",
    pink="#CC79A7",
    blue="#0072B2",
    vermilion="#D55E00",
)
LIGHT = Tokens(
    dark=False,
    window="#F6F7F9",
    surface="#FFFFFF",
    raised="#FFFFFF",
    border="#E2E5EA",
    control="#858D9A",
    grid="#E8EBF0",
    text="#1B1F27",
    muted="#5B6472",
    accent="#1964D6",
    on_accent="#FFFFFF",
    selected="#E9EFFD",
    neutral_bar="#C5CBD6",
    valid="#14713A",
    caution="#8A5A00",
    invalid="#B3261E",
    sky="#1D99DF",
    orange="#B67E00",
    green="#008B65",
    pink="#97396D",
    blue="#006197",
    vermilion="#A24700",
)
# For high contrast: 7 : 1 for text, and 4.5 : 1 for lines and all frames.
DARK_CONTRAST = replace(
    DARK,
    window="#000000",
    surface="#000000",
    raised="#000000",
    border="#C8CDD6",
    control="#FFFFFF",
    grid="#5A6270",
    text="#FFFFFF",
    muted="#E2E6EC",
    accent="#7DB4FF",
    on_accent="#000000",
    selected="#12294D",
    neutral_bar="#8B93A1",
    valid="#7BEBA6",
    caution="#FFD166",
    invalid="#FF9C97",
    blue="#0A7BBD",
)
LIGHT_CONTRAST = replace(
    LIGHT,
    window="#FFFFFF",
    border="#4A515C",
    control="#1B1F27",
    grid="#A9B0BC",
    text="#000000",
    muted="#2B313B",
    accent="#0B3F94",
    selected="#DCE7FB",
    neutral_bar="#6B7484",
    valid="#0B4A25",
    caution="#5C3A00",
    invalid="#8A1712",
    sky="#187CB5",
    orange="#7F5700",
    green="#006A4D",
    pink="#B94887",
    blue="#004267",
    vermilion="#682E00",
)
