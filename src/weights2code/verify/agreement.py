"""Three-way agreement: the text, the recurrence that it was written from, and the discrete model.

The text is what users keep, the recurrence is what proofs are about, and the model is what was trained; a
certificate means something only if the three compute the same. The text and the recurrence must agree to
rounding; the model need only be as good as its training made it, so it is measured and not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weights2code.language import Recurrence
from weights2code.verify.certificate import Agreement
from weights2code.verify.testing import Runner, Tally

#: Runs the program's text: inputs of shape (T, columns), one a sequence -> outputs, (T,) or (T, outputs).
TextRunner = Callable[[Sequence[np.ndarray]], Iterable[Any]]

#: The text may order its operations differently; more than rounding is a fault.
TEXT_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class ThreeWay:
    """Text against recurrence, and recurrence against the discrete model (None without one)."""

    text: Agreement
    model: Agreement | None
    text_agrees: bool


def three_way(
    program: Recurrence,
    run_text: TextRunner,
    sequences: Sequence[np.ndarray],
    *,
    integer_outputs: bool,
    discrete_model: Runner | None = None,
) -> ThreeWay:
    """Run all three on the same sequences, each of shape (T, columns), of any lengths."""
    sequences = [np.asarray(x, dtype=float) for x in sequences]
    text, model = Tally(integer_outputs), Tally(integer_outputs)
    agrees = True
    for x, raw in zip(sequences, run_text(sequences), strict=True):
        with np.errstate(all="ignore"):
            own = program.run(x[None])
        written = np.asarray(raw, dtype=float).reshape(own.shape)
        text.add(written, own)
        agrees &= bool(np.allclose(written, own, rtol=TEXT_TOLERANCE, atol=TEXT_TOLERANCE, equal_nan=True))
        if discrete_model is not None:
            model.add(own, np.asarray(discrete_model(x[None]), dtype=float))
    return ThreeWay(text.agreement(), None if discrete_model is None else model.agreement(), agrees)
