"""The certificate: what is known about a program, and what that knowledge rests on (design: "Trust").

A certificate never claims more than was checked. Its verdict is one of five words, strongest first:

- `proved`: equal to the specification for every length and every input of the stated domain;
- `bounded`: within a stated error of it, for every length and every input of the domain;
- `exhaustive`: every input sequence up to a stated length was run, and all agree;
- `tested`: a stated number of sequences was run, and all agree within the stated tolerance;
- `failed`: a sequence is known on which program and specification differ.

The numbers are those of the paper's Table 1: accuracy by rounding (whole-number outputs only) and the root
mean squared error, for the program against its target and against the discrete model separately.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import metadata
from typing import Annotated, Any, Literal, get_args

from weights2code.json_fields import from_fields, to_fields
from weights2code.json_values import any_number, mapping, whole
from weights2code.verify.links import (
    Listing,
    NetworkCertificate,
    Proof,
    Rule,
    Sequence,
    proof_to_dict,
    read_proof,
)

Verdict = Literal["proved", "bounded", "exhaustive", "tested", "failed"]
#: Of rows of own data.
Count = Annotated[int, partial(whole, most=2**62)]
#: In notes on how a rule was found, which only the run itself knows.
REGRESSED = "; the rule was regressed from the values that it"


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well two ways of computing the same outputs agree on some sequences.

    `accuracy` is the share of positions that agree after rounding; None where outputs are not whole numbers.
    """

    sequences: int
    max_abs_error: Annotated[float, any_number]
    rmse: Annotated[float, any_number]
    accuracy: float | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """How many rows of own data a program could be judged by, how many of these are right (whole-number
    outputs only), and how many rows there are."""

    judged: Count
    right: Count | None
    of: Count

    def words(self) -> str:
        right = "" if self.right is None else f", {self.right} of them right"
        return f"{self.judged} of {self.of} rows could be judged{right}"


