"""What is known about a model and its program: `certificate.json["model"]`.

Five words, strongest first, and one for where they part:

- `proved`: after reading, the model gives the program's outputs at every length, on the whole domain;
- `bounded`: at every length it stays within `error` of them (reals);
- `exhaustive`: every sequence up to the length was asked, and all agree;
- `agrees`: so many sequences were, chosen to part them, and none did;
- `departs`: a sequence is known on which it gives something else.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from weights2code.decompilation.model import Model
from weights2code.decompilation.regions import Region, regions
from weights2code.language import Recurrence, uniform
from weights2code.report.svg import plural
from weights2code.verify.hunt import Departure, Hunt, drawn

ModelVerdict = Literal["proved", "bounded", "exhaustive", "agrees", "departs"]

#: Positions of random sequences of each length that agreement is told of, and sequences at most; of the
#: questions, the share that is kept for it, and the fewest that a hunt has.
POSITIONS, MOST_SEQUENCES, MEASURING, FEWEST = 20_000, 1000, 0.1, 1000
#: Departures that are told.
TOLD = 5


@dataclass(frozen=True, slots=True, eq=False)
class ModelCertificate:
    """The verdict on a model.

    Attributes
    ----------
    verdict, covers : one of the words above, and what it speaks about.
    reading, how : how outputs were read, and what was guessed and found out about the model, in words.
    length, longest : the model's own length, and the most that it takes, if there is a limit.
    agreement : by length, of uniform sequences the share that agree everywhere, and of their positions.
    departures : the shortest that were found; `proven_shortest` if every shorter sequence was asked.
    exhaustive : every sequence up to this length was asked, and agrees.
    regions : where it first departs, in short tests.
    thin : the smallest margins where both agree, with the inputs up to there.
    queries, seed : sequences that the model was given, and the seed of those that were random.
    other_rules : others whose description is nearly as long.
    error, method : of `proved` and `bounded`, by how much it differs at most, and how that is known.
    """

    verdict: ModelVerdict
    covers: str
    reading: str
    how: tuple[str, ...]
    length: int
    longest: int | None
    agreement: dict[int, tuple[float, float]]
    departures: tuple[Departure, ...]
    proven_shortest: bool
    exhaustive: int
    regions: tuple[Region, ...]
    thin: tuple[tuple[float, Any], ...]
    queries: int
    seed: int
    seconds: float
    other_rules: tuple[str, ...] = ()
    error: float | None = None
    method: str = ""

    @property
    def shortest(self) -> Departure | None:
        return self.departures[0] if self.departures else None

    def explain(self) -> str:
        """The verdict in a sentence."""
        if self.shortest is not None:
            proof = "no shorter one departs" if self.proven_shortest else "the shortest that was found"
            inputs = plural(len(self.shortest.inputs), "input")
            given, wanted = numbers(self.shortest.model), numbers(self.shortest.meant)
            return (
                f"The model departs from the program after {inputs} ({proof}): it "
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
            "departures": [_told(one, whole=True) for one in self.departures],
            "agreement": {str(n): sequences for n, (sequences, _) in self.agreement.items()},
            "agreement_of_positions": {str(n): positions for n, (_, positions) in self.agreement.items()},
            "exhaustive_to": self.exhaustive,
            "regions": list(map(asdict, self.regions)),
            "thin": [{"margin": margin, "inputs": x.tolist()} for margin, x in self.thin],
            "queries": self.queries,
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "other_rules": list(self.other_rules),
        }


def _told(one: Departure, *, whole: bool = False) -> dict[str, Any]:
    """A departure; the `whole` of it has the model's outputs at every position."""
    margins = [None if np.isinf(margin) else margin for margin in one.margins.tolist()]
    said = {"inputs": one.inputs.tolist(), "model": list(one.model), "program": list(one.meant)}
    said |= {"margin": margins[-1]}
    return said | {"outputs": one.right.tolist(), "margins": margins} if whole else said


def numbers(values: tuple[float, ...]) -> str:
    """Outputs as a sentence has them."""
    text = ", ".join(f"{value:.6g}" for value in values)
    return text if len(values) == 1 else f"({text})"


def hunted(program: Recurrence, model: Model, seed: int, budget: int) -> Hunt:
    """The hunt for departures of a model from a program, before it begins."""
    rng, asking, last = np.random.default_rng(seed), model.asking, model.at == "last"
    near, domains = model.reading.near, model.domains
    return Hunt(program, model, domains, asking.length, model.longest, near, budget, rng, last)


def judged(program: Recurrence, model: Model, began: float, others: tuple[str, ...]) -> ModelCertificate:
    """Hunt for departures with the questions that are left, and say what is known then."""
    asking = model.asking
    left = int((1 - MEASURING) * asking.queries) - model.queries
    hunt = hunted(program, model, asking.seed + 1, max(FEWEST, left))
    hunt.whole()
    agreement, parting, lengths = {}, None, hunt.lengths()
    most = int(MEASURING * asking.queries) // (2 * len(lengths))
    for steps in lengths:
        count = max(8, min(MOST_SEQUENCES, most // hunt.each(steps), POSITIONS // steps))
        wrong, _ = hunt.compare(uniform(hunt.rng, model.domains, count, steps))
        agreement[steps] = (float(1 - wrong.any(1).mean()), float(1 - wrong.mean()))
        x = drawn(hunt.rng, model.domains, count, steps)
        wrong, _ = hunt.compare(x)
        parting = (x, wrong) if parting is None and wrong.any() else parting
    departures = tuple(hunt.departures(TOLD))
    covered = hunt.exhaustive >= hunt.length
    return ModelCertificate(
        verdict="departs" if departures else "exhaustive" if covered else "agrees",
        covers=(f"lengths 1 to {hunt.exhaustive}" if covered else f"lengths up to {lengths[-1]}")
        + ", each beginning asked by itself" * (model.at == "last"),
        reading=model.reading.words(),
        how=tuple(model.found_out),
        length=hunt.length,
        longest=model.longest,
        agreement=agreement,
        departures=departures,
        proven_shortest=bool(departures) and hunt.proven,
        exhaustive=hunt.exhaustive,
        regions=() if parting is None else tuple(regions(program, *parting)),
        thin=tuple(item for item in hunt.thinnest if np.isfinite(item[0])),
        queries=model.queries,
        seed=asking.seed,
        seconds=time.perf_counter() - began,
        other_rules=others,
    )
