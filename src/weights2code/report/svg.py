"""Small drawings as SVG text: enough for axes, lines, dots and heat maps, and nothing to install.

A drawing names the role of each mark by a class (`line`, `grid`, `heat`), never its colour. Inside the page
the style sheet gives roles their colours, light or dark; a file of its own carries the light ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

import numpy as np

#: Steps of shade in a heat map: all cells of one step are one path.
SHADES = 24


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture: its size, its marks, and what it shows in words."""

    name: str
    width: float
    height: float
    body: str
    title: str
    description: str = ""

    def inline(self, *, least: float = 0.0) -> str:
        """For the page; where there is little room it shrinks, to a width of `least` pixels."""
        label = escape(f"{self.title}. {self.description}".strip(), quote=True)
        style = f' style="min-width:{least:.0f}px"' if least else ""
        return (
            f'<svg class="drawing" viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" '
            f'height="{self.height:g}" role="img" aria-label="{label}"{style}>{self.body}</svg>'
        )

    def document(self) -> str:
        """A file of its own, in light colours."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}" height="{self.height:g}"><title>{escape(self.title)}</title>'
            f"<desc>{escape(self.description)}</desc><style>{_light_style()}</style>"
            f'<rect class="paper" width="100%" height="100%"/>{self.body}</svg>\n'
        )


def asset(name: str) -> str:
    """A file of the page: style or script."""
    return resources.files("weights2code.report").joinpath("assets", name).read_text(encoding="utf-8")


def light_colours() -> dict[str, str]:
    """The page's colours by name, as they are in the light."""
    pairs = re.findall(r"--([\w-]+):\s*light-dark\(([^,]+),", asset("page.css"))
    return dict(pairs)


def _light_style() -> str:
    """The style of drawings with its variables replaced by colours."""
    colours = light_colours()
    style = re.sub(r"/\*.*?\*/", "", asset("drawing.css"), flags=re.DOTALL)
    return " ".join(re.sub(r"var\(--([\w-]+)\)", lambda found: colours[found[1]], style).split())


def n(value: float) -> str:
    """A coordinate, short."""
    return f"{value:.1f}".rstrip("0").rstrip(".") if value else "0"


def text(x: float, y: float, content: str, kind: str = "label") -> str:
    return f'<text x="{n(x)}" y="{n(y)}" class="{kind}">{escape(content)}</text>'


