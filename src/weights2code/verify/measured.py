"""The certificate of a program on own data: exact where the data are, and honest about noise where not.

Whole-number targets must all be right. Real targets may differ by noise, if what is left over on the
sequences that were learned from looks like noise (`residuals`), and by no more than that on those that were
held out. The program runs free; only where noise drives the process itself is it judged one step ahead, and
the certificate says so.
"""

from __future__ import annotations

from dataclasses import replace

from weights2code.data import Problem, held_pairs
from weights2code.language import Recurrence
from weights2code.verify.certificate import Certificate
from weights2code.verify.held_out import certify_on_data
from weights2code.verify.residuals import Residuals, residuals

#: What exact data allow: a share of the spread, for digits that were not written.
ROUNDING = 1e-4
#: Errors of more than this percentage of the spread are no program.
MOST_NOISE = 95.0


def certify_measured(program: Recurrence, problem: Problem, seed: int) -> Certificate:
    """Judge a program by the held-out part of own data."""
    kept = held_pairs(problem.held_out or problem.validation)
    if problem.integer_outputs:
        return certify_on_data(program, kept, integer_outputs=True, seed=seed)
    judged: list[Certificate] = []
    looks_back = any(name in problem.outputs for name in program.depths())
    for one_step in (False, True) if looks_back else (False,):
        found = residuals(program, problem.training, one_step=one_step)
        certificate = certify_on_data(
            program,
            kept,
            integer_outputs=False,
            tolerance=ROUNDING,
            noise=max(item.rmse for item in found),
            noise_rows=int(problem.training.scored.sum()),
            one_step=one_step,
            seed=seed,
        )
        certificate = _with_noise(certificate, found, problem)
        if certificate.verified:
            return certificate
        judged.append(certificate)
    return judged[0]


def _with_noise(certificate: Certificate, found: tuple[Residuals, ...], problem: Problem) -> Certificate:
    """Say how large the noise is, or that what is left is none."""
    notes = list(certificate.notes)
    for name, item in zip(problem.outputs, found, strict=True):
        if item.exact:
            continue
        share = 100 * item.rmse / max(item.spread, 1e-300)
        reason = ""
        if item.structure:
            reason = f"{name}: {item.structure}"
        elif share > MOST_NOISE:
            reason = f"nearly nothing of {name} is explained: its errors are {share:.3g} % of its spread"
        if reason:
            method = f"{certificate.method}; {reason}"
            certificate = replace(certificate, verdict="failed", method=method)
        else:
            notes.append(
                f"the data are not exact: {name} scatters by {item.rmse:.3g} ({share:.2g} % of its spread) "
                "around the program, without a pattern that was found; constants have the digits that the "
                "data support"
            )
    return replace(certificate, notes=tuple(notes))