@dataclass(frozen=True, slots=True)
class Certificate:
    """The verdict on a program.

    Attributes
    ----------
    verdict
        One of the five words above.
    method
        What was done, in a sentence.
    domain
        What each input column may hold; empty for own data.
    covers
        Which lengths the verdict speaks about: "every length", "lengths 1 to 16", "the tested lengths".
    lengths
        The lengths of the sequences that were run.
    target
        The program against its specification, over every sequence that was run.
    model
        The program against the discrete model, if there was one to compare with.
    by_length
        The program against its specification, for each length alone.
    versions
        Of Python, this package and the libraries that the verdict depends on.
    seed
        Of the random sequences.
    one_step
        Whether the program was given the true past outputs at every position, instead of its own.
    invariant
        The claims that a proof by induction rests on, about the reference `r` and the program `p`.
    error
        By how much outputs differ from the specification at most, if that is what was proved.
    model_fits
        Whether the discrete model is right itself; if not, the program stands on its own check.
    counterexample
        The inputs of a sequence on which the program is wrong, as short as was found.
    notes
        What a careful reader should know besides.
    network
        What is known about the network, as it was trained, and the program; None if they were not compared.
    taught
        The same of a network that was pruned, trained on, wired or written because the trained one is not
        known to equal the program; None if there is none.
    listing
        How far `program_raw.py` is from the network that equals the program, `taught` if there is one; None
        if there is no listing, or none was compared.
    rule
        At which cut of the network the rule was found, and which of its nodes are in it; None if it was
        found in another way.
    rows
        Of own data, how many rows of all could be judged, and how many of them are right.
    proof
        What the kernel proved, if the verdict says so; of a certificate that was read, what it offers.
    """

    verdict: Verdict
    method: str
    domain: tuple[str, ...]
    covers: str
    lengths: tuple[int, ...]
    target: Agreement
    model: Agreement | None = None
    by_length: Mapping[int, Agreement] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    seed: Annotated[int, partial(whole, most=2**32)] = 0
    one_step: bool = False
    invariant: tuple[str, ...] = ()
    error: float | None = None
    model_fits: bool | None = True
    counterexample: Sequence | None = None
    notes: tuple[str, ...] = ()
    network: NetworkCertificate | None = None
    taught: NetworkCertificate | None = None
    listing: Listing | None = None
    rule: Rule | None = None
    rows: Judged | None = None
    proof: Proof = None

    def __post_init__(self) -> None:
        if self.verdict not in get_args(Verdict):
            raise ValueError(f"{self.verdict!r} is not a verdict: use one of {', '.join(get_args(Verdict))}")
        if self.verdict in ("proved", "bounded", "exhaustive") and self.proof is None:
            raise ValueError(f"only the kernel can say {self.verdict}")
        if self.verdict == "bounded" and self.error is None:
            raise ValueError("it is bounded by nothing")

    @property
    def verified(self) -> bool:
        """Whether the program met its specification in everything that was checked."""
        return self.verdict != "failed"

    @property
    def sequences(self) -> int:
        return self.target.sequences

    @property
    def max_abs_error(self) -> float:
        return self.target.max_abs_error

    @property
    def rmse(self) -> float:
        return self.target.rmse

    @property
    def accuracy(self) -> float | None:
        return self.target.accuracy

    def explain(self) -> str:
        """What the verdict rests on, in plain English."""
        domain = f" for inputs in {', '.join(dict.fromkeys(self.domain))}" if self.domain else ""
        near = f"within {self.error or 0.0:.2g} of the specification at every length{domain}"
        text = {
            "proved": f"Proved equal to the specification at every length{domain}",
            "bounded": f"Proved to be {near}, not equal to it",
            "exhaustive": f"Every input sequence was run, {self.covers}{domain}, and all agree",
            "tested": "Tested, not proved",
            "failed": "The program is wrong",
        }[self.verdict]
        if self.verdict in ("tested", "failed"):
            return f"{text}: {self.method}."
        ran = f"{self.sequences} sequences of length {', '.join(map(str, self.lengths))}"
        largest = f"the largest error is {self.max_abs_error:.3g}"
        return f"{text}: {self.method}. It was also run on {ran}; {largest}."

    def words(self) -> str:
        """What is known of the program and, on lines of their own, of its networks."""
        return "\n".join((self.explain(), *(f"{name}: {one.explain()}" for name, one in self.networks())))

    def networks(self) -> list[tuple[str, NetworkCertificate]]:
        """The networks that the program was compared with, by name; the last is the one that is listed."""
        both = (("Network", self.network), ("Another network", self.taught))
        return [(name, found) for name, found in both if found is not None]

    def checkable(self) -> Certificate:
        """What can be made again from the files of a run, without what only the run itself knows."""
        notes = tuple(note for note in self.notes if REGRESSED not in note)
        network, taught = (one and one.checkable() for one in (self.network, self.taught))
        return replace(self, model_fits=None, notes=notes, network=network, taught=taught, rule=None)

    def to_dict(self) -> dict[str, Any]:
        """JSON form; the numbers against the target stand at the top too, where people look first."""
        said = {"verdict": self.verdict, "method": self.method, "explanation": self.explain()}
        return said | to_fields(self.target) | to_fields(self, proof=proof_to_dict(self.proof))

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Certificate:
        """Inverse of `to_dict`; what a decompilation says of its model is not for a program's certificate."""
        data = mapping(data, "a certificate")
        if "verdict" in (data.get("model") or {}):
            data = {**data, "model": None}
        return from_fields(Certificate, data, "a certificate", _LATER, proof=read_proof(data))


#: Files that were written before these fields came in lack them.
_LATER = ("by_length", "one_step", "invariant", "error", "model_fits")
_LATER += ("network", "taught", "listing", "rule", "rows")


def versions() -> dict[str, str]:
    """The versions that a verdict depends on, read without importing the libraries."""
    from weights2code import __version__

    found = {"python": platform.python_version(), "weights2code": __version__}
    for name, distribution in (("numpy", "numpy"), ("sympy", "sympy"), ("z3", "z3-solver")):
        try:
            found[name] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
