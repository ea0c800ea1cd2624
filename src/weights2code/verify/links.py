"""What is known about the links of the chain: weights and program, and the listing between them.

Five words for a network and its program, strongest first:

- `proved`: after rounding the network gives the program's outputs, at every length, on the whole domain;
- `exhaustive`: the same up to a stated length;
- `bounded`: one step ahead it differs by at most `error` (outputs that are reals);
- `tested`: on sequences that were run, and no more is known;
- `differs`: a sequence is known on which it gives something else.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from functools import partial
from typing import Annotated, Any, Literal, get_args

import numpy as np

from weights2code.effort import charge, time_is_up
from weights2code.json_fields import from_fields, to_fields
from weights2code.json_values import mapping, number, text, whole
from weights2code.kernel import claims as kernel
from weights2code.kernel.claims import Certificate as Proposal
from weights2code.kernel.claims import Closure, Proved, certificate_from_dict
from weights2code.language.categories import Categories, in_words
from weights2code.language.domain import quoted

#: Written for what is no number, or an infinite one.
BEYOND = 1e300
#: A transition that the kernel takes, in seconds of a usual machine.
TRANSITION = 2e-6


def checked(claim: kernel.Claim, proposal: Proposal) -> kernel.Answer:
    """What the kernel says, as long as there is time."""
    answer = kernel.check(claim, proposal, time_is_up)
    if isinstance(answer, Proved) and isinstance(answer.certificate, Closure):
        charge(TRANSITION * answer.certificate.transitions)
    return answer


def _beyond(_: float) -> float:
    return BEYOND


def _read_input(data: Any, what: str) -> Any:
    return None if data is None else text(data, what) if isinstance(data, str) else float(number(data, what))


#: Inputs of one sequence: one tuple of column values a position, numbers and texts.
Sequence = tuple[tuple[Annotated[Any, _read_input], ...], ...]
NetworkVerdict = Literal["proved", "exhaustive", "bounded", "tested", "differs"]
#: How a network came about, the first by training alone, and the same in words.
Made = Literal["trained", "pruned", "trained on", "wired", "written"]
MADE = {
    "trained": "is as it was trained",
    "pruned": "is the trained one, pruned",
    "trained on": "was trained on after the program was found",
    "wired": "was wired for the rule and trained after the program was found",
    "written": "was written from the program, operator by operator, and not trained",
}
#: Two digits of a bound, on the safe side.
_UP, _DOWN = Context(prec=2, rounding=ROUND_CEILING), Context(prec=2, rounding=ROUND_FLOOR)
#: Rows of a counterexample that a sentence shows.
SHOWN = 8


class Offered(dict[str, Any]):
    """What a certificate out of a file offers as its proof; nothing in it is believed before it is
    checked."""

    def proposal(self) -> Proposal | None:
        """The kernel's form of it; None if there is none, or none that can be read."""
        try:
            return certificate_from_dict(self)
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
            zlib.error,
        ):
            return None

    def within(self) -> int | None:
        """What past outputs were assumed to be at most."""
        said = self.get("within")
        return said if type(said) is int else None


#: What the kernel proved, or what is offered to it; None where nothing more than tests is claimed.
Proof = Proved | Offered | None


def proof_to_dict(proof: Proof) -> dict[str, Any] | None:
    """JSON form of a proof: what it takes to check it again."""
    if not isinstance(proof, Proved):
        return dict(proof) if proof else None
    assumed = {} if proof.claim.limit is None else {"within": proof.claim.limit}
    return {**proof.certificate.to_dict(), **assumed}


def read_proof(data: Any) -> Offered | None:
    """What the file of a certificate offers; a verdict that needs a proof and has none offers nothing."""
    proof = mapping(data, "a certificate").get("proof")
    if proof is None:
        return Offered() if data["verdict"] in ("proved", "bounded", "exhaustive") else None
    return Offered(mapping(proof, "a proof"))


