"""Layouts: how inputs and past outputs become the channels of the stream (design, section 2).

- `tagging`: y_t from the inputs up to t.
- `autoregressive`: the stream also carries y_{t-1}, one channel an output, teacher-forced in training.
- `concat`, the paper's own: [x_1..x_n, y_1..y_n] with next-token prediction. At the place of y_{t-1} the
  offset n-1 is x_t, n is x_{t-1}, 1 is y_{t-2}. A token is as wide as the wider of inputs and outputs.

Values are divided by a power of two, which is exact both ways, and zero stays zero: "nothing before the
start" means the same inside the model and outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from weights2code.data.sequences import Sequences
from weights2code.errors import InputError
from weights2code.json_fields import from_fields, to_fields

LAYOUTS = ("tagging", "autoregressive", "concat")


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout with the scales of columns and outputs; turns sequences into channels and targets.

    Parameters
    ----------
    name : one of `LAYOUTS`.
    input_scales, output_scales : powers of two that columns and outputs are divided by.
    first_scored : positions before this one (counting from 0) are not scored; only `concat` needs it.
    """

    name: str
    input_scales: tuple[float, ...]
    output_scales: tuple[float, ...]
    first_scored: int = 0

    def __post_init__(self) -> None:
        if self.name not in LAYOUTS:
            raise InputError(f"unknown layout {self.name!r}; choose one of {', '.join(LAYOUTS)}.")

    @property
    def channels(self) -> int:
        columns, outputs = len(self.input_scales), len(self.output_scales)
        if self.name == "concat":
            return max(columns, outputs)
        return columns + (outputs if self.name == "autoregressive" else 0)

    @property
    def outputs(self) -> int:
        return len(self.output_scales)

    def channel_names(self, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> tuple[str, ...]:
        """Readable names of the stream's first variables."""
        if self.name == "concat":
            return tuple(f"token{i}" for i in range(self.channels))
        return inputs + (tuple(f"{name}[t-1]" for name in outputs) if self.name == "autoregressive" else ())

    def encode(self, sequences: Sequences, dtype: type = np.float32) -> Encoded:
        """Channels, targets and what is scored, in the layout of the stream, scaled."""
        x = sequences.x / np.array(self.input_scales)
        y = sequences.y / np.array(self.output_scales)
        valid = sequences.scored
        valid[:, : self.first_scored] = False
        n, length, _ = x.shape
        if self.name == "tagging":
            channels, targets = x, y
        elif self.name == "autoregressive":
            before = np.concatenate([np.zeros_like(y[:, :1]), y[:, :-1]], 1)
            channels, targets = np.concatenate([x, before], 2), y
        else:
            if not (sequences.lengths == length).all() or sequences.given.any():
                raise InputError("the concat layout needs whole sequences of one length; use autoregressive.")
            width = self.channels

            def widen(a: np.ndarray) -> np.ndarray:
                return np.pad(a, ((0, 0), (0, 0), (0, width - a.shape[2])))

            channels = np.concatenate([widen(x), widen(y)[:, :-1]], 1)
            before = np.zeros((n, length - 1, y.shape[2]))
            targets = np.concatenate([before, y], 1)
            valid = np.concatenate([np.zeros((n, length - 1), bool), valid], 1)
        order = (2, 1, 0)
        return Encoded(
            np.ascontiguousarray(channels.transpose(order), dtype=dtype),
            np.ascontiguousarray(targets.transpose(order), dtype=dtype),
            np.ascontiguousarray(valid.T),
        )

    def to_dict(self) -> dict[str, Any]:
        return to_fields(self)

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Layout:
        """Inverse of `to_dict`; scales are positive."""
        found = from_fields(Layout, data, "a layout")
        columns, outputs = found.input_scales, found.output_scales
        if not columns or not outputs or min(columns + outputs) <= 0:
            raise ValueError("a scale must be a positive number")
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """What the model sees: channels and targets, laid out (variable, position, sequence)."""

    channels: Float[np.ndarray, "channel pos sequence"]
    targets: Float[np.ndarray, "output pos sequence"]
    scored: Bool[np.ndarray, "pos sequence"]


def fit_layout(name: str, sequences: Sequences, first_scored: int = 0) -> Layout:
    """Choose scales from the data: the power of two next above the root mean square.

    Columns of like size share one scale, so that equal values stay equal across columns.
    """
    valid = sequences.valid
    columns = [_scale(sequences.x[..., i][valid]) for i in range(sequences.x.shape[2])]
    outputs = [_scale(sequences.y[..., i][valid]) for i in range(sequences.y.shape[2])]
    if name == "concat":  # one scalar sequence, one unit
        columns = [max(columns + outputs)] * len(columns)
        outputs = [columns[0]] * len(outputs)
    return Layout(name, _share(columns), _share(outputs), first_scored)  # type: ignore[arg-type]


def _scale(values: np.ndarray) -> float:
    size = float(np.sqrt(np.mean(np.square(values))))
    return float(2.0 ** np.ceil(np.log2(size))) if size > 0 else 1.0


def _share(scales: list[float]) -> tuple[float, ...]:
    """Give columns whose scales lie within a factor of 8 of the largest that largest scale."""
    shared = dict.fromkeys(scales, 0.0)
    for scale in sorted(shared, reverse=True):
        larger = [other for other in shared if shared[other] == other and other >= scale]
        near = [other for other in larger if other <= 8 * scale]
        shared[scale] = max(near) if near else scale
    return tuple(shared[scale] for scale in scales)
