"""The first screen of the page: what the rule is, whether it is right, and what that rests on."""

from __future__ import annotations

import re
from html import escape

from weights2code.language import Definition, OverAll, expression_of
from weights2code.program import Program
from weights2code.report import mathml
from weights2code.report.chain import chain
from weights2code.report.contents import Contents
from weights2code.report.svg import number, plural
from weights2code.verify import Certificate

#: Verdict -> colour, and what it means in a few words.
VERDICTS = {
    "proved": ("good", "equal to its specification at every length"),
    "bounded": ("fair", "within a proved error of its specification at every length"),
    "exhaustive": ("good", "right on every input"),
    "tested": ("fair", "passes every test that was run; not proved"),
    "failed": ("bad", "wrong on a known input"),
}

#: Formulas with more nodes than this are not typeset: nobody could read them.
TYPESET = 400
#: Longest line in characters up to which each size of type fits; longer rules are set as wrapped text.
SIZES = {"huge": 48, "large": 62, "medium": 80, "small": 104}
#: Notes longer than this stay below, out of the first screen.
SHORT_NOTE = 260
#: A variable with its index, which must not be torn apart.
INDEXED = re.compile(r"\w+\[[^\[\]]*\]")
#: A bracket that is a test, not an index.
TEST = re.compile(r"(?<![\w\])])\[")


def head(contents: Contents) -> str:
    """What stands above the sections."""
    about = f'<p class="about">{escape(contents.about)}</p>' if contents.about else ""
    if contents.program is None or contents.certificate is None:
        badge = '<strong class="badge bad">No program</strong>'
        return f'{about}<p class="verdict-line">{badge} <span>{escape(contents.message)}</span></p>'
    program, certificate = contents.program, contents.certificate
    holds = certificate.verified
    shown = (
        formula_block(program, large=holds)
        + verdict(certificate, checked=contents.checked)
        + chain(certificate)
    )
    return about + shown + facts(program, certificate)


def formula_block(program: Program, *, large: bool = True) -> str:
    """The rule, as large as its length allows, and how to read it; one that does not hold is small."""
    size = sum(_size(step.definition) for step in program.recurrence.steps)
    text = program.formula()
    longest = max(len(line) for line in text.splitlines())
    name = next((name for name, most in SIZES.items() if longest <= most), "long")
    name = "long" if size > TYPESET else name if large else "small"
    label = f'role="region" tabindex="0" aria-label="{escape(text, quote=True)}"'
    typeset = "" if name == "long" else mathml.rule(program.recurrence, program.categories)
    # a narrow screen shows the text, which wraps; typeset formulas do not
    whole = INDEXED.sub(lambda found: f"<b>{found[0]}</b>", escape(text))
    lines = "".join(f"<span>{line}</span>" for line in whole.splitlines())
    return (
        f'<div class="formula {name}" {label}>{typeset}<code class="wrapped">{lines}</code></div>'
        f'<p class="key">{escape(reading_key(program))}</p>'
    )


def reading_key(program: Program) -> str:
    """The signs of the formula in words, as far as it has them."""
    recurrence, text = program.recurrence, program.formula()
    inputs = program.reading().recurrence.inputs
    given, made = _names(inputs), _names(recurrence.outputs)
    read = "is read" if len(inputs) == 1 else "are read"
    computed = "is computed" if len(recurrence.outputs) == 1 else "are computed"
    parts = [f"t = 0, 1, 2, … counts the steps; {given} {read}, {made} {computed}"]
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


def verdict(certificate: Certificate, *, checked: bool = True) -> str:
    """The verdict in a word, in a few, and what it rests on."""
    colour, meaning = VERDICTS[certificate.verdict]
    if certificate.verdict == "exhaustive":
        meaning = f"right on every input, {certificate.covers}"
    meaning += "" if checked else "; as the run left it, not checked again for this page"
    notes = [note for note in certificate.notes if len(note) <= SHORT_NOTE]
    basis = [certificate.explain(), *(f"{note[0].upper()}{note[1:]}." for note in notes)]
    return (
        f'<p class="verdict-line"><strong class="badge {colour}">{certificate.verdict.capitalize()}</strong>'
        f' <span>{escape(meaning)}</span></p><p class="basis">{escape(" ".join(basis))}</p>'
    )


def facts(program: Program, certificate: Certificate) -> str:
    """The numbers that people look for first."""
    pairs = [("largest error", number(certificate.max_abs_error, 3)), ("RMSE", number(certificate.rmse, 3))]
    if set(program.recurrence.outputs) <= set(program.output_categories):
        pairs = []  # a text is right or wrong
    if certificate.accuracy is not None:
        pairs.append(("accuracy", percent(certificate.accuracy)))
    pairs += [
        _counted(certificate),
        ("program", f"{program.body} lines, {plural(program.operations, 'operation')}"),
    ]
    cells = "".join(f"<div><dt>{escape(a)}</dt><dd>{escape(b)}</dd></div>" for a, b in pairs)
    return f'<dl class="facts">{cells}</dl>'


def _counted(certificate: Certificate) -> tuple[str, str]:
    """What the verdict was made on, counted as what it is: rows of one's own, or sequences that were made."""
    rows = certificate.rows
    count, what = (rows.judged, "rows judged") if rows else (certificate.sequences, "sequences run")
    return what, f"{count:,}".replace(",", " ")


def percent(share: float) -> str:
    return f"{100 * share:.6g} %"