@dataclass(frozen=True, slots=True)
class NetworkCertificate:
    """The verdict on a network and its program.

    Parameters
    ----------
    verdict : one of the five words above.
    method : what was done, in a sentence.
    covers : which lengths and values the verdict speaks about.
    margin : how far the network's outputs stay from the nearest rounding border, rounding errors included;
        None where outputs are not rounded.
    error : the largest difference of network and program, one step ahead, as far as the verdict speaks.
    free_running : the largest difference in the tests, each on its own past outputs.
    sequences : how many were run.
    counterexample : the inputs of a sequence on which they differ, the shortest that was found.
    made : how the network came about: it is as it was "trained"; or that was "pruned", or "trained on" with
        the program's outputs; or it was "wired" for the program, so that its structure is the program's, and
        trained; or "written" from the program, operator by operator.
    trained_on : how often the network was trained on after its program was found.
    member : of a network as it was trained, its place in its file.
    read : the place of the member that the program was read from, which may be another. This, `made` and
        `trained_on` only the run itself knows: None for a network of a file.
    """

    verdict: NetworkVerdict
    method: str
    covers: str
    margin: float | None = None
    error: float | None = None
    free_running: float | None = None
    sequences: int = 0
    counterexample: Sequence | None = None
    trained_on: int | None = None
    made: Made | None = None
    member: int | None = None
    read: int | None = None
    proof: Proof = None

    def __post_init__(self) -> None:
        if self.verdict not in get_args(NetworkVerdict):
            raise ValueError(f"{self.verdict!r} is no verdict on a network")
        if self.equal and self.proof is None:
            raise ValueError(f"only the kernel can say {self.verdict}")
        if self.made is not None and self.made not in get_args(Made):
            raise ValueError(f"{self.made!r} is not how a network is made")

    @property
    def equal(self) -> bool:
        """Whether the network is known to be what the program says, as far as that is possible."""
        return self.verdict in ("proved", "exhaustive", "bounded")

    def explain(self) -> str:
        """What is known, in plain English; the network is what is spoken of."""
        said = self._said()
        text = {
            "proved": f"Proved {said}",
            "tested": "Tested beside the program, not proved equal to it",
            "differs": f"Differs from the program after the inputs {inputs_in_words(self.counterexample)}",
        }.get(self.verdict, f"{said[0].upper()}{said[1:]}")
        return f"{text}: {self.method}.{self._history(' It ', '.')}"

    def brief(self) -> str:
        """The same in a few words, to stand behind the verdict."""
        return f"{self._said()}{self._history('; it ')}"

    def _said(self) -> str:
        return {
            "proved": f"equal to the program {self.covers}",
            "exhaustive": f"equal to the program on every sequence {self.covers}",
            "bounded": f"within {at_most(self.error or 0.0)} of the program one step ahead, {self.covers}",
            "tested": f"at most {at_most(self.error or 0.0)} from the program in {self.sequences} sequences",
            "differs": f"not the program's output after the inputs {inputs_in_words(self.counterexample)}",
        }[self.verdict]

    def _history(self, before: str, after: str = "") -> str:
        if self.made is None:
            return ""
        other = ", another member than the one that the program was read from"
        return f"{before}{MADE[self.made]}{other if self.member != self.read else ''}{after}"

    def checkable(self) -> NetworkCertificate:
        """What can be made again from the files of a run."""
        return replace(self, made=None, trained_on=None, read=None)

    def to_dict(self) -> dict[str, Any]:
        said = {"verdict": self.verdict, "method": self.method, "explanation": self.explain()}
        return said | to_fields(self, _beyond, proof=proof_to_dict(self.proof))

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> NetworkCertificate:
        """Inverse of `to_dict`."""
        later = ("trained_on", "made", "member", "read")
        return from_fields(
            NetworkCertificate, data, "the network's certificate", later, proof=read_proof(data)
        )


def at_most(value: float) -> str:
    """A bound from above in two digits, which are rounded up."""
    return f"{float(_UP.create_decimal_from_float(value)):.2g}"


def at_least(value: float) -> str:
    """A bound from below in two digits, which are rounded down."""
    return f"{float(_DOWN.create_decimal_from_float(value)):.2g}"


def inputs_in_words(sequence: Sequence | None) -> str:
    """The inputs of a sequence, as far as a sentence can hold them; several columns in brackets."""
    if sequence is None:
        return "of a sequence that is not given"
    rows = [", ".join(map(_in_words, row)) for row in sequence[:SHOWN]]
    shown = ", ".join(f"({row})" if "," in row else row for row in rows)
    return f"{shown}, ... ({len(sequence)} positions)" if len(sequence) > SHOWN else shown


def _in_words(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else quoted(value)


def with_texts(sequence: Sequence | None, names: tuple[str, ...], categories: Categories) -> Sequence | None:
    """The inputs of a sequence with the texts that their numbers stand for."""
    if sequence is None or not set(names) & set(categories):
        return sequence
    rows = in_words(np.array(sequence, dtype=float), names, categories)
    return tuple(tuple(row) for row in rows.tolist())


#: What the listing may differ by from the network, of the largest output: rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Rule:
    """How the rule was found in the network.

    Parameters
    ----------
    cut : how many layers of operators became variables of the program before its rule was found; 0 means that
        it was regressed from the leaves, the values that the network reads.
    nodes : the operators of the trained network that are variables of the program.
    """

    cut: int = 0
    nodes: tuple[str, ...] = ()

    def explain(self) -> str:
        """The same in plain English."""
        text = self.brief()
        return f"{text[0].upper()}{text[1:]}."

    def brief(self) -> str:
        """The same in a few words."""
        if not self.nodes:
            return "found from the values that the network reads, not from its parts"
        many = len(self.nodes) > 1
        nodes = f"node{'s' * many} {', '.join(self.nodes)} as {'variables' if many else 'a variable'}"
        return f"read from the trained network, with its {nodes}"

    def to_dict(self) -> dict[str, Any]:
        return to_fields(self) | {"explanation": self.explain()}

    @staticmethod
    def from_dict(data: Any) -> Rule:
        """Inverse of `to_dict`."""
        return from_fields(Rule, data, "the rule")


@dataclass(frozen=True, slots=True)
class Listing:
    """How far `program_raw.py` is from the network.

    Parameters
    ----------
    max_abs_error : the largest difference of one step; of outputs beyond the scale, in proportion to them.
    scale : the largest output that was asked for.
    lengths : of the sequences; sequences : how many.
    """

    max_abs_error: float
    scale: float
    lengths: tuple[Annotated[int, partial(whole, least=1)], ...]
    sequences: int

    @property
    def exact(self) -> bool:
        """Whether the difference is rounding."""
        return self.max_abs_error <= ROUNDING * self.scale

    def explain(self) -> str:
        """How far apart both are, in plain English."""
        how = "Equal to the network to rounding, tested" if self.exact else "Not exactly the network"
        return f"{how}: {self.brief()} of length {', '.join(map(str, self.lengths))}."

    def brief(self) -> str:
        """The same in a few words."""
        return f"at most {at_most(self.max_abs_error)} from the network in {self.sequences} sequences"

    def to_dict(self) -> dict[str, Any]:
        return to_fields(self, _beyond)

    @staticmethod
    def from_dict(data: Any) -> Listing:
        """Inverse of `to_dict`."""
        return from_fields(Listing, data, "the listing")
