"""The chain on the first screen: weights = listing = program = specification, and what is known of each link.

Every link has a sign (=, ≈, =? or ≠), the word of its verdict and a short line, so that nothing is said by
colour alone. A link that was not looked at is left out, with the box before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from html import escape

from weights2code.report.svg import plural
from weights2code.run_folder import MODEL, PROGRAM, PROGRAM_RAW, TAUGHT
from weights2code.verify import Certificate
from weights2code.verify.links import Listing, NetworkCertificate, at_most

#: Verdict -> sign of the link and colour.
SIGNS = {
    "proved": ("=", "good"),
    "exhaustive": ("=", "good"),
    "bounded": ("≈", "fair"),
    "tested": ("=?", "fair"),
    "differs": ("≠", "bad"),
    "failed": ("≠", "bad"),
}
#: What a short line leaves to the long one.
ASIDE = re.compile(r" \([^()]*\)")


@dataclass(frozen=True, slots=True)
class Box:
    """One of the things that are said to be the same."""

    title: str
    name: str
    hint: str | None = None
    file: bool = True

    def html(self) -> str:
        name = f"<code>{escape(self.name)}</code>" if self.file else f"<span>{escape(self.name)}</span>"
        hint = f"<small>{escape(self.hint)}</small>" if self.hint else ""
        return f'<li class="box"><b>{escape(self.title)}</b>{name}{hint}</li>'


@dataclass(frozen=True, slots=True)
class Link:
    """What is known of two neighbours."""

    verdict: str
    line: str

    def html(self) -> str:
        sign, colour = SIGNS[self.verdict]
        badge = f'<span class="badge {colour}"><span aria-hidden="true">{sign} </span>{self.verdict}</span>'
        line = f"<small>{escape(self.line.replace('-', '−'))}</small>"  # a line must not end after a minus
        return f'<li class="link"><span class="state">{badge}</span>{line}</li>'


def chain(certificate: Certificate) -> str:
    """The band, below one of the trained weights where others were taught; nothing where the network was not
    compared with the program."""
    network = certificate.network
    if network is None:
        return ""
    parts: list[Box | Link] = [Box("Weights", MODEL, network.made)]
    before = ""
    if certificate.taught is not None:
        before = _band("The trained weights", [*parts, network_link(network), Box("Program", PROGRAM)])
        network = certificate.taught
        parts = [Box("Taught weights", TAUGHT, network.made)]
    if certificate.listing is not None:
        parts += [listing_link(certificate.listing), Box("Listing", PROGRAM_RAW)]
    link = network_link(network)
    if certificate.listing is not None:
        link = replace(link, line=f"the network, {link.line}")  # it was compared, not its listing
    parts += [link, Box("Program", PROGRAM), program_link(certificate)]
    if certificate.domain:
        parts.append(Box("Specification", "reference machine", file=False))
    else:
        parts.append(Box("Data", "kept back for tests", file=False))
    return before + _band("From the weights to the specification", parts)


def _band(label: str, parts: list[Box | Link]) -> str:
    items = "".join(part.html() for part in parts)
    return f'<ol class="chain" aria-label="{label}: what is known of each link">{items}</ol>'


def listing_link(listing: Listing) -> Link:
    """The listing against the network: run side by side."""
    line = f"at most {at_most(listing.max_abs_error)} apart in {plural(listing.sequences, 'sequence')}"
    return Link("tested" if listing.exact else "differs", line)


def network_link(network: NetworkCertificate) -> Link:
    """The network against the program."""
    covers = ASIDE.sub("", network.covers)
    line = {
        "proved": covers,
        "exhaustive": covers,
        "bounded": f"within {at_most(network.error or 0.0)}, one step ahead",
        "tested": f"at most {at_most(network.error or 0.0)} apart in {plural(network.sequences, 'sequence')}",
        "differs": f"after {plural(len(network.counterexample or ()), 'input')}, shown below",
    }[network.verdict]
    return Link(network.verdict, line)


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
    return Link(certificate.verdict, line)
