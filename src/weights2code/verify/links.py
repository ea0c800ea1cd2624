"""What is known about a network and its program: the link of the chain that weights are read by.

Five words, strongest first:

- `proved`: after rounding the network gives the program's outputs, at every length, on the whole domain;
- `exhaustive`: the same up to a stated length;
- `bounded`: one step ahead it differs by at most `error` (outputs that are reals);
- `tested`: on sequences that were run, and no more is known;
- `differs`: a sequence is known on which it gives something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast, get_args

from weights2code.json_values import items, mapping, number, text, whole

#: Inputs of one sequence: one tuple of column values a position.
Sequence = tuple[tuple[float, ...], ...]
NetworkVerdict = Literal["proved", "exhaustive", "bounded", "tested", "differs"]


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
    trained_on : how often the network was trained on after its program was found.
    """

    verdict: NetworkVerdict
    method: str
    covers: str
    margin: float | None = None
    error: float | None = None
    free_running: float | None = None
    sequences: int = 0
    counterexample: Sequence | None = None
    trained_on: int = 0

    def __post_init__(self) -> None:
        if self.verdict not in get_args(NetworkVerdict):
            raise ValueError(f"{self.verdict!r} is no verdict on a network")

    @property
    def equal(self) -> bool:
        """Whether the network is known to be what the program says, as far as that is possible."""
        return self.verdict in ("proved", "exhaustive", "bounded")

    def explain(self) -> str:
        """What is known, in plain English."""
        where = f", {self.covers}"
        text = {
            "proved": f"The network is proved equal to the program{where}",
            "exhaustive": f"The network equals the program on every sequence{where}",
            "bounded": f"One step ahead the network is within {self.error or 0:.2g} of the program{where}",
            "tested": "The network was compared with the program on sequences, not proved equal to it",
            "differs": "The network differs from the program",
        }[self.verdict]
        text += f": {self.method}."
        if self.trained_on:
            text += " It was trained on for that after the program was found."
        return text

    def to_dict(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "method": self.method,
            "explanation": self.explain(),
            "covers": self.covers,
            "margin": self.margin,
            "error": self.error,
            "free_running": self.free_running,
            "sequences": self.sequences,
            "counterexample": None if self.counterexample is None else [list(r) for r in self.counterexample],
            "trained_on": self.trained_on,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> NetworkCertificate:
        """Inverse of `to_dict`."""
        data = mapping(data, "the network's certificate")
        example = data["counterexample"]
        return NetworkCertificate(
            cast(NetworkVerdict, text(data["verdict"], "a verdict")),
            text(data["method"], "a method"),
            text(data["covers"], "what it covers"),
            _optional(data["margin"], "a margin"),
            _optional(data["error"], "an error"),
            _optional(data["free_running"], "an error"),
            whole(data["sequences"], "sequences"),
            None
            if example is None
            else tuple(
                tuple(float(number(value, "an input")) for value in items(row, "a row of a counterexample"))
                for row in items(example, "a counterexample")
            ),
            whole(data["trained_on"], "trained_on"),
        )


def _optional(data: Any, what: str) -> float | None:
    return None if data is None else float(number(data, what))


#: What the listing may differ by from the network, of the largest output: rounding.
ROUNDING = 1e-9


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
    lengths: tuple[int, ...]
    sequences: int

    @property
    def exact(self) -> bool:
        """Whether the difference is rounding."""
        return self.max_abs_error <= ROUNDING * self.scale

    def explain(self) -> str:
        """How far apart both are, in plain English."""
        ran = f"{self.sequences} sequences of length {', '.join(map(str, self.lengths))}"
        how = "equals the network to rounding" if self.exact else "is not exactly the network"
        return f"program_raw.py {how}: off by up to {self.max_abs_error:.2g} on {ran}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"lengths": list(self.lengths)}

    @staticmethod
    def from_dict(data: Any) -> Listing:
        """Inverse of `to_dict`."""
        data = mapping(data, "the listing")
        return Listing(
            float(number(data["max_abs_error"], "an error")),
            float(number(data["scale"], "a scale")),
            tuple(whole(length, "a length", least=1) for length in items(data["lengths"], "the lengths")),
            whole(data["sequences"], "the sequences"),
        )
