"""Settings of a run: one dataclass that is the command line's options, the API's and `config.json`.

Everything about a setting stands at its field: default, help, what a value must be, choices. The parser, the
checks, the estimator and the documentation are made from it.
"""

# ruff: noqa: RUF009 (the calls make fields)
from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from weights2code import json_values
from weights2code.errors import InputError

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

#: Seconds that a search may take unless told.
TIME_LIMIT = 120.0


@dataclass(frozen=True, slots=True)
class Option:
    """What is known of a setting: its group and text in the help, and what a value must be."""

    group: str
    help: str
    kind: type
    must: str
    holds: Callable[[Any], bool]
    choices: tuple[str, ...]
    repeat: bool

    @staticmethod
    def of(name: str) -> Option:
        """That of the setting with this name."""
        return Settings.__dataclass_fields__[name].metadata["option"]


def _option(
    default: Any,
    group: str,
    text: str,
    least: int | None = None,
    must: str = "",
    holds: Callable[[Any], bool] = lambda value: True,
    choices: Any = None,
) -> Any:
    """A field with its option; `least` bounds a number, `choices` is a Literal."""
    if least is not None:
        must, holds = f"be at least {least}", lambda value: value >= least
    kind = str if choices or default == () else float if isinstance(default, float) else int
    option = Option(group, text, kind, must, holds, get_args(choices), repeat=default == ())
    return field(default=default, metadata={"option": option})


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search. Sizes left at None are up to the ladder (`fast`) or to the paper's table (`paper`)."""

    seed: int = _option(
        0,
        SEARCH,
        "of data, initial weights and noise (default 0)",
        must=f"lie between 0 and {2**32 - 1}",
        holds=lambda value: 0 <= value < 2**32,
    )
    recipe: Recipe = _option(
        "fast", SEARCH, "the ladder of models (default), or the paper's own numbers", choices=Recipe
    )
    layout: LayoutChoice = _option(
        "auto", SEARCH, "how past outputs enter; by default the search decides", choices=LayoutChoice
    )
    layers: int | None = _option(None, SIZES, "layers", 0)
    heads: int | None = _option(
        None, SIZES, "heads a layer: location heads in fast, pointer heads in paper", 0
    )
    submlps: int | None = _option(None, SIZES, "sub-MLPs a layer", 0)
    arity: int | None = _option(None, SIZES, "operands of a sub-MLP", 1)
    hidden: int | None = _option(None, SIZES, "hidden units of a sub-MLP", 1)
    pointer: int | None = _option(None, SIZES, "further pointer heads a layer", 0)
    equality: int | None = _option(None, SIZES, "heads a layer that retrieve by an equal key", 0)
    mean: int | None = _option(None, SIZES, "heads a layer that average everything so far", 0)
    sum: int | None = _option(None, SIZES, "heads a layer that add up everything so far", 0)
    members: int | None = _option(None, NUMBERS, "restarts of each variant, trained side by side", 1)
    epochs: int | None = _option(None, NUMBERS, "epochs of each rung", 0)
    samples: int | None = _option(None, NUMBERS, "training sequences", 1)
    length: int | None = _option(
        None, NUMBERS, "length of the training sequences; the task's own by default", 1
    )
    l1: float = _option(
        0.0,
        NUMBERS,
        "penalty on the weights of a learned head",
        must="not be negative",
        holds=lambda value: value >= 0 and math.isfinite(value),
    )
    hide: tuple[str, ...] = _option(
        (), SEARCH, 'a value that nothing may read, such as "y[t-1]"; may be repeated'
    )
    lowest_cut: int = _option(
        0,
        SEARCH,
        "0: rules may be regressed from the leaves (default); 1: nodes of the network must be in them",
        0,
    )
    rungs: tuple[str, ...] = _option(
        (),
        SEARCH,
        f"rungs of the ladder that may be climbed, all by default: {', '.join(get_args(RungName))}",
        choices=RungName,
    )
    alternatives: int = _option(0, SEARCH, "so many other rules beside the chosen one, shorter or longer", 0)
    device: Device = _option("cpu", SEARCH, "where to train (default cpu)", choices=Device)
    time_limit: float = _option(
        TIME_LIMIT,
        SEARCH,
        "after so much work the search is cut short, with the best so far: seconds of a usual machine, "
        "however busy this one is (default 120)",
        must="be a positive number of seconds",
        holds=lambda value: value > 0 and math.isfinite(value),
    )

    def __post_init__(self) -> None:
        for name in names():
            option, value = Option.of(name), getattr(self, name)
            for item in value if option.repeat else (value,):
                if option.choices and item not in option.choices:
                    known = ", ".join(option.choices)
                    raise InputError(f"unknown {name} {item!r}; choose one of {known}.")
            if value is not None and not option.holds(value):
                raise InputError(f"--{name.replace('_', '-')} must {option.must}, got {value}.")
        if self.rungs and (self.recipe != "fast" or self.fixed_architecture()):
            raise InputError(
                "--rungs chooses from the ladder, which a fixed architecture or another recipe replaces; "
                "leave out one of them."
            )

    def fixed_architecture(self) -> bool:
        """True if any size is given: then there is one rung, as asked."""
        return any(getattr(self, name) is not None for name in names() if Option.of(name).group == SIZES)

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
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Settings:
        """Inverse of `to_dict`; what is missing has its default."""
        unknown = sorted(set(json_values.mapping(data, "settings")) - set(names()))
        if unknown:
            raise InputError(f"unknown settings: {', '.join(unknown)[:200]}.")
        return Settings(**{name: _stored(name, value) for name, value in data.items()})


def sizes_in(word: str) -> dict[str, int]:
    """The sizes that an architecture in one word asks for."""
    parts = re.findall(r"([A-Z])([0-9]+)", word.upper())
    found = {LETTERS[letter]: int(size) for letter, size in parts if letter in LETTERS}
    if not parts or len(found) != len(parts) or "".join(map("".join, parts)) != word.upper():
        known = ", ".join(f"{letter} {name}" for letter, name in LETTERS.items())
        raise InputError(f"cannot read the architecture {word!r}; write it as L2H3M2, of {known}, each once.")
    return found


def _stored(name: str, value: Any) -> Any:
    """The value of a setting that was read from a file."""
    option, default = Option.of(name), Settings.__dataclass_fields__[name].default
    if value is None and default is None:
        return None
    if option.repeat:
        return tuple(json_values.name(item, name) for item in json_values.items(value, name))
    if option.kind is int:
        return json_values.whole(value, name, most=2**32)
    if option.kind is float:
        return float(json_values.number(value, name))
    return json_values.text(value, name)


def names() -> list[str]:
    """The settings, in order."""
    return [setting.name for setting in fields(Settings)]


Settings.__doc__ = f"{Settings.__doc__}\n\nParameters\n----------\n" + "\n".join(
    f"{name}\n    {Option.of(name).help}." for name in names()
)
