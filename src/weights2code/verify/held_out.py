"""The verdict for own data: there is no machine to compare with, only sequences that training never saw.

No number of sequences proves a program, so the verdict is `tested` at best. Measured targets carry noise,
which no program can predict; the rule makes room for as much of it as the caller knows about. A program
runs free: it sees the inputs and its own outputs. Where noise enters the process itself, so that errors add
up with time, no program can follow for long; then it may be judged one step ahead, seeing the true past,
and the certificate says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weights2code.language import Recurrence
from weights2code.verify.certificate import Certificate, Sequence, versions
from weights2code.verify.testing import Tally, shortest_wrong_prefix, wrong_positions

#: Standard deviations by which the mean square of noise may differ from what is expected.
SCATTER = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Sequences of one length; the first `given` positions of each are known and not judged."""

    x: np.ndarray
    y: np.ndarray
    given: np.ndarray

    @property
    def judged(self) -> np.ndarray:
        """Mask like y."""
        later = np.arange(self.y.shape[1])[None, :] >= self.given[:, None]
        return np.broadcast_to(later[:, :, None], self.y.shape)

    def run(self, program: Recurrence, one_step: bool) -> np.ndarray:
        until = np.full(len(self.x), self.x.shape[1]) if one_step else self.given
        with np.errstate(all="ignore"):
            return program.run(self.x, self.y, until) if until.any() else program.run(self.x)


def certify_on_data(
    program: Recurrence,
    sequences: Iterable[tuple[Any, ...]],
    *,
    integer_outputs: bool,
    tolerance: float | None = None,
    noise: float = 0.0,
    noise_rows: int | None = None,
    one_step: bool = False,
    seed: int = 0,
) -> Certificate:
    """Compare a program with held-out sequences of any lengths: `tested` or `failed`.

    Parameters
    ----------
    sequences
        Pairs of inputs, shape (T, columns), and targets, shape (T, outputs); a third entry counts the
        positions at the start that are known: their outputs are given to the program and not judged.
    integer_outputs
        Whole-number targets: at most the share `tolerance` (default 0) of the outputs may be wrong after
        rounding. Otherwise the root mean squared error may be `tolerance` (default 0.01) times the
        standard deviation of the targets, on top of the noise.
    noise
        The standard deviation of the noise in real targets, if known; no program can come closer.
    noise_rows
        How many rows the noise was estimated from; None is a noise that is known.
    one_step
        Give the program the true past outputs at every position, instead of its own.
    """
    batches = _by_length(sequences)
    tally = Tally(integer_outputs)
    answers = []
    for batch in batches:
        answers.append(batch.run(program, one_step))
        tally.add(answers[-1], batch.y, batch.judged)
    agreement = tally.agreement()
    targets = np.concatenate([batch.y[batch.judged] for batch in batches])
    tolerance = (0.0 if integer_outputs else 0.01) if tolerance is None else tolerance
    allowed = tolerance * float(np.std(targets)) + 1e-9 * float(np.max(np.abs(targets)))
    if integer_outputs:
        passed = (agreement.accuracy or 0.0) >= 1.0 - tolerance
        share = f"at least {1 - tolerance:.1%} of the outputs" if tolerance else "every output"
        rule = f"{share} right after rounding"
    else:
        # The mean square of n noise terms scatters by sqrt(2 / n) of itself; a few times that is allowed.
        unsure = 2 / max(1, tally.positions) + (2 / noise_rows if noise_rows else 0.0)
        scatter = 1 + SCATTER * np.sqrt(unsure)
        most = float(np.hypot(allowed, noise * np.sqrt(scatter)))
        passed = agreement.rmse <= most
        rule = f"root mean squared error at most {most:.3g}"
    limit = max(allowed, 3 * noise)
    ran = "one step ahead, the true past outputs given," if one_step else "free-running"
    kept = "1 held-out sequence" if agreement.sequences == 1 else f"{agreement.sequences} held-out sequences"
    rows = sum(int(batch.judged[..., 0].sum()) for batch in batches)
    return Certificate(
        verdict="tested" if passed else "failed",
        method=f"{ran} on {kept} ({rows} positions); the rule: {rule}",
        domain=(),
        covers="the tested lengths",
        lengths=tuple(sorted({batch.x.shape[1] for batch in batches})),
        target=agreement,
        versions=versions(),
        seed=seed,
        one_step=one_step,
        counterexample=None if passed else _first_wrong(batches, answers, integer_outputs, limit),
    )


def _by_length(sequences: Iterable[tuple[Any, ...]]) -> list[_Batch]:
    """Sequences of one length as one batch, (n, T, columns) and (n, T, outputs)."""
    groups: dict[int, list[tuple[np.ndarray, np.ndarray, int]]] = {}
    for entry in sequences:
        x, y = np.asarray(entry[0], dtype=float), np.asarray(entry[1], dtype=float)
        if x.ndim != 2 or y.ndim != 2 or len(x) != len(y):
            shapes = f"{x.shape} and {y.shape}"
            raise ValueError(f"a sequence is inputs (T, columns) and targets (T, outputs), not {shapes}")
        given = int(entry[2]) if len(entry) > 2 else 0
        groups.setdefault(len(x), []).append((x, y, given))
    if not groups:
        raise ValueError("there are no sequences to test on")
    return [
        _Batch(*(np.stack(part) for part in zip(*group, strict=True)))  # type: ignore[arg-type]
        for group in groups.values()
    ]


def _first_wrong(
    batches: list[_Batch], answers: list[np.ndarray], whole: bool, limit: float
) -> Sequence | None:
    """The shortest prefix whose last output is off by more than `limit` (after rounding, if whole)."""
    found: list[Sequence] = []
    for batch, answer in zip(batches, answers, strict=True):
        wrong = wrong_positions(answer, batch.y, whole=whole, tolerance=limit, scale=1.0) & batch.judged
        if wrong.any():
            found.append(shortest_wrong_prefix(batch.x, wrong))
    return min(found, key=len, default=None)
