"""What is known about a model and its program: `certificate.json["model"]`.

Five words, strongest first, and one for where they part:

- `proved`: after reading, the model gives the program's outputs at every length, on the whole domain;
- `bounded`: at every length it stays within `error` of them (reals);
- `exhaustive`: every sequence up to the length was asked, and all agree;
- `agrees`: so many sequences were, chosen to part them, and none did;
- `departs`: a sequence is known on which it gives something else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from weights2code.decompilation.regions import Region
from weights2code.verify.hunt import Departure

ModelVerdict = Literal["proved", "bounded", "exhaustive", "agrees", "departs"]


@dataclass(frozen=True, slots=True)
class Share:
    """Of random sequences of a length, how many agree at every position, and how many positions do."""

    sequences: float
    positions: float


@dataclass(frozen=True, slots=True, eq=False)
class ModelCertificate:
    """The verdict on a model.

    Attributes
    ----------
    verdict, covers : one of the words above, and what it speaks about.
    how : what was guessed and found out about the model, in words; `reading` is how outputs were read.
    length, longest : the model's own length, and the most that it takes, if there is a limit.
    agreement : by length, over uniform random sequences.
    departures : the shortest that were found; `proven_shortest` if every shorter sequence was asked.
    exhaustive : every sequence up to this length was asked, and agrees.
    regions : where it first departs, in short tests.
    thin : the smallest margins where both agree, with the inputs up to there.
    queries, seed : sequences that the model was given, and the seed of those that were random.
    error : of `bounded`, by how much it differs at most.
    shorter_rule : another rule whose description is nearly as long, if there is one.
    """

    verdict: ModelVerdict
    covers: str
    reading: str
    how: tuple[str, ...]
    length: int
    longest: int | None
    agreement: dict[int, Share]
    departures: tuple[Departure, ...]
    proven_shortest: bool
    exhaustive: int
    regions: tuple[Region, ...]
    thin: tuple[tuple[float, Any], ...]
    queries: int
    seed: int
    seconds: float
    error: float | None = None
    method: str = ""
    other_rules: tuple[str, ...] = ()
    outputs: tuple[str, ...] = field(default=("y",))

    @property
    def shortest(self) -> Departure | None:
        return self.departures[0] if self.departures else None

    def explain(self) -> str:
        """The verdict in a sentence."""
        if self.shortest is not None:
            proof = "no shorter one departs" if self.proven_shortest else "the shortest that was found"
            given, wanted = numbers(self.shortest.model), numbers(self.shortest.meant)
            return (
                f"The model departs from the program after {len(self.shortest.inputs)} inputs ({proof}): it "
                f"gives {given}, the program {wanted}."
            )
        said = {
            "proved": "The model is proved to give the program's outputs",
            "bounded": f"The model is proved to stay within {self.error or 0:.2g} of the program",
            "exhaustive": "The model gives the program's outputs on every sequence",
            "agrees": f"No departure was found in {self.queries} sequences",
        }[self.verdict]
        return f"{said}, {self.covers}{f': {self.method}' if self.method else ''}."

    def to_dict(self) -> dict[str, Any]:
        """`certificate.json["model"]`."""
        first = self.shortest
        return {
            "verdict": self.verdict,
            "covers": self.covers,
            "explanation": self.explain(),
            "method": self.method,
            "error": self.error,
            "reading": self.reading,
            "found_out": list(self.how),
            "length": self.length,
            "longest": self.longest,
            "shortest": None if first is None else {**_told(first), "proven_shortest": self.proven_shortest},
            "departures": [_told(one) for one in self.departures],
            "agreement": {str(length): share.sequences for length, share in self.agreement.items()},
            "agreement_of_positions": {str(n): share.positions for n, share in self.agreement.items()},
            "exhaustive_to": self.exhaustive,
            "regions": [
                {"test": one.test, "covers": one.covers, "precision": one.precision} for one in self.regions
            ],
            "thin": [{"margin": margin, "inputs": x.tolist()} for margin, x in self.thin],
            "queries": self.queries,
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "other_rules": list(self.other_rules),
        }


def _told(one: Departure) -> dict[str, Any]:
    margin = None if one.margin == float("inf") else one.margin
    return {
        "inputs": one.inputs.tolist(),
        "model": list(one.model),
        "program": list(one.meant),
        "margin": margin,
    }


def numbers(values: tuple[float, ...]) -> str:
    """Outputs as a sentence has them."""
    text = ", ".join(f"{value:.6g}" for value in values)
    return text if len(values) == 1 else f"({text})"
