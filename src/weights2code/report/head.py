"""The first screen of the page: what the rule is, whether it is right, and what that rests on.

Below the verdict stands a chain, from the weights over the listing and the program to its specification.
Every link has a sign (=, ≈, =? or ≠), the word of its verdict and a short line, so that nothing is said by
colour alone. A link that was not looked at is left out, with the box before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from weights2code.language import Definition, OverAll, expression_of
from weights2code.program import Program
from weights2code.report import mathml
from weights2code.report.contents import Contents
from weights2code.report.svg import number, plural
from weights2code.report.templating import part
from weights2code.run_folder import MODEL, PROGRAM, PROGRAM_RAW, TAUGHT
from weights2code.verify import Certificate
from weights2code.verify.links import Listing, NetworkCertificate, at_most

#: Verdict -> colour, and what it means in a few words.
VERDICTS = {
    "proved": ("good", "equal to its specification at every length"),
    "bounded": ("fair", "within a proved error of its specification at every length"),
    "exhaustive": ("good", "right on every input"),
    "tested": ("fair", "passes every test that was run; not proved"),
    "failed": ("bad", "wrong on a known input"),
}
#: Verdict -> sign of a link and colour.
SIGNS = {
    "proved": ("=", "good"),
    "exhaustive": ("=", "good"),
    "bounded": ("≈", "fair"),
    "tested": ("=?", "fair"),
    "differs": ("≠", "bad"),
    "failed": ("≠", "bad"),
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
#: What the short line of a link leaves to the long one.
ASIDE = re.compile(r" \([^()]*\)")


def head(contents: Contents) -> dict[str, Any]:
    """What stands above the sections."""
    told = {"about": contents.about, "message": contents.message}
    if contents.program is None or contents.certificate is None:
        return told
    program, certificate = contents.program, contents.certificate
    return {
        **told,
        "rule": rule_of(program, large=certificate.verified),
        "verdict": verdict(certificate, checked=contents.checked),
        "bands": chain(certificate),
        "facts": facts(program, certificate),
    }


def formula_block(program: Program) -> str:
    """The rule, as large as its length allows, and how to read it (HTML)."""
    return part("formula", rule_of(program))


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


def verdict(certificate: Certificate, *, checked: bool = True) -> dict[str, str]:
    """The verdict in a word, in a few, and what it rests on."""
    colour, meaning = VERDICTS[certificate.verdict]
    if certificate.verdict == "exhaustive":
        meaning = f"right on every input, {certificate.covers}"
    meaning += "" if checked else "; as the run left it, not checked again for this page"
    notes = [note for note in certificate.notes if len(note) <= SHORT_NOTE]
    basis = [certificate.explain(), *(f"{note[0].upper()}{note[1:]}." for note in notes)]
    return {"colour": colour, "word": certificate.verdict, "meaning": meaning, "basis": " ".join(basis)}


def facts(program: Program, certificate: Certificate) -> list[tuple[str, str]]:
    """The numbers that people look for first; what the verdict was made on is counted as what it is: rows of
    one's own, or sequences that were made."""
    pairs = [("largest error", number(certificate.max_abs_error, 3)), ("RMSE", number(certificate.rmse, 3))]
    if set(program.recurrence.outputs) <= set(program.output_categories):
        pairs = []  # a text is right or wrong
    if certificate.accuracy is not None:
        pairs.append(("accuracy", percent(certificate.accuracy)))
    rows = certificate.rows
    count, what = (rows.judged, "rows judged") if rows else (certificate.sequences, "sequences run")
    lines = f"{program.body} lines, {plural(program.operations, 'operation')}"
    return [*pairs, (what, f"{count:,}".replace(",", " ")), ("program", lines)]


def percent(share: float) -> str:
    return f"{100 * share:.6g} %"


@dataclass(frozen=True, slots=True)
class Box:
    """One of the things that are said to be the same."""

    title: str
    name: str
    hint: str | None = None
    file: bool = True
    colour = ""


@dataclass(frozen=True, slots=True)
class Link:
    """What is known of two neighbours."""

    verdict: str
    line: str

    @property
    def sign(self) -> str:
        return SIGNS[self.verdict][0]

    @property
    def colour(self) -> str:
        return SIGNS[self.verdict][1]


Band = tuple[str, list[Box | Link]]


def chain(certificate: Certificate) -> list[Band]:
    """The band, below one of the trained weights where others were taught; nothing where the network was not
    compared with the program."""
    network, bands = certificate.network, list[Band]()
    if network is None:
        return bands
    parts: list[Box | Link] = [Box("Weights", MODEL, network.made)]
    if certificate.taught is not None:
        bands = [("The trained weights", [*parts, network_link(network), Box("Program", PROGRAM)])]
        network = certificate.taught
        parts = [Box("Taught weights", TAUGHT, network.made)]
    before = ""
    if certificate.listing is not None:
        parts += [listing_link(certificate.listing), Box("Listing", PROGRAM_RAW)]
        before = "the network, "  # it was compared, not its listing
    parts += [network_link(network, before), Box("Program", PROGRAM), program_link(certificate)]
    if certificate.domain:
        parts.append(Box("Specification", "reference machine", file=False))
    else:
        parts.append(Box("Data", "kept back for tests", file=False))
    return [*bands, ("From the weights to the specification", parts)]


def _link(verdict: str, line: str) -> Link:
    return Link(verdict, line.replace("-", "−"))  # a line must not end after a minus


def listing_link(listing: Listing) -> Link:
    """The listing against the network: run side by side."""
    line = f"at most {at_most(listing.max_abs_error)} apart in {plural(listing.sequences, 'sequence')}"
    return _link("tested" if listing.exact else "differs", line)


def network_link(network: NetworkCertificate, before: str = "") -> Link:
    """The network against the program."""
    covers = ASIDE.sub("", network.covers)
    line = {
        "proved": covers,
        "exhaustive": covers,
        "bounded": f"within {at_most(network.error or 0.0)}, one step ahead",
        "tested": f"at most {at_most(network.error or 0.0)} apart in {plural(network.sequences, 'sequence')}",
        "differs": f"after {plural(len(network.counterexample or ()), 'input')}, shown below",
    }[network.verdict]
    return _link(network.verdict, before + line)


def program_link(certificate: Certificate) -> Link:
    """The program against its specification, or against data."""
    on_data = "" if certificate.domain else " of the data"
    line = {
        "proved": "at every length",
        "bounded": f"within {at_most(certificate.error or 0.0)} at every length",
        "exhaustive": certificate.covers,
        "tested": f"on {plural(certificate.sequences, 'sequence')}{on_data}",
        "failed": "wrong on a known input",
    }[certificate.verdict]
    return _link(certificate.verdict, line)
