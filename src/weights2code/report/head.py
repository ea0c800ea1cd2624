"""The first screen of the page, in plain words: what the rule is, whether it is right, and how well it was
looked at. What that rests on stands in the details below."""

from __future__ import annotations

import re
from typing import Any

from markupsafe import Markup

from weights2code.language import Definition, OverAll, expression_of
from weights2code.program import Program
from weights2code.report import mathml
from weights2code.report.contents import Contents
from weights2code.report.svg import number, plural
from weights2code.results import in_short, network_in_short
from weights2code.verify import Certificate

#: The colour of a verdict on a program, or on a network and its program.
COLOURS = {
    **dict.fromkeys(("proved", "exhaustive"), "good"),
    **dict.fromkeys(("bounded", "tested"), "fair"),
    **dict.fromkeys(("failed", "differs"), "bad"),
}
#: Formulas with more nodes than this are not typeset: nobody could read them.
TYPESET = 400
#: Longest line in characters up to which each size of type fits; longer rules are set as wrapped text.
SIZES = {"huge": 48, "large": 62, "medium": 80, "small": 104}
#: Notes longer than this stay below, out of the first screen.
SHORT_NOTE = 260
#: A variable with its index, which must not be torn apart.
INDEXED = re.compile(r"(\w+\[[^\[\]]*\])")
#: A bracket that is a test, not an index.
TEST = re.compile(r"(?<![\w\])])\[")


def head(contents: Contents) -> dict[str, Any]:
    """What stands above the sections."""
    told = {"about": contents.about, "message": contents.message}
    program, certificate = contents.program, contents.certificate
    if program is None or certificate is None:
        return told
    notes = [f"{note[0].upper()}{note[1:]}." for note in certificate.notes if len(note) <= SHORT_NOTE]
    as_left = "" if contents.checked else "; as the run left it, not checked again for this page"
    return {
        **told,
        "rule": rule_of(program, large=certificate.verified),
        "verdict": certificate.verdict,
        "colour": COLOURS[certificate.verdict],
        "meaning": in_short(certificate) + as_left,
        "basis": " ".join(notes),
        "facts": facts(program, certificate),
    }


def rule_of(program: Program, *, large: bool = True) -> dict[str, Any]:
    """The rule typeset and as text, in lines whose every second part must not be torn apart; one that does
    not hold is small."""
    size = sum(_size(step.definition) for step in program.recurrence.steps)
    text = program.formula()
    longest = max(len(line) for line in text.splitlines())
    name = next((name for name, most in SIZES.items() if longest <= most), "long")
    name = "long" if size > TYPESET else name if large else "small"
    typeset = "" if name == "long" else mathml.rule(program.recurrence, program.categories)
    return {
        "size": name,
        "text": text,
        "typeset": Markup(typeset),
        "lines": [INDEXED.split(line) for line in text.splitlines()],
        "key": reading_key(program),
    }


def reading_key(program: Program) -> str:
    """The signs of the formula in words, as far as it has them."""
    recurrence, text = program.recurrence, program.formula()
    inputs = program.reading().recurrence.inputs
    given, made = _names(inputs), _names(recurrence.outputs)
    read = "is read" if len(inputs) == 1 else "are read"
    computed = "is computed" if len(recurrence.outputs) == 1 else "are computed"
    parts = [f"t = 0, 1, 2, … counts the rows; {given} {read}, {made} {computed}"]
    if "[t-1]" in text:
        parts.append("[t-1] is the row before")
    if TEST.search(text):
        parts.append("[c] is 1 where c holds and 0 elsewhere")
    if "%" in text:
        parts.append("mod is the remainder, from 0 up")
    if "[t-" in text:
        unless = " unless said" * ("before the start" in text)
        what = "values before the start are 0"
        if program.categories:
            what = "before the start there is no text, and numbers are 0"
        parts.append(f"{what}{unless}")
    return "; ".join(parts) + "."


def _names(names: tuple[str, ...]) -> str:
    shown = [*names[:4], *(["…"] if len(names) > 4 else [])]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _size(definition: Definition) -> int:
    return expression_of(definition).size() + 4 * isinstance(definition, OverAll)


def facts(program: Program, certificate: Certificate) -> list[tuple[str, str]]:
    """The numbers that people look for first; what the verdict was made on is counted as what it is: rows of
    one's own, or sequences that were made."""
    pairs = []
    if certificate.accuracy is not None:
        pairs.append(("right", percent(certificate.accuracy)))
    texts = set(program.recurrence.outputs) <= set(program.output_categories)
    if certificate.accuracy != 1 and not texts:  # a text is right or wrong
        pairs.append(("largest error", number(certificate.max_abs_error, 3)))
        pairs.append(("typical error", number(certificate.rmse, 3)))
    rows = certificate.rows
    count, what = (rows.judged, "rows judged") if rows else (certificate.sequences, "sequences run")
    pairs.append((what, f"{count:,}".replace(",", " ")))
    network = network_in_short(certificate)
    pairs += [("the network computes", network)] if network else []
    return [*pairs, ("program", f"{program.body} lines, {plural(program.operations, 'operation')}")]


def percent(share: float) -> str:
    return f"{100 * share:.6g} %"
