"""What a decompilation leaves in its folder, and what is made of such a folder later."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

from weights2code import __version__, results
from weights2code.decompilation.driver import Decompiled, again
from weights2code.decompilation.model import Asking, in_words
from weights2code.decompilation.page import page
from weights2code.errors import InputError
from weights2code.extraction.values import Extraction
from weights2code.json_values import mapping, name
from weights2code.recheck import check_written
from weights2code.run_folder import CERTIFICATE, CONFIG, LATEX, PROGRAM, REPORT, RunFolder

#: A range: two whole numbers, or two numbers of which one has a point or an exponent.
RANGE = re.compile(r"([-+]?[\d.]+(?:e[-+]?\d+)?)\.\.([-+]?[\d.]+(?:e[-+]?\d+)?)", re.IGNORECASE)


def ranges(text: str) -> dict[str, tuple[float, float]]:
    """Columns with their ranges out of `x=0..1,v=0.0..1.0`."""
    found: dict[str, tuple[float, float]] = {}
    for part in text.split(","):
        column, _, given = part.strip().partition("=")
        ends = RANGE.fullmatch(given.strip())
        try:
            if ends is None or not column.strip():
                raise ValueError
            whole = not re.search(r"[.e]", "".join(ends.groups()), re.IGNORECASE)
            found[column.strip()] = tuple(map(int if whole else float, ends.groups()))  # type: ignore[assignment]
        except ValueError:
            raise InputError(
                f"--inputs must be columns with ranges, such as x=0..1 or v=0.0..1.0, got {part.strip()!r}."
            ) from None
    return found


def leave(found: Decompiled, folder: RunFolder, told: dict[str, Any]) -> None:
    """Write the files; the certificate stands for all of them, and the page comes after it."""
    source = {"source": folder.source, "settings": folder.settings.to_dict(), "version": __version__}
    folder.write_json(CONFIG, {**source, "decompiled": told})
    if found.program is None:
        return
    assert found.certificate is not None
    data = certificate_dict(found)
    folder.write(PROGRAM, found.program.source())
    folder.write(LATEX, found.program.latex())
    folder.write_json(CERTIFICATE, data)
    folder.write(REPORT, page(found.program, found.certificate, data, str(folder.source)))


def verify(folder: RunFolder, named: str | None, say: Callable[[str], None]) -> Decompiled:
    """Ask the model of a folder again, and leave what is known of it and of the program now.

    A folder may come from somebody else: Python files are run only if the user has `named` theirs.
    """
    program, _ = results.read_program(folder)
    check_written(folder, program)
    with _damaged(folder):
        told = mapping(folder.read_json(CONFIG), "a configuration")["decompiled"]
        asked = {one.name: told[one.name] for one in fields(Asking) if one.name in told}
        asking, inputs = (
            Asking(**asked, seed=folder.settings.seed),
            ranges(name(told["inputs"], "the inputs")),
        )
        model, against = name(told["model"], "the model"), told["against"]
    files = {text.rpartition(":")[0] for text in (model, against or "") if ".py:" in text}
    if files - {(named or "").rpartition(":")[0]}:
        raise InputError(
            f"{folder.path} is about {' and '.join(sorted(files))}, which would be run; if it is yours, name "
            f"it: `w2c verify {folder.path} --task {model}`."
        )
    found = again(program, model, inputs, asking, against, folder.settings.time_limit, say)
    leave(found, folder, told)
    return found


def report(folder: RunFolder) -> str:
    """Make `report.html` again from what the certificate says."""
    program, certificate = results.read_program(folder)
    with _damaged(folder):
        made = page(program, certificate, folder.read_json(CERTIFICATE), str(folder.source))
    return str(folder.write(REPORT, made))


@contextmanager
def _damaged(folder: RunFolder) -> Iterator[None]:
    """What cannot be read, in one sentence."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise InputError(f"the files in {folder.path} are damaged ({error}).") from None


def certificate_dict(found: Decompiled) -> dict[str, Any]:
    """`certificate.json`: of the program against its task or the model's answers, and of the model."""
    program, model, certificate = found.program, found.model, found.certificate
    assert program is not None
    assert model is not None
    assert certificate is not None
    certificate = replace(certificate, network=None, taught=None, listing=None, rule=None)
    said = results.certificate_dict(Extraction(None, None, program, certificate))
    return said | ({"against": found.task} if found.task else {}) | {"model": model.to_dict()}


def as_dict(found: Decompiled, folder: RunFolder) -> dict[str, Any]:
    """The result as plain data, for `--json`."""
    program, against = found.program, found.against
    said = against and {"task": found.task, "verdict": against.verdict, "explanation": against.explain()}
    return {
        "source": str(folder.source),
        "exit_code": found.exit_code,
        "message": found.message,
        "formula": program.formula().splitlines() if program else None,
        "model": found.model.to_dict() if found.model else None,
        "against": said,
        "seconds": round(found.seconds, 3),
        "folder": str(folder.path),
        "files": folder.files(),
    }


def facts(found: Decompiled, folder: RunFolder) -> list[tuple[str, str]]:
    """What stands below the formula, as pairs of a word and a text."""
    model = found.model
    if model is None:
        return [("result", found.message), ("time", f"{found.seconds:.1f} s")]
    rows = [("verdict", model.verdict), ("why", model.explain()), ("outputs", model.reading)]
    rows += [("found out", line) for line in model.how]
    if model.shortest is not None:
        rows.append(("inputs", in_words(model.shortest.inputs)))
    shares = (f"{length}: {share:.3f}" for length, share in found.agreement.items())
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
