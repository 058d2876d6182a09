"""Evaluates groups of runs: the faster side of an A/B test and its certainty, and the spread of repetitions."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from app.core.analysis.student_t import t_limit
from app.core.messages import Message, message, sentence, text
from app.core.metrics import amount_text, format_value, headline_kind
from app.core.records import Group, RunSummary
from workloads import CATALOGUE
from workloads.training.medians import median_interval

# With fewer pairs, the interval is too wide to be useful.
ENOUGH_PAIRS = 3
# From this ratio on, a factor is shown instead of a percentage.
AS_TIMES = 2.0
# If the longer arm of an interval exceeds the shorter one by more than this factor, "±" would be misleading.
_EVEN = 1.1
# The smallest difference that is found with a power of 80 %, in half widths of the interval: 0.8416 / 1.96 above 1
# for many pairs. In simulations, 1.4 gave 79 to 85 % for 2 to 20 pairs.
_OF_HALF_WIDTH = 1.4
# exp() of larger numbers overflows a float.
_LARGEST_LOG = 700.0


@dataclass(frozen=True, slots=True)
class PairResult:
    """The result of an A/B test: B relative to A."""

    ratios: tuple[float, ...]  # speed of B divided by speed of A, one per valid pair
    ratio: float | None  # geometric mean of the ratios; None without pairs
    # 95 % confidence interval of `ratio`; None with fewer than two pairs.
    low: float | None
    high: float | None

    @property
    def pairs(self) -> int:
        return len(self.ratios)

    @property
    def is_shown(self) -> bool:
        """Whether the difference is significant: the interval doesn't include 1."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high

    @property
    def smallest_pct(self) -> float | None:
        """The difference, in percent, that these pairs show four times in five; None with fewer than two."""
        # A difference of half the interval's width would be found half the time.
        return None if self.low is None or self.high is None else 100 * _OF_HALF_WIDTH * (self.high - self.low) / 2

    def check_sentence(self) -> str:
        """Return a sentence about the result of comparing equal sides."""
        if self.ratio is None:
            return sentence("ab.no_pair")
        if self.low is None or self.high is None or self.smallest_pct is None:
            return text(message("ab.more_pairs", said=message("ab.check_once")))
        if self.is_shown:
            digits = _digits(self.low, self.high, apart=True)
            low, high = _times(self.low, digits), _times(self.high, digits)
            said = message("ab.check_differs", low=low, high=high, pairs=self.pairs)
        else:
            said = message("ab.check", smallest=percent_text(self.smallest_pct), pairs=self.pairs)
        return text(said if self.pairs >= ENOUGH_PAIRS else message("ab.more_pairs", said=said))

    def check_headline(self) -> str:
        """Return a short summary of comparing equal sides."""
        if self.ratio is None:
            return sentence("ab.no_pair")
        if self.smallest_pct is None:
            return sentence("ab.check_once")
        if self.is_shown:
            return sentence("ab.check_differs_shortly")
        return sentence("ab.check_shortly", smallest=percent_text(self.smallest_pct))

    def sentence(self, label_a: str = "A", label_b: str = "B") -> str:
        """Return the result as a sentence. If there is a difference, the faster side comes first."""
        a, b = _quoted(label_a), _quoted(label_b)
        if self.ratio is None:
            return sentence("ab.no_pair")
        if self.low is None or self.high is None:
            first, second = (b, a) if self.ratio >= 1 else (a, b)
            times = _times(max(self.ratio, 1 / self.ratio), 2)
            return text(
                message("ab.more_pairs", said=message("ab.only_pair", first=first, second=second, times=times))
            )
        if not self.is_shown:
            digits = _digits(self.low, self.high, apart=False)
            low, high = _times(self.low, digits), _times(self.high, digits)
            said = message("ab.no_difference", a=a, b=b, low=low, high=high, pairs=self.pairs)
        else:
            said = self._difference(a, b)
        return text(said if self.pairs >= ENOUGH_PAIRS else message("ab.more_pairs", said=said))

    def headline(self) -> str:
        """Return a short summary: a percentage, or a factor if one side is at least twice as fast."""
        if self.ratio is None:
            return sentence("ab.no_pair")
        if self.low is not None and not self.is_shown:
            return sentence("ab.level")
        first, second = ("B", "A") if self.ratio >= 1 else ("A", "B")
        ratio = max(self.ratio, 1 / self.ratio)
        if self.low is None or self.high is None:
            if ratio >= AS_TIMES:
                return sentence("ab.times_once", first=first, second=second, times=_times(ratio, 2))
            faster = f"{100 * (ratio - 1):.1f}"
            return sentence("ab.faster_once", first=first, second=second, faster=faster)
        low, high = (self.low, self.high) if self.ratio >= 1 else (1 / self.high, 1 / self.low)
        if ratio >= AS_TIMES:
            digits = _digits(low, high, apart=True)
            ends = {"low": _times(low, digits), "high": _times(high, digits)}
            return sentence("ab.times_range", first=first, second=second, times=_times(ratio, digits), **ends)
        return _in_percent(first, second, ratio, low, high)

    def certainty(self) -> str:
        """Return a short description of the evidence behind the headline."""
        if self.low is None or self.high is None or self.is_shown:
            return sentence("ab.interval_of_pairs", count=self.pairs)
        digits = _digits(self.low, self.high, apart=False)
        return sentence(
            "ab.within", low=_times(self.low, digits), high=_times(self.high, digits), pairs=self.pairs
        )

    def _difference(self, a: str, b: str) -> Message:
        assert self.ratio is not None
        assert self.low is not None
        assert self.high is not None
        first, second, ratio, low, high = b, a, self.ratio, self.low, self.high
        if ratio < 1:
            first, second, ratio, low, high = a, b, 1 / ratio, 1 / high, 1 / low
        digits = _digits(low, high, apart=True)
        return message(
            "ab.difference",
            first=first,
            second=second,
            times=_times(ratio, digits),
            low=_times(low, digits),
            high=_times(high, digits),
            pairs=self.pairs,
        )


