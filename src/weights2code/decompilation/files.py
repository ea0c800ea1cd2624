"""What a decompilation leaves in its folder: the program, its certificate, the model's in it, the page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from weights2code import __version__
from weights2code.data import from_arrays
from weights2code.decompilation.driver import Decompiled
from weights2code.decompilation.page import page
from weights2code.run_folder import CERTIFICATE, CONFIG, LATEX, PROGRAM, REPORT, RunFolder
from weights2code.verify import Certificate, certify_on_data
from weights2code.verify.own_data import Allowed


def leave(found: Decompiled, folder: RunFolder, asked: dict[str, Any]) -> None:
    """Write the files; the certificate stands for all of them, and the page comes after it."""
    source = {"source": folder.source, "settings": folder.settings.to_dict(), "version": __version__}
    folder.write_json(CONFIG, {**source, "decompiled": asked})
    if found.program is None:
        return
    folder.write(PROGRAM, found.program.source())
    folder.write(LATEX, found.program.latex())
    folder.write_json(CERTIFICATE, certificate_dict(found))
    folder.write(REPORT, page(found, str(folder.source)))


def certificate_dict(found: Decompiled) -> dict[str, Any]:
    """`certificate.json`: of the program against its task or the model's answers, and of the model."""
    program, model = found.program, found.model
    assert program is not None
    assert model is not None
    certificate = found.against or _on_answers(found)
    certificate = replace(certificate, network=None, taught=None, listing=None, rule=None)
    length = {"lines": program.lines, "body": program.body, "operations": program.operations}
    against = {} if found.against is None else {"against": found.task}
    return {
        **certificate.to_dict(),
        **against,
        "formula": program.formula(),
        "origin": program.how,
        "program_length": length,
        "program": program.to_dict(),
        "attempts": [],
        "model": model.to_dict(),
    }


def _on_answers(found: Decompiled) -> Certificate:
    """The certificate of a program by answers of the model that it was not learned from."""
    assert found.rule is not None
    if found.rule.certificate is not None:
        return found.rule.certificate
    program = found.rule.program
    x = np.zeros((1, 1, len(program.recurrence.inputs)))
    sequences = from_arrays(x, program.recurrence.run(x))
    return certify_on_data(program.recurrence, sequences, Allowed(program.integer_outputs))


def as_dict(found: Decompiled, folder: RunFolder) -> dict[str, Any]:
    """The result as plain data, for `--json`."""
    program = found.program
    return {
        "source": str(folder.source),
        "exit_code": found.exit_code,
        "message": found.message,
        "formula": program.formula().splitlines() if program else None,
        "model": found.model.to_dict() if found.model else None,
        "against": None if found.against is None else {"task": found.task, **_brief(found.against)},
        "seconds": round(found.seconds, 3),
        "folder": str(folder.path),
        "files": folder.files(),
    }


def _brief(certificate: Certificate) -> dict[str, Any]:
    return {"verdict": certificate.verdict, "explanation": certificate.explain()}


def facts(found: Decompiled, folder: RunFolder) -> list[tuple[str, str]]:
    """What stands below the formula, as pairs of a word and a text."""
    model = found.model
    if model is None:
        return [("result", found.message), ("time", f"{found.seconds:.1f} s")]
    rows = [("verdict", model.verdict), ("why", model.explain()), ("outputs", model.reading)]
    rows += [("found out", line) for line in model.how]
    if model.shortest is not None:
        rows.append(("inputs", inputs_in_words(model.shortest.inputs)))
    shares = (f"{length}: {share.sequences:.3f}" for length, share in model.agreement.items())
    rows.append(("agreement", f"share of random sequences by length: {', '.join(shares)}"))
    rows += [("where", region.words()) for region in model.regions]
    if model.thin:
        rows.append(("margin", f"{model.thin[0][0]:.3g} at the least where both agree"))
    rows += [("or", rule) for rule in model.other_rules]
    if found.against is not None:
        rows.append((found.task, f"{found.against.verdict}; {found.against.explain()}"))
    rows.append(("asked", f"{model.queries} sequences, in {found.seconds:.1f} s"))
    rows.append(("files", f"{folder.path}: {', '.join(folder.files())}"))
    return rows


def inputs_in_words(inputs: np.ndarray) -> str:
    """A sequence (T, columns); the same row again and again is counted."""
    parts: list[tuple[str, int]] = []
    for row in inputs.tolist():
        text = f"{row[0]:g}" if len(row) == 1 else f"({', '.join(f'{value:g}' for value in row)})"
        if parts and parts[-1][0] == text:
            parts[-1] = (text, parts[-1][1] + 1)
        else:
            parts.append((text, 1))
    return ", ".join(text if count == 1 else f"{text} x {count}" for text, count in parts)
