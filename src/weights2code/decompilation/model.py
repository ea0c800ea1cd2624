"""A model as one function: sequences (n, T, columns) in, outputs (n, T, outputs) and their margins out.

How inputs are given and outputs are meant is said, or found out by asking; what was found out is kept in
words. Before anything else the model is checked: it answers the same when it is asked again and in any batch,
it takes the whole domain, its outputs are numbers, and what comes later changes nothing earlier.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

import numpy as np

from weights2code.decompilation.feeds import Form, Silent
from weights2code.decompilation.hosts import Host
from weights2code.effort import charge
from weights2code.errors import InputError
from weights2code.language import Domain, uniform

At = Literal["every", "last"]
#: Questions that a decompilation may take unless told; fewer than these say nothing.
QUERIES, FEWEST = 200_000, 2000
#: Positions, and pairs of positions, of one question.
POSITIONS, PAIRS = 1 << 16, 1 << 23
#: Raw outputs that differ by this share of the largest are the same: order of sums, and no more.
SAME = 1e-4
#: Sequences of a first look, of a look at the outputs, and of a check.
LOOK, OUTPUTS, CHECKED = 3, 256, 16
#: Outputs that nearly all lie this near to whole numbers are meant to be rounded.
NEAR_WHOLE = 0.25
#: Of several outputs, how near.
WHOLE = 0.02
#: Raw numbers nearer to zero than this share of their median are rare where only the sign counts.
NEAR_ZERO, RARELY = 0.5, 0.02
#: Of the largest output: how far reals may be off if nobody says.
TOLERANCE = 0.01
#: Values of an input that a sentence shows.
SHOWN = 40


@dataclass(frozen=True, slots=True)
class Asking:
    """What the user says about a model; None is found out.

    `read` is `auto`, `argmax`, `round`, `real` or `real:TOL`; `one_hot` the values of each column; `longest`
    what the model takes at most; `queries` how many sequences it may be asked.
    """

    length: int = 12
    longest: int | None = None
    read: str = "auto"
    at: At | None = None
    one_hot: int | None = None
    time_first: bool = False
    queries: int = QUERIES
    seed: int = 0

    def __post_init__(self) -> None:
        kind, _, tolerance = self.read.partition(":")
        known = kind in ("auto", "argmax", "round") and not tolerance
        if not known and not (kind == "real" and _positive(tolerance or "1")):
            raise InputError(f"--read must be auto, argmax, round or real:1e-3, got {self.read!r}.")
        if self.at not in (None, "every", "last"):
            raise InputError(f"--at must be every or last, got {self.at!r}.")
        for name, value in (("length", self.length), ("longest", self.longest), ("one-hot", self.one_hot)):
            if value is not None and value < 1:
                raise InputError(f"--{name} must be at least 1, got {value}.")
        if self.longest is not None and self.longest < self.length:
            raise InputError(f"--longest {self.longest} is less than --length {self.length}; raise it.")
        if self.queries < FEWEST:
            raise InputError(f"--queries must be at least {FEWEST}, got {self.queries}.")


@dataclass(frozen=True, slots=True)
class Reading:
    """How raw outputs are meant: the largest of them, the sign of one, rounded, or as they are."""

    kind: Literal["argmax", "sign", "round", "real"]
    tolerance: float = 0.5

    @property
    def whole(self) -> bool:
        return self.kind != "real"

    @property
    def near(self) -> float:
        """How far apart outputs may be."""
        return 0.499 if self.whole else self.tolerance

    def words(self) -> str:
        return {
            "argmax": "the place of the largest number",
            "sign": "1 where the number is above 0",
            "round": "numbers, rounded",
            "real": f"numbers as they are, within {self.tolerance:.3g}",
        }[self.kind]

    def read(self, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs (n, T, outputs), and how far the raw ones are from giving others (n, T)."""
        if self.kind == "argmax":
            top = np.sort(raw, 2)
            return raw.argmax(2)[..., None].astype(float), top[..., -1] - top[..., -2]
        if self.kind == "sign":
            return (raw[..., :1] > 0).astype(float), np.abs(raw[..., 0])
        if self.kind == "round":
            whole = np.floor(raw + 0.5)
            return whole, (0.5 - np.abs(raw - whole)).min(2)
        return raw, np.full(raw.shape[:2], np.inf)