@dataclass(frozen=True, slots=True)
class RepeatResult:
    """The result of repetitions. Values are None if there are too few runs."""

    count: int
    median: float | None
    between_pct: float | None  # spread between the runs: sample standard deviation, as a percentage of the median
    within_pct: float | None  # spread within a typical run: median of the spreads of the individual runs
    # Confidence interval of the median, valid for any distribution.
    low: float | None
    high: float | None
    confidence_pct: float | None  # confidence level of the interval; below 95 with fewer than six runs

    def sentence(self, metric: str) -> str:
        """Return the result as a sentence.

        `metric` is a workloads.workload.HeadlineKey, which determines the unit.
        """
        if self.median is None:
            return sentence("repeat.no_result")
        value = amount_text(metric, self.median)
        if self.between_pct is None:
            return sentence("repeat.only_run", value=value)
        arguments = {"runs": self.count, "value": value, "between_pct": self.between_pct}
        if self.within_pct is None:
            return sentence("repeat.spread", **arguments)
        return sentence("repeat.spreads", **arguments, within_pct=self.within_pct)

    def limits(self, metric: str) -> str:
        """Return the confidence interval as a sentence; "" if it isn't meaningful."""
        low, high = format_value(metric, self.low), format_value(metric, self.high)
        if self.confidence_pct is None or low == high:
            return ""
        return sentence("repeat.limits", low=low, high=high, confidence_pct=self.confidence_pct)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two consecutive runs of an A/B test, one per side. A run that wasn't started or was deleted is None."""

    a: RunSummary | None
    b: RunSummary | None

    @property
    def is_usable(self) -> bool:
        return is_usable(self.a) and is_usable(self.b)


