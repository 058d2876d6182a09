"""The scale of a chart of speeds, common to the window, the picture and the terminal. Longer is always faster."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# If the fastest is more than this times as fast as the slowest, the scale is logarithmic; otherwise, the slowest
# bars would be too short to compare.
LINEAR_LIMIT = 40
_SLOWEST = 1.25  # a logarithmic scale starts this factor below the slowest, so that its bar has a length
_TICKS_LIMIT = 5


@dataclass(frozen=True, slots=True)
class SpeedScale:
    """Maps speeds to a share of the width, 0 to 1."""

    origin: float  # speed at the left end; 0 if the scale is linear
    top: float  # speed at the right end
    unit: float | None  # speed of the baseline, of which ticks are multiples; None for no ticks

    @property
    def is_log(self) -> bool:
        return self.origin > 0

    def share(self, speed: float) -> float:
        """Return the length of the bar for a speed, 0 to 1."""
        if not self.is_log:
            return min(1.0, speed / self.top)
        # Don't use ratios. They overflow for absurd values in imported files.
        low, high = math.log(self.origin), math.log(self.top)
        return max(0.0, (math.log(max(speed, self.origin)) - low) / (high - low))

    def ticks(self) -> list[tuple[float, str]]:
        """Return the positions (0 to 1) of a few round multiples of the baseline's speed, and their texts."""
        if self.unit is None or self.unit <= 0:
            return []
        if self.is_log:
            low, high = (math.log10(end) - math.log10(self.unit) for end in (self.origin, self.top))
            first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
            powers = range(first, last + 1, 1 + max(0, last - first) // _TICKS_LIMIT)
            return [((power - low) / (high - low), _text(10.0**power)) for power in powers]
        most = self.top / self.unit
        size = 10.0 ** math.floor(math.log10(most))
        step = next(part * size for part in (0.25, 0.5, 1.0, 2.0) if most / (part * size) <= _TICKS_LIMIT)
        return [(number * step / most, _text(number * step)) for number in range(int(most / step + 1e-9) + 1)]


def speed_scale(speeds: Sequence[float], unit: float | None = None) -> SpeedScale:
    """Return the scale for some speeds, logarithmic if they differ by more than LINEAR_LIMIT.

    Args:
        speeds: Speeds in any common unit, at least 0.
        unit: Speed of the baseline; None for no ticks.
    """
    real = [speed for speed in speeds if speed > 0] or [1.0]
    slowest, fastest = min(real), max(real)
    is_log = fastest / LINEAR_LIMIT > slowest
    return SpeedScale(slowest / _SLOWEST if is_log else 0.0, fastest, unit)


def _text(times: float) -> str:
    """Return a multiple as text, without an exponent."""
    return f"{times:,.6f}".rstrip("0").rstrip(".") + "×" if times else "0"
