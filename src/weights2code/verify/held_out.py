"""The verdict for own data: there is no machine to compare with, only sequences that training never saw.

No number of sequences proves a program, so the verdict is `tested` at best. Measured targets carry noise,
which no program can predict; the rule makes room for as much of it as the caller knows about. A program
runs free: it sees the inputs and its own outputs. Where noise enters the process itself, so that errors add
up with time, no program can follow for long; then it may be judged one step ahead, seeing the true past,
and the certificate says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.data import Sequences
from weights2code.language import Recurrence
from weights2code.verify.certificate import Agreement, Certificate, versions
from weights2code.verify.residuals import answers
from weights2code.verify.testing import agreement, shortest_wrong_prefix, wrong_positions

#: Standard deviations by which the mean square of noise may differ from what is expected.
SCATTER = 4.0


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a program may have wrong.

    Parameters
    ----------
    integer_outputs
        Whole-number targets: at most the share `tolerance` (default 0) of the outputs may be wrong after
        rounding. Otherwise the root mean squared error may be `tolerance` (default 0.01) times the
        standard deviation of the targets, on top of the noise.
    noise
        The standard deviation of the noise in real targets, if known; no program can come closer.
    noise_rows
        How many rows the noise was estimated from; None is a noise that is known.
    """

    integer_outputs: bool
    tolerance: float | None = None
    noise: float = 0.0
    noise_rows: int | None = None

    def share(self) -> float:
        """The tolerance that counts."""
        usual = 0.0 if self.integer_outputs else 0.01
        return usual if self.tolerance is None else self.tolerance

    def error(self, targets: np.ndarray) -> float:
        """The error that is none, of real targets."""
        return self.share() * float(np.std(targets)) + 1e-9 * float(np.max(np.abs(targets), initial=0.0))

    def judge(self, agreement: Agreement, targets: np.ndarray) -> tuple[bool, str]:
        """Whether outputs agree well enough with so many targets, and the rule in words."""
        if self.integer_outputs:
            share = f"at least {1 - self.share():.1%} of the outputs" if self.share() else "every output"
            return (agreement.accuracy or 0.0) >= 1.0 - self.share(), f"{share} right after rounding"
        # The mean square of n noise terms scatters by sqrt(2 / n) of itself; a few times that is allowed.
        unsure = 2 / max(1, targets.size) + (2 / self.noise_rows if self.noise_rows else 0.0)
        scatter = 1 + SCATTER * np.sqrt(unsure)
        most = float(np.hypot(self.error(targets), self.noise * np.sqrt(scatter)))
        return agreement.rmse <= most, f"root mean squared error at most {most:.3g}"


def certify_on_data(
    program: Recurrence, sequences: Sequences, allowed: Allowed, *, one_step: bool = False, seed: int = 0
) -> Certificate:
    """Compare a program with held-out sequences of any lengths: `tested` or `failed`.

    The outputs of context positions are given to the program and not judged; with `one_step` it is given the
    true past outputs at every position, instead of its own.
    """
    x, y, whole = sequences.x, sequences.y, allowed.integer_outputs
    judged = np.broadcast_to(sequences.scored[:, :, None], y.shape)
    answer = answers(program, sequences, one_step=one_step)
    found = agreement([(answer, y, judged)], whole)
    passed, rule = allowed.judge(found, y[judged])
    counterexample = None
    if not passed:
        limit = max(allowed.error(y[judged]), 3 * allowed.noise)
        wrong = wrong_positions(answer, y, whole=whole, tolerance=limit, scale=1.0) & judged
        counterexample = shortest_wrong_prefix(x, wrong) if wrong.any() else None
    ran = "one step ahead, the true past outputs given," if one_step else "free-running"
    kept = "1 held-out sequence" if found.sequences == 1 else f"{found.sequences} held-out sequences"
    return Certificate(
        verdict="tested" if passed else "failed",
        method=f"{ran} on {kept} ({sequences.scored.sum()} positions); the rule: {rule}",
        domain=(),
        covers="the tested lengths",
        lengths=tuple(sorted(set(sequences.lengths.tolist()))),
        target=found,
        versions=versions(),
        seed=seed,
        one_step=one_step,
        counterexample=counterexample,
    )