def compare_pairs(a: Sequence[float | None], b: Sequence[float | None], is_rate: bool) -> PairResult:
    """Compare the sides of an A/B test, pair by pair.

    Args:
        a: Values of side A, one per pair; a missing value (None) makes the pair invalid.
        b: The same for B.
        is_rate: Whether higher values are faster.
    """
    logs = [
        math.log(value_b) - math.log(value_a) if is_rate else math.log(value_a) - math.log(value_b)
        for value_a, value_b in zip(a, b, strict=True)
        if is_positive(value_a) and is_positive(value_b)
    ]
    ratios = tuple(_exp(log) for log in logs)
    if not logs:
        return PairResult(ratios, None, None, None)
    mean = statistics.fmean(logs)
    if len(logs) == 1:
        return PairResult(ratios, _exp(mean), None, None)
    margin = t_limit(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return PairResult(ratios, _exp(mean), _exp(mean - margin), _exp(mean + margin))


def between_runs(values: Sequence[float], within_spread_pct: Sequence[float | None]) -> RepeatResult:
    """Return the spread of repetitions and the confidence interval of their median.

    The interval is based on order statistics, which assume no distribution. Results from a busy computer have a
    skewed distribution, and a few runs can't reveal its skewness.

    Args:
        values: Headlines of the completed runs.
        within_spread_pct: Spread within each of these runs.
    """
    spreads = [spread for spread in within_spread_pct if spread is not None]
    within_pct = statistics.median(spreads) if spreads else None
    if not values:
        return RepeatResult(0, None, None, within_pct, None, None, None)
    count, median = len(values), statistics.median(values)
    if count == 1:
        return RepeatResult(1, median, None, within_pct, None, None, None)
    between_pct = 100 * statistics.stdev(values) / median if median > 0 else None
    low, high, confidence_pct = median_interval(values)
    return RepeatResult(count, median, between_pct, within_pct, low, high, confidence_pct)


def pairs_of(group: Group) -> list[Pair]:
    """Return the pairs of an A/B test in plan order, omitting pairs without any runs."""
    pairs: dict[int, dict[str | None, RunSummary]] = {}
    for number, run in group.numbered:
        pairs.setdefault((number - 1) // 2, {})[run.side] = run
    return [Pair(sides.get("A"), sides.get("B")) for _, sides in sorted(pairs.items())]


def judge_pairs(group: Group) -> PairResult:
    """Return the result of a stored A/B test."""
    pairs = [pair for pair in pairs_of(group) if pair.is_usable]
    values = [(pair.a.value, pair.b.value) for pair in pairs if pair.a and pair.b]
    is_rate = bool(group.runs) and headline_kind(group.runs[0].metric).is_rate
    return compare_pairs([a for a, _ in values], [b for _, b in values], is_rate)


def judge_repeats(group: Group) -> RepeatResult:
    runs = [run for run in group.runs if is_usable(run)]
    return between_runs([run.value for run in runs if run.value is not None], [run.spread_pct for run in runs])


def is_usable(run: RunSummary | None) -> bool:
    """Return whether a run was completed and isn't invalid."""
    if run is None or run.status != "completed" or not is_positive(run.value):
        return False
    # Results for testing may be compared with each other despite their invalid verdict.
    is_demo = run.workload in CATALOGUE and CATALOGUE[run.workload].is_demo
    return run.verdict != "invalid" or is_demo or (run.reasons or "").partition(" ")[0] == "divided_cpu"


def is_positive(value: float | None) -> TypeGuard[float]:
    return value is not None and 0 < value < math.inf


def percent_text(value_pct: float) -> str:
    """Format a percentage with one decimal place, none from 10 upwards, or more if it would otherwise be 0."""
    if value_pct >= 10:
        return f"{value_pct:,.0f}"
    digits = next((digits for digits in (1, 2, 3) if round(value_pct, digits) > 0), 4)
    return f"{value_pct:.{digits}f}"


def _exp(log: float) -> float:
    return math.exp(max(-_LARGEST_LOG, min(log, _LARGEST_LOG)))


def _in_percent(first: str, second: str, ratio: float, low: float, high: float) -> str:
    """Return the first side's advantage in percent, with a margin of error or an asymmetric interval's ends."""
    pct, low_pct, high_pct = (100 * (each - 1) for each in (ratio, low, high))
    half_pct = (high_pct - low_pct) / 2
    shown = [each for each in (pct, half_pct) if each > 0]
    digits = next((digits for digits in (1, 2, 3) if round(min(shown), digits) > 0), 4)
    faster = f"{pct:.{digits}f}"
    if high - ratio <= _EVEN * (ratio - low) and half_pct < pct:
        half = f"{half_pct:.{digits}f}"
        return sentence("ab.faster_within", first=first, second=second, faster=faster, half=half)
    ends = {"low": f"{low_pct:.{digits}f}", "high": f"{high_pct:.{digits}f}"}
    return sentence("ab.faster_range", first=first, second=second, faster=faster, **ends)


def _quoted(label: str) -> str:
    """Return a label in quotation marks, so that it can't be mistaken for part of the sentence."""
    return f"“{label}”" if " " in label else label


def _times(ratio: float, digits: int) -> str:
    """Format a ratio with `digits` decimal places, fewer from 10 upwards, or two significant digits below 0.1."""
    if ratio >= 100:
        return f"{ratio:,.0f}"
    if ratio >= 10:
        return f"{ratio:.1f}"
    return f"{ratio:.{digits}f}" if ratio >= 0.1 else f"{ratio:.2g}"


def _digits(low: float, high: float, *, apart: bool) -> int:
    """Return the number of decimal places, at least two, at which the ends differ (if `apart`, also from 1)."""
    for digits in (2, 3):
        ends = {f"{value:.{digits}f}" for value in (low, high)}
        if len(ends) == 2 and not (apart and f"{1:.{digits}f}" in ends):
            return digits
    return 4