@dataclass(slots=True, eq=False)
class Model:
    """A model that can be asked; `queries` counts the sequences that it was given.

    `flat` outputs (n, T) are one number a position, others (n, k) those of the last; `found_out` is in words.
    """

    host: Host
    columns: Mapping[str, Domain]
    form: Form
    asking: Asking = field(default_factory=Asking)
    time_first: bool = False
    at: At = "every"
    flat: bool = True
    longest: int | None = None
    reading: Reading = field(default_factory=lambda: Reading("real"))
    queries: int = 0
    found_out: list[str] = field(default_factory=list)

    @property
    def domains(self) -> tuple[Domain, ...]:
        return tuple(self.columns.values())

    @property
    def outputs(self) -> tuple[str, ...]:
        """`y`, or `y1`, `y2`, ...; `output` where a column has that name."""
        count = self(self.some(1, 1))[0].shape[2]
        stem = "y" if not any(name.startswith("y") for name in self.columns) else "output"
        return (stem,) if count == 1 else tuple(f"{stem}{i + 1}" for i in range(count))

    def some(self, count: int, length: int | None = None) -> np.ndarray:
        """Uniform sequences, always the same; of the model's own length unless told."""
        rng = np.random.default_rng(self.asking.seed)
        return uniform(rng, self.domains, count, length or self.asking.length)

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs (n, T, outputs) and margins (n, T)."""
        return self.reading.read(self.raw(x))

    def raw(self, x: np.ndarray) -> np.ndarray:
        """Raw outputs (n, T, k), a bounded number of positions at a time."""
        count, length, _ = x.shape
        step = max(1, min(POSITIONS // length, PAIRS // length**2))
        parts = [self._positions(x[begin : begin + step]) for begin in range(0, count, step)]
        return np.concatenate(parts)

    def _positions(self, x: np.ndarray) -> np.ndarray:
        if self.at == "every":
            return self._finite(self.ask(x), x)
        columns = []
        for t in range(1, x.shape[1] + 1):  # the answer to each prefix, each asked once
            known, place = np.unique(x[:, :t].reshape(len(x), -1), axis=0, return_inverse=True)
            prefixes = known.reshape(len(known), t, -1)
            columns.append(self._finite(self.ask(prefixes)[:, -1:], prefixes)[place.reshape(-1)])
        return np.concatenate(columns, 1)

    def ask(self, x: np.ndarray) -> np.ndarray:
        """Raw outputs of one question: (n, T, k), or (n, 1, k) of a model that gives the last alone."""
        self.queries += len(x)
        began = time.perf_counter()
        try:
            out = self.host.ask(self.given(x))
        except Silent as error:
            raise InputError(f"the model {error}, for {self._blamed(x)}.") from None
        charge(time.perf_counter() - began)  # a slow model takes of the user's time too
        return self._arranged(out, x)

    def given(self, x: np.ndarray) -> np.ndarray:
        """Inputs as the model wants them."""
        values = encoded(x, self.domains, self.form)
        return values.swapaxes(0, 1) if self.time_first else values

    def _arranged(self, out: np.ndarray, x: np.ndarray) -> np.ndarray:
        count, length, _ = x.shape
        if self.time_first and out.ndim >= 2 and out.shape[:2] == (length, count):
            out = out.swapaxes(0, 1)
        if out.shape[:1] != (count,) or out.ndim > 3:
            raise _Shape(f"the model gives an array of shape {out.shape} for {count} sequences.")
        if out.ndim == 1:
            return out[:, None, None]
        if out.ndim == 2:
            return out[:, :, None] if self.flat else out[:, None, :]
        if out.shape[1] not in (1, length) or (out.shape[1] != length and self.at == "every"):
            raise _Shape(f"the model gives an array of shape {out.shape} for sequences of length {length}.")
        return out

    def _finite(self, raw: np.ndarray, x: np.ndarray) -> np.ndarray:
        bad = ~np.isfinite(raw).all(2)
        if bad.any():
            row, place = np.argwhere(bad)[0]
            end = x.shape[1] - raw.shape[1] + place + 1
            value = raw[row, place][~np.isfinite(raw[row, place])][0]
            raise InputError(f"the model gives {value:g}, which is no number, for {shown(x[row, :end])}.")
        return raw

    def _blamed(self, x: np.ndarray) -> str:
        """A sequence of these that the model fails on, in words, as far as it can still be asked."""
        for row in range(min(len(x), CHECKED)) if len(x) > 1 else ():
            try:
                self.host.ask(self.given(x[row : row + 1]))
            except Silent:
                return shown(x[row])
            except Exception:  # its process has ended
                break
        return shown(x[0]) if len(x) == 1 else f"one of {len(x)} sequences such as {shown(x[0])}"


class _Shape(InputError):
    """Outputs that are not arranged as any model's are."""


