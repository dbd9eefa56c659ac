"""A reliability diagram as SVG text.

Knows bins and coordinates; knows nothing of models, suites or files.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from omniclef.evaluation.calibration import Bin

__all__ = ["reliability_svg"]

_SIDE, _LEFT, _TOP, _FOOT = 300, 52, 40, 92  # pixels; the foot holds axis labels and the histogram
_HISTOGRAM = 30
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def reliability_svg(bins: Sequence[Bin], title: str, subtitle: str) -> str:
    """Accuracy against confidence by bin, the diagonal of perfect calibration, and how many answers each bin
    has."""
    width, height = _LEFT + _SIDE + 20, _TOP + _SIDE + _FOOT
    bottom = _TOP + _SIDE
    most = max((b.count for b in bins), default=0) or 1

    def x(share: float) -> float:
        return round(_LEFT + share * _SIDE, 1)

    def y(share: float) -> float:
        return round(bottom - share * _SIDE, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" font-family="sans-serif" font-size="11"'
        f' role="img" aria-label="{escape(title, quote=True)}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="16" font-size="13" font-weight="bold">{escape(title)}</text>',
        f'<text x="{_LEFT}" y="31" fill="#555555">{escape(subtitle)}</text>',
        f'<rect x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#999999"/>',
    ]
    for tick in _TICKS:
        parts.append(f'<text x="{_LEFT - 6}" y="{y(tick) + 4}" text-anchor="end">{tick:g}</text>')
        parts.append(f'<text x="{x(tick)}" y="{bottom + 15}" text-anchor="middle">{tick:g}</text>')
    for b in bins:
        left, span = x(b.low), round((b.high - b.low) * _SIDE - 1, 1)
        if not b.count:
            continue
        parts.append(
            f'<rect class="accuracy" x="{left}" y="{y(b.accuracy)}" width="{span}"'
            f' height="{round(b.accuracy * _SIDE, 1)}" fill="#4477aa">'
            f"<title>{b.count} answers, confidence {b.confidence:.3f}, accuracy {b.accuracy:.3f}</title>"
            "</rect>"
        )
        parts.append(f'<circle cx="{x(b.confidence)}" cy="{y(b.accuracy)}" r="3" fill="#cc3311"/>')
        tall = round(max(_HISTOGRAM * b.count / most, 1), 1)
        parts.append(
            f'<rect class="count" x="{left}" y="{bottom + 38 + _HISTOGRAM - tall}" width="{span}"'
            f' height="{tall}" fill="#bbbbbb"/>'
        )
    parts += [
        f'<line x1="{x(0)}" y1="{y(0)}" x2="{x(1)}" y2="{y(1)}" stroke="#555555" stroke-dasharray="4 3"/>',
        f'<text x="{x(0.5)}" y="{bottom + 30}" text-anchor="middle">'
        "confidence (grey: answers in each bin)</text>",
        f'<text transform="translate(16 {y(0.5)}) rotate(-90)" text-anchor="middle">accuracy</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
