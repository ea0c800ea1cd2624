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

import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib import metadata
from typing import Any, Literal, cast, get_args

from weights2code.json_values import any_number, items, mapping, number, text, truth, whole
from weights2code.verify.links import Listing, NetworkCertificate, Rule, Sequence, read_sequence

Verdict = Literal["proved", "bounded", "exhaustive", "tested", "failed"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well two ways of computing the same outputs agree on some sequences.

    `accuracy` is the share of positions that agree after rounding; None where outputs are not whole numbers.
    """

    sequences: int
    max_abs_error: float
    rmse: float
    accuracy: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "sequences": self.sequences,
            "max_abs_error": _to_json(self.max_abs_error),
            "rmse": _to_json(self.rmse),
            "accuracy": self.accuracy,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Agreement:
        data = mapping(data, "an agreement")
        accuracy = data["accuracy"]
        return Agreement(
            whole(data["sequences"], "sequences"),
            any_number(data["max_abs_error"], "an error"),
            any_number(data["rmse"], "an error"),
            None if accuracy is None else float(number(accuracy, "an accuracy")),
        )


@dataclass(frozen=True, slots=True)
class Judged:
    """How many rows of own data a program could be judged by, how many of these are right (whole-number
    outputs only), and how many rows there are."""

    judged: int
    right: int | None
    of: int

    def words(self) -> str:
        right = "" if self.right is None else f", {self.right} of them right"
        return f"{self.judged} of {self.of} rows could be judged{right}"

    @staticmethod
    def from_dict(data: Any) -> Judged:
        data = mapping(data, "rows")
        right = data["right"]
        right = None if right is None else whole(right, "right rows", most=2**62)
        return Judged(whole(data["judged"], "rows", most=2**62), right, whole(data["of"], "rows", most=2**62))


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
    seed: int = 0
    one_step: bool = False
    invariant: tuple[str, ...] = ()
    error: float | None = None
    model_fits: bool = True
    counterexample: Sequence | None = None
    notes: tuple[str, ...] = ()
    network: NetworkCertificate | None = None
    taught: NetworkCertificate | None = None
    listing: Listing | None = None
    rule: Rule | None = None
    rows: Judged | None = None

    def __post_init__(self) -> None:
        if self.verdict not in get_args(Verdict):
            raise ValueError(f"{self.verdict!r} is not a verdict: use one of {', '.join(get_args(Verdict))}")

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
        if self.verdict == "proved":
            text = f"Proved equal to the specification at every length{domain}: {self.method}."
        elif self.verdict == "bounded":
            text = f"Proved to be within {self.error:.2g} of the specification at every length{domain}, "
            text += f"not equal to it: {self.method}."
        elif self.verdict == "exhaustive":
            text = f"Every input sequence was run, {self.covers}{domain}, and all agree: {self.method}."
        elif self.verdict == "tested":
            text = f"Tested, not proved: {self.method}."
        else:
            text = f"The program is wrong: {self.method}."
        if self.verdict in ("proved", "bounded", "exhaustive"):
            ran = f"{self.sequences} sequences of length {', '.join(map(str, self.lengths))}"
            text += f" It was also run on {ran}; the largest error is {self.max_abs_error:.3g}."
        return text

    def words(self) -> str:
        """What is known of the program and, on lines of their own, of its networks."""
        return "\n".join((self.explain(), *(f"{name}: {one.explain()}" for name, one in self.networks())))

    def networks(self) -> list[tuple[str, NetworkCertificate]]:
        """The networks that the program was compared with, by name; the last is the one that is listed."""
        both = (("Network", self.network), ("Taught network", self.taught))
        return [(name, found) for name, found in both if found is not None]

    def to_dict(self) -> dict[str, Any]:
        """JSON form; the numbers against the target stand at the top too, where people look first."""
        return {
            "verdict": self.verdict,
            "method": self.method,
            "explanation": self.explain(),
            "domain": list(self.domain),
            "covers": self.covers,
            "lengths": list(self.lengths),
            **self.target.to_dict(),
            "target": self.target.to_dict(),
            "model": None if self.model is None else self.model.to_dict(),
            "by_length": {str(length): numbers.to_dict() for length, numbers in self.by_length.items()},
            "versions": dict(self.versions),
            "seed": self.seed,
            "one_step": self.one_step,
            "invariant": list(self.invariant),
            "error": self.error,
            "model_fits": self.model_fits,
            "counterexample": None if self.counterexample is None else [list(r) for r in self.counterexample],
            "notes": list(self.notes),
            "network": None if self.network is None else self.network.to_dict(),
            "taught": None if self.taught is None else self.taught.to_dict(),
            "listing": None if self.listing is None else self.listing.to_dict(),
            "rule": None if self.rule is None else self.rule.to_dict(),
            "rows": None if self.rows is None else asdict(self.rows),
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Certificate:
        """Inverse of `to_dict`; files that were written before a field came in lack it."""
        data = mapping(data, "a certificate")
        example = data["counterexample"]
        return Certificate(
            verdict=cast(Verdict, text(data["verdict"], "a verdict")),
            method=text(data["method"], "a method"),
            domain=_texts(data["domain"], "the domain"),
            covers=text(data["covers"], "what it covers"),
            lengths=tuple(whole(item, "a length") for item in items(data["lengths"], "the lengths")),
            target=Agreement.from_dict(data["target"]),
            model=None if data["model"] is None else Agreement.from_dict(data["model"]),
            by_length={
                whole(int(n[:9]), "a length"): Agreement.from_dict(numbers)
                for n, numbers in mapping(data.get("by_length", {}), "by_length").items()
            },
            versions={
                name: text(version, "a version")
                for name, version in mapping(data["versions"], "versions").items()
            },
            seed=whole(data["seed"], "a seed", most=2**32),
            one_step=truth(data.get("one_step", False), "one_step"),
            invariant=_texts(data.get("invariant", []), "the invariant"),
            error=None if data.get("error") is None else float(number(data["error"], "an error")),
            model_fits=truth(data.get("model_fits", True), "model_fits"),
            counterexample=None if example is None else read_sequence(example),
            notes=_texts(data["notes"], "the notes"),
            network=None if data.get("network") is None else NetworkCertificate.from_dict(data["network"]),
            taught=None if data.get("taught") is None else NetworkCertificate.from_dict(data["taught"]),
            listing=None if data.get("listing") is None else Listing.from_dict(data["listing"]),
            rule=None if data.get("rule") is None else Rule.from_dict(data["rule"]),
            rows=None if data.get("rows") is None else Judged.from_dict(data["rows"]),
        )


def _texts(data: Any, what: str) -> tuple[str, ...]:
    return tuple(text(item, what) for item in items(data, what))


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


def _to_json(value: float) -> float | str:
    """JSON has no infinities; `float` reads the text back."""
    return value if math.isfinite(value) else str(value)