def encoded(x: np.ndarray, domains: tuple[Domain, ...], form: Form) -> np.ndarray:
    """Sequences (n, T, columns) in a form."""
    if form.kind == "tokens":
        x = x[..., 0] if x.shape[2] == 1 else x
    if form.kind != "one-hot":
        return np.asarray(x, form.dtype)
    sizes = sizes_of(domains, form.width)
    parts = []
    for i, (domain, size) in enumerate(zip(domains, sizes, strict=True)):
        first = 0 if domain.low >= 0 and domain.high < size else domain.low
        parts.append(x[..., i, None] - first == np.arange(size))
    return np.concatenate(parts, -1).astype(form.dtype)


def sizes_of(domains: tuple[Domain, ...], width: int | None) -> list[int]:
    """How many places each column has in a one-hot vector of that width."""
    least = [domain.size for domain in domains]
    if width is None or width == sum(least):
        return least
    return [width // len(domains)] * len(domains)


def introduced(host: Host, columns: Mapping[str, Domain], asking: Asking) -> Model:
    """Find out how a model wants to be asked, and check it.

    Raises
    ------
    InputError
        If it cannot be asked at all, or is not a function of the inputs so far.
    """
    model = _formed(host, columns, asking)
    ends = np.array([[d.low for d in model.domains], [d.high for d in model.domains]], float)
    x = np.concatenate([model.some(CHECKED), np.repeat(ends[:, None], asking.length, 1)])
    if not _close(model.raw(x), model.raw(x)):
        raise InputError(
            "the model gives different outputs when it is asked again; put it in eval mode, and draw no "
            "random numbers."
        )
    if not asking.time_first and not _same_in_any_batch(model):
        model.time_first = True
        _fits(model)
        if not _same_in_any_batch(model):
            raise InputError(
                "the model answers differently when other sequences stand in the batch; put it in eval mode."
            )
        model.found_out.append("the first axis is time")
    if model.at == "every" and not _causal(model):
        model.at = "last"
        model.found_out.append(
            "later inputs change earlier outputs, so its output at a position is what it gives there for the "
            "inputs up to it"
        )
    model.longest = asking.longest or _longest(model)
    _read(model)
    return model


def _formed(host: Host, columns: Mapping[str, Domain], asking: Asking) -> Model:
    """The first form that the model answers to."""
    domains, failure = tuple(columns.values()), ""
    for form in _forms(host.forms, domains, asking.one_hot):
        model = Model(host, columns, form, asking, asking.time_first, asking.at or "every")
        model.longest = asking.longest
        try:
            _fits(model, found_out=asking.at is None)
        except InputError as error:
            failure = failure or str(error).rstrip(".")
            continue
        if len({known.kind for known in host.forms}) > 1 and asking.one_hot is None:
            width = f" of width {form.width}" if form.kind == "one-hot" and form.width else ""
            model.found_out.append(f"inputs are given as {form.kind}{width}")
        return model
    raise InputError(f"the model cannot be asked: {failure or 'it wants inputs of another width'}.")


def _forms(known: list[Form], domains: tuple[Domain, ...], one_hot: int | None) -> list[Form]:
    whole = all(domain.discrete for domain in domains)
    if one_hot is not None:
        if not whole or one_hot < max(domain.size for domain in domains):
            raise InputError(f"--one-hot {one_hot} has no place for every value; the inputs have more.")
        dtype = next((form.dtype for form in known if form.dtype.startswith("float")), "float32")
        return [Form("one-hot", dtype, one_hot * len(domains))]
    fitting = []
    for form in known:
        if form.kind == "numbers" and form.width not in (None, len(domains)):
            continue
        if form.kind == "one-hot" and not (whole and _has_room(domains, form.width)):
            continue
        if form.kind == "tokens" and not whole and form.dtype.startswith("int"):
            continue
        fitting.append(form)
    return fitting


def _has_room(domains: tuple[Domain, ...], width: int | None) -> bool:
    sizes = [domain.size for domain in domains]
    if width is None:
        return sum(sizes) <= 4096
    return width == sum(sizes) or (width % len(sizes) == 0 and width // len(sizes) >= max(sizes))


def _fits(model: Model, *, found_out: bool = False) -> None:
    """Refuse a model that does not answer two lengths in a way that makes sense; whether it gives the last
    position alone is found out on the way."""
    length, outs = model.asking.length, []
    for steps in dict.fromkeys((max(1, length - 1), length)):
        x = model.some(LOOK, steps)
        try:
            outs.append((model.host.ask(model.given(x)), x))
        except Silent as error:
            raise InputError(f"the model {error}, for {shown(x[0])}.") from None
    model.flat = all(x.shape[1] in out.shape for out, x in outs)
    if found_out and length > 1 and not model.flat and outs[0][0].ndim < 3:
        model.at = "last"
        model.found_out.append("it gives the last position alone, so it is asked prefix by prefix")
    for out, x in outs:
        model._arranged(out, x)


def _same_in_any_batch(model: Model) -> bool:
    x = model.some(CHECKED)
    together = model.raw(x)
    alone = np.concatenate([model.raw(row[None]) for row in x[:LOOK]])
    return _close(together[:LOOK], alone) and _close(together, model.raw(x[::-1])[::-1])


def _causal(model: Model) -> bool:
    """Whether outputs are the same whatever comes later, and if nothing does."""
    length = model.asking.length
    x, others = np.split(model.some(2 * CHECKED), 2)
    whole = model.raw(x)
    for kept in {1, length // 2, length - 1} - {0}:
        other = np.concatenate([x[:, :kept], others[:, kept:]], 1)
        if not all(_close(model.raw(some)[:, :kept], whole[:, :kept]) for some in (other, x[:, :kept])):
            return False
    return True


def _close(one: np.ndarray, two: np.ndarray) -> bool:
    scale = max(1e-6, float(np.abs(two).max(initial=0.0)))
    return one.shape == two.shape and bool(np.abs(one - two).max(initial=0.0) <= SAME * scale)


def _longest(model: Model) -> int | None:
    """What it takes at most; None if nothing was found up to ten times the length."""

    def takes(steps: int) -> bool:
        try:
            model.raw(model.some(1, steps))
            return True
        except InputError:
            if not model.host.alive:
                raise
            return False

    low, high = model.asking.length, 10 * model.asking.length
    if takes(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if takes(middle) else (low, middle)
    model.found_out.append(f"it takes at most {low} positions")
    return low


def _read(model: Model) -> None:
    """How outputs are meant, as it is said or as they look."""
    raw = model.raw(model.some(OUTPUTS))
    kind, _, tolerance = model.asking.read.partition(":")
    if kind == "auto":
        kind = _meant(raw)
        model.found_out.append(f"outputs are read as {kind}")
    elif kind == "argmax" and raw.shape[2] == 1:
        kind = "sign"
    near = float(tolerance) if tolerance else TOLERANCE * float(np.abs(raw).max())
    model.reading = Reading("real", near or TOLERANCE) if kind == "real" else Reading(kind)  # type: ignore[arg-type]


def _meant(raw: np.ndarray) -> Literal["argmax", "sign", "round", "real"]:
    off = np.abs(raw - np.round(raw))
    near_whole = bool(np.quantile(off, 0.99) < NEAR_WHOLE)
    if raw.shape[2] > 1:
        return "round" if np.quantile(off, 0.99) < WHOLE and _several(np.round(raw)) else "argmax"
    if near_whole:
        return "round"
    size = np.abs(raw)
    both = (raw > 0).any() and (raw < 0).any()
    apart = np.mean(size < NEAR_ZERO * np.median(size)) < RARELY
    return "sign" if both and apart else "real"


def _several(whole: np.ndarray) -> bool:
    """Whether whole numbers (n, T, k) are several outputs, and not scores of which the largest counts: those
    hardly tie, and are as many rows as there are choices, or little more."""
    rows = whole.reshape(-1, whole.shape[2])
    top = np.sort(rows, 1)
    ties = np.mean(top[:, -1] == top[:, -2]) > RARELY
    return bool(ties) or len(np.unique(rows, axis=0)) > 2 * rows.shape[1]


def in_words(x: np.ndarray) -> str:
    """A sequence (T, columns); the same row again and again is counted."""
    rows = [f"{row[0]:g}" if len(row) == 1 else f"({', '.join(f'{v:g}' for v in row)})" for row in x]
    runs = [(text, len(list(run))) for text, run in groupby(rows)]
    return ", ".join(text if count == 1 else f"{text} x {count}" for text, count in runs)


def shown(x: np.ndarray) -> str:
    """What a sentence says of a sequence (T, columns)."""
    return f"the inputs {in_words(x[:SHOWN])}{f', ... ({len(x)} rows)' if len(x) > SHOWN else ''}"


def _positive(text: str) -> bool:
    try:
        return 0 < float(text) < float("inf")
    except ValueError:
        return False