def number(value: float, digits: int = 4) -> str:
    """A number for people: a true minus sign, no trailing zeros."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    plain = f"{value:.{digits}g}"
    if "e" in plain:
        mantissa, exponent = plain.split("e")
        plain = f"{mantissa}e{int(exponent)}"
    return plain.replace("-", "−") if value else "0"


def plural(amount: int, noun: str) -> str:
    return f"{amount} {noun}{'' if amount == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to coordinates, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self._raw(self.low), self._raw(self.high)
        share = (self._raw(value) - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def _raw(self, value: float) -> float:
        return math.log10(max(value, 1e-300)) if self.log else value

    def ticks(self, wanted: int = 5) -> list[float]:
        """Round values inside."""
        if self.log:
            first, last = math.ceil(self._raw(self.low) - 1e-9), math.floor(self._raw(self.high) + 1e-9)
            step = max(1, math.ceil((last - first) / wanted))
            return [10.0**power for power in range(first, last + 1, step)]
        rough = (self.high - self.low) / wanted
        base = 10.0 ** math.floor(math.log10(rough))
        step = next(base * m for m in (1, 2, 5, 10) if base * m >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def tick_text(self, value: float) -> str:
        if self.log and not 0.01 <= value <= 1000:
            return "10" + str(round(math.log10(value))).translate(_SUPERSCRIPT)
        return number(value)


_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def spread(values: Iterable[float], *, log: bool = False, margin: float = 0.05) -> tuple[float, float]:
    """An interval that holds the finite values, with some air, never empty."""
    finite = [v for v in values if math.isfinite(v) and (v > 0 or not log)]
    if not finite:
        return (0.1, 1.0) if log else (0.0, 1.0)
    low, high = min(finite), max(finite)
    if log:
        return 10 ** (math.log10(low) - 0.3), 10 ** (math.log10(high) + 0.3)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        air = abs(low) / 2 or 0.5
        return low - air, high + air
    return low - margin * (high - low), high + margin * (high - low)


@dataclass(frozen=True, slots=True)
class Frame:
    """A panel with two axes at (left, top)."""

    x: Scale
    y: Scale

    @staticmethod
    def at(
        box: tuple[float, float, float, float],
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        log: bool = False,
    ) -> Frame:
        """A panel that fills the box (left, top, width, height)."""
        left, top, width, height = box
        return Frame(Scale(*x, left, left + width), Scale(*y, top + height, top, log))

    def axes(self, title: str, x_title: str = "", x_ticks: Sequence[float] | None = None) -> str:
        """Title above, horizontal grid with numbers, numbers below."""
        left, right, bottom, top = self.x.start, self.x.end, self.y.start, self.y.end
        parts = [text(left, top - 10, title, "panel-title")] if title else []
        for value in self.y.ticks(4):
            y = self.y(value)
            parts.append(f'<path class="grid" d="M{n(left)} {n(y)}H{n(right)}"/>')
            parts.append(text(left - 6, y + 3.5, self.y.tick_text(value), "tick end"))
        for value in self.x.ticks(5) if x_ticks is None else x_ticks:
            parts.append(text(self.x(value), bottom + 16, number(value), "tick middle"))
        parts.append(f'<path class="axis" d="M{n(left)} {n(bottom)}H{n(right)}"/>')
        if x_title:
            parts.append(text((left + right) / 2, bottom + 32, x_title, "tick middle"))
        return "".join(parts)

    def line(self, xs: Sequence[float], ys: Sequence[float], kind: str = "line") -> str:
        """A broken line; gaps where a value is missing, a dot where a point stands alone."""
        pieces: list[list[tuple[float, float]]] = [[]]
        for x, y in zip(xs, ys, strict=True):
            if math.isfinite(y) and (y > 0 or not self.y.log):
                pieces[-1].append((self.x(x), self._inside(y)))
            elif pieces[-1]:
                pieces.append([])
        marks = []
        for piece in filter(None, pieces):
            if len(piece) == 1:
                marks.append(
                    f'<circle class="{kind} alone" cx="{n(piece[0][0])}" cy="{n(piece[0][1])}" r="2.5"/>'
                )
            else:
                marks.append(f'<path class="{kind}" d="M{"L".join(f"{n(x)} {n(y)}" for x, y in piece)}"/>')
        return "".join(marks)

    def stairs(self, xs: Sequence[float], ys: Sequence[float], kind: str) -> str:
        """A line that jumps half-way between points, for values with nothing between them."""
        doubled = [x + side for x in xs for side in (-0.5, 0.5)]
        return self.line(doubled, [y for y in ys for _ in range(2)], kind)

    def _inside(self, y: float) -> float:
        return self.y(min(max(y, self.y.low), self.y.high))

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float]) -> str:
        """The area between two lines."""
        points = [
            (x, a, b) for x, a, b in zip(xs, low, high, strict=True) if math.isfinite(a) and math.isfinite(b)
        ]
        if len(points) < 2:
            return ""
        path = [(x, b) for x, _, b in points] + [(x, a) for x, a, _ in reversed(points)]
        corners = "L".join(f"{n(self.x(x))} {n(self._inside(y))}" for x, y in path)
        return f'<path class="band" d="M{corners}Z"/>'

    def dots(self, xs: Iterable[float], ys: Iterable[float], radius: float = 2.5, kind: str = "dot") -> str:
        return "".join(
            f'<circle class="{kind}" cx="{n(self.x(x))}" cy="{n(self._inside(y))}" r="{n(radius)}"/>'
            for x, y in zip(xs, ys, strict=True)
            if math.isfinite(x) and math.isfinite(y)
        )


def heat(
    values: np.ndarray, left: float, top: float, cell: tuple[float, float], low: float, high: float
) -> str:
    """A frame with cells shaded by value, row 0 at the top; what is not a number stays blank."""
    width, height = cell
    rows, columns = values.shape
    span = high - low if high > low else 1.0
    paths: dict[int, list[str]] = {}
    for (row, column), value in np.ndenumerate(values):
        if math.isfinite(value):
            shade = round(min(max((value - low) / span, 0.0), 1.0) * SHADES)
            corner = f"M{n(left + column * width)} {n(top + row * height)}"
            paths.setdefault(shade, []).append(f"{corner}h{n(width)}v{n(height)}h{n(-width)}z")
    frame = f'x="{n(left)}" y="{n(top)}" width="{n(columns * width)}" height="{n(rows * height)}"'
    return f'<rect class="well" {frame}/>' + "".join(
        f'<path class="heat" fill-opacity="{shade / SHADES:.3g}" d="{"".join(paths[shade])}"/>'
        for shade in sorted(paths)
        if shade
    )


def positions(left: float, top: float, count: int, step: int, cell: float) -> str:
    """The numbers of positions above and beside a heat map of square cells."""
    parts = []
    for t in range(0, count, step):
        middle = (t + 0.5) * cell
        parts.append(text(left + middle, top - 6, str(t), "tick middle"))
        parts.append(text(left - 6, top + middle + 3.5, str(t), "tick end"))
    return "".join(parts)


def legend(x: float, y: float, entries: Sequence[tuple[str, str]]) -> str:
    """Short strokes with their meaning, side by side; an entry is (class of the mark, words)."""
    parts, at = [], x
    for kind, words in entries:
        if "dot" in kind:
            parts.append(f'<circle class="{kind}" cx="{n(at + 8)}" cy="{n(y - 3.5)}" r="3"/>')
        elif kind == "band":
            parts.append(f'<rect class="band" x="{n(at)}" y="{n(y - 8)}" width="16" height="9"/>')
        else:
            parts.append(f'<path class="{kind}" d="M{n(at)} {n(y - 3.5)}h16"/>')
        parts.append(text(at + 21, y, words, "tick"))
        at += 21 + 6.3 * len(words) + 18
    return "".join(parts)
