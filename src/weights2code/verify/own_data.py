"""The certificate of a program on own data: exact where the data are, and honest about noise where not.

There is no machine to compare with, and no number of sequences proves a program: the verdict is `tested` at
best. Whole-number targets must all be right, unless some of them are taken to be mistakes. Real targets may
differ by noise, which no program can predict, if what is left over on the sequences that were learned from
looks like noise (`residuals`), and by no more than that on those that were held out. The program runs free:
it sees the inputs and its own outputs. Only where noise drives the process itself, so that errors add up with
time, is it judged one step ahead, seeing the true past, and the certificate says so. What passes on the
held-out part is judged by all rows then (`all_rows`), those that it was learned from among them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weights2code.data import Problem, Regime, Sequences
from weights2code.data.parts import LONGEST
from weights2code.language import Recurrence, definition_variables
from weights2code.simplify.thresholds import gaps_in
from weights2code.verify.all_rows import over_all, size_of
from weights2code.verify.certificate import Agreement, Certificate, Judged, versions
from weights2code.verify.residuals import Residuals, answers, flips, residuals
from weights2code.verify.testing import agreement, shortest_wrong_prefix, wrong_positions

#: Standard deviations by which the mean square of noise may differ from what is expected.
SCATTER = 4.0
#: What exact data allow: a share of the spread, for digits that were not written.
ROUNDING = 1e-4
#: Errors of more than this percentage of the spread are no program.
MOST_NOISE = 95.0
#: Thresholds that are remarked on where the rows have no values around them.
MOST_GAPS = 3
#: Said of programs that fail where long sequences were cut.
CUT = (
    f"long sequences were cut into windows of {LONGEST} rows, which hardly show rules over everything so "
    f"far; if yours is one, give several sequences of at most {LONGEST} rows, each from its start"
)


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
            rule = f"{share} right to the nearest whole number"
            return (agreement.accuracy or 0.0) >= 1.0 - self.share(), rule
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
    ran = "one step ahead, the true past outputs given," if one_step else "run by itself"
    kept = "1 sequence" if found.sequences == 1 else f"{found.sequences} sequences"
    return Certificate(
        verdict="tested" if passed else "failed",
        method=f"{ran} on {kept} kept back ({sequences.scored.sum()} rows); asked for: {rule}",
        domain=(),
        covers="the tested lengths",
        lengths=tuple(sorted(set(sequences.lengths.tolist()))),
        target=found,
        versions=versions(),
        seed=seed,
        one_step=one_step,
        counterexample=counterexample,
    )


def certify_measured(program: Recurrence, problem: Problem, seed: int) -> Certificate:
    """Judge a program by the held-out part of own data, and then by all rows that there are."""
    looks_back = any(name in problem.outputs for name in program.depths())
    exactly = problem.integer_outputs and problem.regime is not Regime.MISTAKES
    ways = []
    for one_step in (False, True) if looks_back and not exactly else (False,):
        found, allowed = _judge(program, problem, seed, one_step)
        ways.append(_by_all_rows(found, program, problem, allowed) if found.verified else found)
        if ways[-1].verified:
            break
    found = ways[-1] if ways[-1].verified else ways[0]
    return replace(found, notes=(*found.notes, *_remarks(found, program, problem)))


def _by_all_rows(
    certificate: Certificate, program: Recurrence, problem: Problem, allowed: Allowed
) -> Certificate:
    """The certificate after all rows that can be judged: what was held out may be too little to show what the
    others do."""
    rows, whole = problem.rows, problem.integer_outputs
    if rows is None:
        return certificate
    near = 0.5 if whole else max(allowed.error(rows.y), 3 * allowed.noise)
    told = over_all(program, rows, problem.domains, near=near, cut=not whole, one_step=certificate.one_step)
    judged, count = told.judged, int(told.judged.sum())
    mask = np.broadcast_to(judged[None, :, None], (1, *rows.y.shape))
    over = agreement([(told.answers[None], rows.y[None], mask)], whole)
    passed, _ = allowed.judge(over, rows.y[judged])
    right = int((np.abs(told.answers - rows.y)[judged] < near).all(1).sum()) if whole else None
    counts, reason = Judged(count, right, rows.of), ""
    if not count or told.lost > count:
        reason = f"what the program remembers is not known in {told.lost} rows"
    elif not passed:
        reason = "it is wrong elsewhere" if whole else f"over all rows its rmse is {over.rmse:.3g}"
    elif 2 * told.seen < told.transitions and size_of(program) >= told.seen:
        reason = f"most of its transitions were never seen, the rows show {told.seen} of {told.transitions}"
    method = f"{certificate.method}; {f'but {reason}: ' if reason else ''}{counts.words()}"
    if not reason:
        return replace(certificate, rows=counts, method=method)
    target = certificate.target if passed else replace(over, sequences=len(rows.lengths))
    return replace(certificate, verdict="failed", method=method, target=target, rows=counts)


def _learned(program: Recurrence, problem: Problem) -> Sequences:
    """Sequences to measure noise on; what adds up from the start must be seen from there."""
    own = {*problem.inputs, *problem.outputs}
    remembers = program.retrieves() or not set(program.depths()) <= own
    if problem.beginnings is not None and remembers:
        return problem.beginnings
    return problem.training


def _judge(program: Recurrence, problem: Problem, seed: int, one_step: bool) -> tuple[Certificate, Allowed]:
    """By what was held out, with room for what is noise, or mistakes, where the program was learned."""
    kept = problem.held_out or problem.validation
    whole, learned = problem.integer_outputs, _learned(program, problem)
    reasons: list[str] = []
    notes: list[str] = []
    if not whole:
        found = residuals(program, learned, one_step=one_step)
        noise, rows = max(item.rmse for item in found), int(learned.scored.sum())
        allowed = Allowed(integer_outputs=False, tolerance=ROUNDING, noise=noise, noise_rows=rows)
        for name, item in zip(problem.outputs, found, strict=True):
            _say(name, item, reasons, notes)
    elif problem.regime is Regime.MISTAKES:
        wrong = flips(program, learned, one_step=one_step)
        allowed = Allowed(integer_outputs=True, tolerance=wrong.tolerance(int(kept.scored.sum())))
        if wrong.structure:
            reasons.append(wrong.structure)
        elif wrong.share:
            notes.append(
                f"the data are not exact: {100 * wrong.share:.2g} % of the rows disagree with the program, "
                "without a pattern that was found; they are taken for mistakes in the data"
            )
    else:
        allowed = Allowed(integer_outputs=True)
    certificate = certify_on_data(program, kept, allowed, one_step=one_step, seed=seed)
    verdict = "failed" if reasons else certificate.verdict
    method = "; ".join((certificate.method, *reasons))
    return replace(certificate, verdict=verdict, method=method, notes=tuple(notes)), allowed


def _say(name: str, item: Residuals, reasons: list[str], notes: list[str]) -> None:
    """How large the noise of an output is, or that what is left is none."""
    share = 100 * item.rmse / max(item.spread, 1e-300)
    if item.exact:
        return
    if item.structure:
        reasons.append(f"{name}: {item.structure}")
    elif share > MOST_NOISE:
        reasons.append(f"nearly nothing of {name} is explained: its errors are {share:.3g} % of its spread")
    else:
        notes.append(
            f"the data are not exact: {name} scatters by {item.rmse:.3g} ({share:.2g} % of its spread) "
            "around the program, without a pattern that was found; constants have the digits that the "
            "data support"
        )


def _remarks(certificate: Certificate, program: Recurrence, problem: Problem) -> tuple[str, ...]:
    """What whoever brought the data will want to know: what was not needed, or may have been in the way."""
    if not certificate.verified:
        return (CUT,) if problem.training.given.any() else ()
    read = {v.name for step in program.steps for v in definition_variables(step.definition)}
    names = [name for name in problem.inputs if name not in read]
    wide = [gap.words() for gap in gaps_in(problem, program) if gap.wide]
    if not names or len(names) == len(problem.inputs):
        return tuple(wide[:MOST_GAPS])
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    be, them = ("is", "it") if len(names) == 1 else ("are", "them")
    return f"{listed} {be} not needed: the rule does not read {them}", *wide[:MOST_GAPS]
