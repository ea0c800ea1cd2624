"""The verdict for own data: there is no machine to compare with, only sequences that training never saw.

No number of sequences proves a program, so the verdict is `tested` at best. Measured targets carry noise,
which no program can predict; the rule makes room for as much of it as the caller knows about.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from weights2code.language import Recurrence
from weights2code.verify.certificate import Certificate, Sequence, versions
from weights2code.verify.testing import Runner, Tally, compare, shortest_wrong_prefix, wrong_positions


def certify_on_data(
    program: Recurrence,
    sequences: Iterable[tuple[np.ndarray, np.ndarray]],
    *,
    integer_outputs: bool,
    tolerance: float | None = None,
    noise: float = 0.0,
    seed: int = 0,
    discrete_model: Runner | None = None,
) -> Certificate:
    """Compare a program, free-running, with held-out sequences of any lengths: `tested` or `failed`.

    Parameters
    ----------
    sequences
        Pairs of inputs, shape (T, columns), and targets, shape (T, outputs).
    integer_outputs
        Whole-number targets: at most the share `tolerance` (default 0) of the outputs may be wrong after
        rounding. Otherwise the root mean squared error may be `tolerance` (default 0.01) times the
        standard deviation of the targets, on top of the noise.
    noise
        The standard deviation of the noise in real targets, if known; no program can come closer.
    """
    batches = _by_length(sequences)
    tally = Tally(integer_outputs)
    answers = []
    for x, y in batches:
        with np.errstate(all="ignore"):
            answers.append(program.run(x))
        tally.add(answers[-1], y)
    agreement = tally.agreement()
    targets = np.concatenate([y.ravel() for _, y in batches])
    tolerance = (0.0 if integer_outputs else 0.01) if tolerance is None else tolerance
    allowed = tolerance * float(np.std(targets)) + 1e-9 * float(np.max(np.abs(targets)))
    if integer_outputs:
        passed = (agreement.accuracy or 0.0) >= 1.0 - tolerance
        rule = f"at least {1 - tolerance:.6g} of the outputs right after rounding"
    else:
        # The mean square of n noise terms scatters by sqrt(2 / n) of itself; three times that is allowed.
        scatter = 1 + 3 * np.sqrt(2 / max(1, tally.positions))
        most = float(np.hypot(allowed, noise * np.sqrt(scatter)))
        passed = agreement.rmse <= most
        rule = f"root mean squared error at most {most:.3g}"
    model = None
    if discrete_model is not None:
        pairs = ((answer, discrete_model(x)) for answer, (x, _) in zip(answers, batches, strict=True))
        model = compare(pairs, whole=integer_outputs)
    limit = max(allowed, 3 * noise)
    return Certificate(
        verdict="tested" if passed else "failed",
        method=f"free-running on {agreement.sequences} held-out sequences; the rule: {rule}",
        domain=(),
        covers="the tested lengths",
        lengths=tuple(sorted({x.shape[1] for x, _ in batches})),
        target=agreement,
        model=model,
        versions=versions(),
        seed=seed,
        counterexample=None if passed else _first_wrong(batches, answers, integer_outputs, limit),
    )


def _by_length(sequences: Iterable[tuple[np.ndarray, np.ndarray]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sequences of one length as one batch, (n, T, columns) and (n, T, outputs)."""
    groups: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
    for x, y in sequences:
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        if x.ndim != 2 or y.ndim != 2 or len(x) != len(y):
            shapes = f"{x.shape} and {y.shape}"
            raise ValueError(f"a sequence is inputs (T, columns) and targets (T, outputs), not {shapes}")
        groups.setdefault(len(x), []).append((x, y))
    if not groups:
        raise ValueError("there are no sequences to test on")
    return [(np.stack([x for x, _ in group]), np.stack([y for _, y in group])) for group in groups.values()]


def _first_wrong(
    batches: list[tuple[np.ndarray, np.ndarray]], answers: list[np.ndarray], whole: bool, limit: float
) -> Sequence | None:
    """The shortest prefix whose last output is off by more than `limit` (after rounding, if whole)."""
    found: list[Sequence] = []
    for (x, y), answer in zip(batches, answers, strict=True):
        wrong = wrong_positions(answer, y, whole=whole, tolerance=limit, scale=1.0)
        if wrong.any():
            found.append(shortest_wrong_prefix(x, wrong))
    return min(found, key=len, default=None)
