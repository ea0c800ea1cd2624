"""Settings of a run: one dataclass that is the command line's options, the API's and `config.json`."""

# ruff: noqa: RUF009 (the calls make fields)
from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

from weights2code.errors import InputError
from weights2code.options import check, from_json, option, options_of, to_json

Recipe = Literal["fast", "paper"]
LayoutChoice = Literal["auto", "tagging", "autoregressive", "concat"]
Device = Literal["cpu", "cuda", "auto"]
#: The rungs of the ladder, smallest first, as they are written in a command.
RungName = Literal[
    "linear",
    "prefix",
    "lookup",
    "pairs",
    "window",
    "wide-window",
]

SEARCH, SIZES, NUMBERS = "search", "a fixed architecture instead of the ladder", "numbers of the recipe"

#: An architecture in one word, such as L2H3M2, is letters with numbers; these are what they stand for.
LETTERS = {
    "L": "layers", "H": "heads", "M": "submlps", "K": "arity", "U": "hidden",
    "P": "pointer", "E": "equality", "A": "mean", "S": "sum",
}  # fmt: skip

_search = partial(option, group=SEARCH)
_size = partial(option, None, metavar="N", group=SIZES, least=0)
_number = partial(option, None, metavar="N", group=NUMBERS, least=1)

#: Seconds that a search may take unless told.
TIME_LIMIT = 120.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search. Sizes left at None are up to the ladder (`fast`) or to the paper's table (`paper`)."""

    seed: int = _search(
        0,
        "of data, initial weights and noise (default 0)",
        "N",
        must=f"lie between 0 and {2**32 - 1}",
        holds=lambda value: 0 <= value < 2**32,
    )
    recipe: Recipe = _search(
        "fast", "the ladder of models (default), or the paper's own numbers", choices=Recipe
    )
    layout: LayoutChoice = _search(
        "auto", "how past outputs enter; by default the search decides", choices=LayoutChoice
    )
    layers: int | None = _size("layers")
    heads: int | None = _size("heads a layer: location heads in fast, pointer heads in paper")
    submlps: int | None = _size("sub-MLPs a layer")
    arity: int | None = _size("operands of a sub-MLP", least=1)
    hidden: int | None = _size("hidden units of a sub-MLP", least=1)
    pointer: int | None = _size("further pointer heads a layer")
    equality: int | None = _size("heads a layer that retrieve by an equal key")
    mean: int | None = _size("heads a layer that average everything so far")
    sum: int | None = _size("heads a layer that add up everything so far")
    members: int | None = _number("restarts of each variant, trained side by side")
    epochs: int | None = _number("epochs of each rung", least=0)
    samples: int | None = _number("training sequences")
    length: int | None = _number("length of the training sequences; the task's own by default")
    l1: float = option(
        0.0,
        "penalty on the weights of a learned head",
        "X",
        group=NUMBERS,
        must="not be negative",
        holds=lambda value: value >= 0 and math.isfinite(value),
    )
    hide: tuple[str, ...] = _search(
        (), 'a value that nothing may read, such as "y[t-1]"; may be repeated', repeated=True
    )
    lowest_cut: int = _search(
        0,
        "0: rules may be regressed from the leaves (default); 1: nodes of the network must be in them",
        "N",
        least=0,
    )
    rungs: tuple[str, ...] = option(
        (),
        f"rungs of the ladder that may be climbed, all by default: {', '.join(get_args(RungName))}",
        group=SEARCH,
        choices=RungName,
    )
    alternatives: int = _search(
        0, "so many other rules beside the chosen one, shorter or longer", "N", least=0
    )
    device: Device = _search("cpu", "where to train (default cpu)", choices=Device)
    time_limit: float = _search(
        TIME_LIMIT,
        "after so much work the search is cut short, with the best so far: seconds of a usual machine, "
        "however busy this one is (default 120)",
        "X",
        must="be a positive number of seconds",
        holds=lambda value: value > 0 and math.isfinite(value),
    )

    def __post_init__(self) -> None:
        check(self)
        if self.rungs and (self.recipe != "fast" or self.fixed_architecture()):
            raise InputError(
                "--rungs chooses from the ladder, which a fixed architecture or another recipe replaces; "
                "leave out one of them."
            )

    def fixed_architecture(self) -> bool:
        """True if any size is given: then there is one rung, as asked."""
        return any(getattr(self, n) is not None for n, known in SETTINGS.items() if known.group == SIZES)

    def asked_for(self) -> bool:
        """Whether what is trained was asked for by name: an architecture, rungs or another recipe."""
        return self.recipe != "fast" or self.fixed_architecture() or bool(self.rungs)

    def rows_too(self) -> bool:
        """Whether rules that the rows show are taken: not where networks were asked about."""
        return not (self.asked_for() or self.hide or self.lowest_cut or self.layout == "concat")

    def cut_after(self) -> float:
        """Seconds after which what is under way is cut short.

        What was asked for by name is trained to its end unless a limit was given with it: then only nothing
        larger is started.
        """
        return math.inf if self.asked_for() and self.time_limit == TIME_LIMIT else self.time_limit

    def changed(self) -> dict[str, Any]:
        """The settings that differ from the defaults."""
        plain = Settings().to_dict()
        return {name: value for name, value in self.to_dict().items() if value != plain[name]}

    def to_dict(self) -> dict[str, Any]:
        return to_json(self)

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Settings:
        """Inverse of `to_dict`; what is missing has its default."""
        return from_json(Settings, data, "settings")


#: The settings by their names.
SETTINGS = options_of(Settings)


def sizes_in(word: str) -> dict[str, int]:
    """The sizes that an architecture in one word asks for."""
    parts = re.findall(r"([A-Z])([0-9]+)", word.upper())
    found = {LETTERS[letter]: int(size) for letter, size in parts if letter in LETTERS}
    if not parts or len(found) != len(parts) or "".join(map("".join, parts)) != word.upper():
        known = ", ".join(f"{letter} {name}" for letter, name in LETTERS.items())
        raise InputError(f"cannot read the architecture {word!r}; write it as L2H3M2, of {known}, each once.")
    return found


Settings.__doc__ = f"{Settings.__doc__}\n\nParameters\n----------\n" + "\n".join(
    f"{name}\n    {known.help}." for name, known in SETTINGS.items()
)
