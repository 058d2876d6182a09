"""A plot of the pairs of an A/B test: a row per pair, with both values and their ratio, and the mean below."""

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.core.analysis.ab import Pair, PairResult, judge_pairs, pairs_of
from app.core.analysis.headline import value_text
from app.core.messages import sentence
from app.core.metrics import headline_kind
from app.core.records import Group, PlannedRun, RunSummary
from app.gui.style.theme import Theme, font, tabular_font
from app.gui.style.tokens import LABEL_PX, TEXT_PX

ROW_MIN_PX, ROW_MAX_PX, HEAD_PX, FOOT_PX = 22, 60, 24, 24
NUMBER_PX, VALUE_PX, RATIO_PX, GAP = 32, 62, 56, 12
_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
DOT_PX, TICK_GAP_PX, ARROW_PX = 4.5, 44, 8
# Minimum range of the scale if the ratios are nearly equal.
NARROWEST_LOG = math.log(1.02)
_SLOWER = (0.1, 0.2, 0.25, 0.33, 0.5, 0.67, 0.8, 0.9, 0.95, 0.98, 0.99)
_FASTER = (1.01, 1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 4, 5, 10)


@dataclass(frozen=True, slots=True)
class RatioScale:
    """Maps speed ratios logarithmically to a share of the width, 0 to 1. The scale always includes the ratio 1."""

    low: float
    high: float

    def share(self, ratio: float) -> float:
        at = (math.log(ratio) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return min(1.0, max(0.0, at))

    def ticks(self) -> list[float]:
        return [tick for tick in (*_SLOWER, 1.0, *_FASTER) if self.low <= tick <= self.high]


def ratio_scale(result: PairResult) -> RatioScale:
    logs = [0.0, *map(math.log, result.ratios)]
    low, high = min(logs), max(logs)
    room = max(high - low, NARROWEST_LOG)
    if result.low is not None and result.high is not None:
        low = min(low, max(math.log(result.low), low - 2 * room))
        high = max(high, min(math.log(result.high), high + 2 * room))
    margin = 0.3 * max(high - low, NARROWEST_LOG)
    return RatioScale(math.exp(low - margin), math.exp(high + margin))


class PairPlot(QWidget):
    """Displays an A/B test, finished or not. Pairs that haven't run yet already have rows."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._pairs: list[Pair] = []
        self._result = PairResult((), None, None, None)
        self._metric = "seconds_per_epoch_s"
        self._at: PlannedRun | None = None
        self.setAccessibleName(sentence("ab_page.pairs"))
        self.setAccessibleDescription(sentence("ab_page.no_pair"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        theme.changed.connect(self.update)

    def show_group(self, group: Group, at: PlannedRun | None = None) -> None:
        pairs = pairs_of(group)
        missing = group.planned // 2 - len(pairs) if at is not None else 0
        self._pairs = pairs + [Pair(None, None)] * max(0, missing)
        self._result = judge_pairs(group)
        self._metric = group.runs[0].metric if group.runs else "seconds_per_epoch_s"
        self._at = at
        self.setAccessibleDescription(self.sentence(*group.labels))
        self.updateGeometry()
        self.update()

    @property
    def pairs(self) -> list[Pair]:
        return self._pairs

    def sentence(self, label_a: str, label_b: str) -> str:
        texts = {"a": label_a, "b": label_b, "unit": headline_kind(self._metric).unit}
        parts = [
            sentence(
                "ab_page.pair", number=number, value_a=self._text(pair.a), value_b=self._text(pair.b), **texts
            )
            for number, pair in enumerate(self._pairs, 1)
            if pair.is_usable
        ]
        return "; ".join(parts) or sentence("ab_page.no_pair")

    def sizeHint(self) -> QSize:
        return QSize(420, ROW_MAX_PX * (len(self._pairs) + 1) + HEAD_PX + FOOT_PX)

    def minimumSizeHint(self) -> QSize:
        return QSize(300, ROW_MIN_PX * (len(self._pairs) + 1) + HEAD_PX + FOOT_PX)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._pairs:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        room = self.height() - HEAD_PX - FOOT_PX
        row_px = min(ROW_MAX_PX, max(ROW_MIN_PX, room / (len(self._pairs) + 1)))
        left = NUMBER_PX + 2 * VALUE_PX + GAP
        scale = ratio_scale(self._result)
        plot = QRectF(left, HEAD_PX, self.width() - left - RATIO_PX - GAP, row_px * (len(self._pairs) + 1))
        self._paint_head(painter, plot)
        self._paint_scale(painter, plot, scale)
        ratios = iter(self._result.ratios)
        for number, pair in enumerate(self._pairs):
            line = QRectF(0, HEAD_PX + number * row_px, self.width(), row_px)
            self._paint_pair(painter, line, number, pair)
            if pair.is_usable:
                self._paint_ratio(painter, plot, line, scale, next(ratios))
        self._paint_mean(painter, plot, QRectF(0, plot.bottom() - row_px, self.width(), row_px), scale)
        painter.end()

    def _paint_head(self, painter: QPainter, plot: QRectF) -> None:
        tokens = self._theme.tokens
        painter.setFont(font(LABEL_PX, QFont.Weight.Medium))
        painter.setPen(QColor(tokens.muted))
        ratios = QRectF(plot.left(), 0, self.width() - plot.left(), HEAD_PX)
        painter.drawText(QRectF(0, 0, NUMBER_PX, HEAD_PX), _LEFT, sentence("ab_page.pair_heading"))
        painter.drawText(QRectF(NUMBER_PX, 0, VALUE_PX, HEAD_PX), _RIGHT, "A")
        painter.drawText(QRectF(NUMBER_PX + VALUE_PX, 0, VALUE_PX, HEAD_PX), _RIGHT, "B")
        painter.drawText(ratios, _RIGHT, sentence("ab_page.b_vs_a"))

    def _paint_scale(self, painter: QPainter, plot: QRectF, scale: RatioScale) -> None:
        """Paint lines at round ratios, with the ratios below and the faster side for each direction above."""
        tokens = self._theme.tokens
        one_px = self._x(plot, scale, 1.0)
        painter.setFont(tabular_font(LABEL_PX))
        metrics = QFontMetricsF(painter.font())
        taken: list[float] = []
        # The label of ratio 1 has priority.
        for tick in sorted(scale.ticks(), key=lambda tick: abs(math.log(tick))):
            x = self._x(plot, scale, tick)
            if any(abs(x - other) < TICK_GAP_PX for other in taken):
                continue
            taken.append(x)
            painter.setPen(QPen(QColor(tokens.muted if tick == 1 else tokens.grid), 1))
            painter.drawLine(QPointF(round(x) + 0.5, plot.top()), QPointF(round(x) + 0.5, plot.bottom()))
            painter.setPen(QColor(tokens.muted))
            painter.drawText(
                QRectF(x - 30, plot.bottom(), 60, FOOT_PX), Qt.AlignmentFlag.AlignCenter, f"{tick:g}×"
            )
        painter.setFont(font(LABEL_PX))
        for text, start, end, align in (
            (sentence("ab_page.a_faster"), plot.left(), one_px - 6, _RIGHT),
            (sentence("ab_page.b_faster"), one_px + 6, plot.right(), _LEFT),
        ):
            if metrics.horizontalAdvance(text) <= end - start:
                painter.drawText(QRectF(start, 0, end - start, HEAD_PX), align, text)

    def _paint_pair(self, painter: QPainter, line: QRectF, number: int, pair: Pair) -> None:
        tokens = self._theme.tokens
        painter.setFont(tabular_font(TEXT_PX))
        painter.setPen(QColor(tokens.muted))
        painter.drawText(QRectF(0, line.top(), NUMBER_PX, line.height()), _LEFT, str(number + 1))
        for place, (side, run) in enumerate((("A", pair.a), ("B", pair.b))):
            runs_now = self._at is not None and (self._at.number - 1) // 2 == number and self._at.side == side
            runs_now = runs_now and run is None
            text = "…" if runs_now else self._text(run)
            painter.setPen(QColor(tokens.accent if runs_now else tokens.text if run else tokens.muted))
            box = QRectF(NUMBER_PX + place * VALUE_PX, line.top(), VALUE_PX, line.height())
            painter.drawText(box, _RIGHT, text)

    def _paint_ratio(self, painter: QPainter, plot: QRectF, line: QRectF, scale: RatioScale, ratio: float) -> None:
        tokens = self._theme.tokens
        at = QPointF(self._x(plot, scale, ratio), line.center().y())
        painter.setPen(QPen(QColor(tokens.grid), 1))
        painter.drawLine(QPointF(self._x(plot, scale, 1.0), at.y()), at)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.accent))
        painter.drawEllipse(at, DOT_PX, DOT_PX)
        self._paint_right(painter, line, f"{ratio:.2f}×", tokens.muted)

    def _paint_mean(self, painter: QPainter, plot: QRectF, line: QRectF, scale: RatioScale) -> None:
        tokens, result = self._theme.tokens, self._result
        painter.setPen(QPen(QColor(tokens.border), 1))
        painter.drawLine(QPointF(0, round(line.top()) + 0.5), QPointF(self.width(), round(line.top()) + 0.5))
        painter.setFont(font(TEXT_PX, QFont.Weight.DemiBold))
        painter.setPen(QColor(tokens.text))
        box = QRectF(0, line.top(), plot.left() - GAP, line.height())
        painter.drawText(
            box, _LEFT, sentence("ab_page.mean" if result.low is None else "ab_page.mean_and_interval")
        )
        if result.ratio is None:
            return
        y = line.center().y()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.text))
        if result.low is not None and result.high is not None:
            start, end = self._x(plot, scale, result.low), self._x(plot, scale, result.high)
            painter.drawRoundedRect(QRectF(start, y - 2.5, max(2.0, end - start), 5), 2.5, 2.5)
            for x, ratio, tip_px in ((start, result.low, -ARROW_PX), (end, result.high, ARROW_PX)):
                if not scale.low <= ratio <= scale.high:  # the interval goes on
                    arrow = [QPointF(x + tip_px, y), QPointF(x, y - ARROW_PX), QPointF(x, y + ARROW_PX)]
                    painter.drawPolygon(arrow)
        at = self._x(plot, scale, result.ratio)
        corners = [(at - 7, y), (at, y - 8), (at + 7, y), (at, y + 8)]
        painter.drawPolygon([QPointF(*corner) for corner in corners])
        self._paint_right(painter, line, f"{result.ratio:.2f}×", tokens.text, QFont.Weight.DemiBold)

    def _paint_right(
        self, painter: QPainter, line: QRectF, text: str, colour: str, weight: QFont.Weight = QFont.Weight.Normal
    ) -> None:
        painter.setFont(tabular_font(TEXT_PX, weight))
        painter.setPen(QColor(colour))
        box = QRectF(self.width() - RATIO_PX, line.top(), RATIO_PX, line.height())
        painter.drawText(box, _RIGHT, text)

    def _text(self, run: RunSummary | None) -> str:
        if run is None or run.value is None or run.status != "completed":
            return "–"
        return value_text(run)

    def _x(self, plot: QRectF, scale: RatioScale, ratio: float) -> float:
        return plot.left() + scale.share(ratio) * plot.width()
