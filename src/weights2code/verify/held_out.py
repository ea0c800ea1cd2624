"""The verdict for own data: there is no machine to compare with, only sequences that training never saw.

No number of sequences proves a program, so the verdict is `tested` at best. Measured targets carry noise,
which no program can predict; the rule makes room for as much of it as the caller knows about. A program
runs free: it sees the inputs and its own outputs. Where noise enters the process itself, so that errors add
up with time, no program can follow for long; then it may be judged one step ahead, seeing the true past,
and the certificate says so.
"""

from __future__ import annotations

import numpy as np

from weights2code.data import Sequences
from weights2code.language import Recurrence
from weights2code.verify.certificate import Certificate, versions
from weights2code.verify.residuals import answers
from weights2code.verify.testing import Tally, shortest_wrong_prefix, wrong_positions

#: Standard deviations by which the mean square of noise may differ from what is expected.
SCATTER = 4.0


def certify_on_data(
    program: Recurrence,
    sequences: Sequences,
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
        Inputs and targets; the outputs of context positions are given to the program and not judged.
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
    x, y = sequences.x, sequences.y
    judged = np.broadcast_to(sequences.scored[:, :, None], y.shape)
    answer = answers(program, sequences, one_step=one_step)
    tally = Tally(integer_outputs)
    tally.add(answer, y, judged)
    agreement = tally.agreement()
    targets = y[judged]
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
    counterexample = None
    if not passed:
        limit = max(allowed, 3 * noise)
        wrong = wrong_positions(answer, y, whole=integer_outputs, tolerance=limit, scale=1.0) & judged
        counterexample = shortest_wrong_prefix(x, wrong) if wrong.any() else None
    ran = "one step ahead, the true past outputs given," if one_step else "free-running"
    kept = "1 held-out sequence" if agreement.sequences == 1 else f"{agreement.sequences} held-out sequences"
    return Certificate(
        verdict="tested" if passed else "failed",
        method=f"{ran} on {kept} ({sequences.scored.sum()} positions); the rule: {rule}",
        domain=(),
        covers="the tested lengths",
        lengths=tuple(sorted(set(sequences.lengths.tolist()))),
        target=agreement,
        versions=versions(),
        seed=seed,
        one_step=one_step,
        counterexample=counterexample,
    )
