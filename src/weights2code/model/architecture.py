"""What a Discrete Transformer consists of, and where everything lies in its residual stream.

The stream is a list of scalar variables (paper, section 3.1): the input channels, then for each layer the
outputs of its heads and of its sub-MLPs. Every discrete decision of the model, a read or the offset of a
location head, is one row of a single table of choices; `Wiring` says which row decides what. Sampling the
whole table at once is what makes many small decisions cheap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Annotated, Any

from weights2code.errors import InputError
from weights2code.heads import BUILT_IN, HEADS, HeadKind
from weights2code.json_fields import from_fields, to_fields
from weights2code.json_values import items, text, whole

#: Each size of an architecture that is read from a file, and its choices in all.
MOST_SIZE = 100_000
Size = Annotated[int, partial(whole, most=MOST_SIZE)]


def _counts(data: Any, what: str) -> tuple[tuple[str, int], ...]:
    """Kinds of heads with how many there are."""
    pairs = (items(pair, what, 2) for pair in items(data, what))
    return tuple((text(kind, what), whole(count, what, most=MOST_SIZE)) for kind, count in pairs)


@dataclass(frozen=True, slots=True)
class Architecture:
    """Sizes of a Discrete Transformer.

    Parameters
    ----------
    channels, outputs : width of the stream at the input, rows of the linear head.
    layers : number of layers; 0 leaves only the linear head.
    location, pointer, equality, mean, sum, max, min : heads of each kind in every layer; the last four
        aggregate everything so far.
    less, at_most, same, at_least, more : heads that count the keys so far which compare so with a value.
    submlps, arity, hidden : sub-MLPs a layer, operands of each, hidden units of each.
    bins, width : pieces of the piecewise linear encoding and size of its embedding (pointer heads).
    window : offsets 0..window-1 are told apart; farther ones share the last bias (pointer heads) or are
        out of reach (location heads).
    past : how many of the channels, the last ones, hold past outputs.
    learned_start : what lies before the start (past outputs at the first position, and the null slot of
        location heads) is a learned number instead of 0.
    own : names of kinds of heads of one's own, which were registered, and how many of each every layer has.
    """

    channels: Size = 1
    outputs: Size = 1
    layers: Size = 1
    location: Size = 0
    pointer: Size = 0
    equality: Size = 0
    mean: Size = 0
    sum: Size = 0
    max: Size = 0
    min: Size = 0
    less: Size = 0
    at_most: Size = 0
    same: Size = 0
    at_least: Size = 0
    more: Size = 0
    submlps: Size = 2
    arity: Size = 2
    hidden: Size = 16
    bins: Size = 8
    width: Size = 8
    window: Size = 8
    past: Size = 0
    learned_start: bool = False
    own: Annotated[tuple[tuple[str, int], ...], _counts] = ()

    def __post_init__(self) -> None:
        for name, least in (("channels", 1), ("outputs", 1), ("arity", 1), ("hidden", 1), ("bins", 1),
                            ("width", 1), ("window", 1)):  # fmt: skip
            if getattr(self, name) < least:
                raise InputError(f"{name} must be at least {least}, got {getattr(self, name)}.")
        for name in ("layers", *BUILT_IN, "submlps", "past"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} must not be negative, got {getattr(self, name)}.")
        for kind, count in self.own:
            if kind not in HEADS or kind in BUILT_IN or count < 0:
                raise InputError(f"there is no kind of head {kind!r} of one's own; register it first.")
        if self.past > self.channels:
            raise InputError(f"past outputs are channels too: {self.past} do not fit into {self.channels}.")

    @property
    def heads(self) -> int:
        """Heads a layer, of all kinds."""
        return len(self.head_kinds())

    def head_kinds(self) -> tuple[HeadKind, ...]:
        """The kind of each head of a layer, in stream order."""
        return tuple(kind for kind in HEADS for _ in range(self.count(kind)))

    def count(self, kind: HeadKind) -> int:
        """Heads of one kind a layer."""
        return getattr(self, kind) if kind in BUILT_IN else dict(self.own).get(kind, 0)

    @staticmethod
    def sizes_for(counts: Mapping[HeadKind, int]) -> dict[str, Any]:
        """The parameters that say how many heads of each kind there are."""
        own = tuple((kind, count) for kind, count in counts.items() if kind not in BUILT_IN and count)
        return {**{kind: counts.get(kind, 0) for kind in BUILT_IN}, "own": own}

    def stream_width(self, layer: int) -> int:
        """Variables in the stream before `layer` (or at the end, for `layer == layers`)."""
        return self.channels + layer * (self.heads + self.submlps)

    def to_dict(self) -> dict[str, Any]:
        return to_fields(self)

    @staticmethod
    def from_dict(data: Any) -> Architecture:
        """Inverse of `to_dict`; sizes that nobody could train are refused."""
        found = from_fields(Architecture, data, "an architecture")
        if found.layers * (found.heads + found.submlps * found.arity) > MOST_SIZE:
            raise ValueError(f"an architecture has more than {MOST_SIZE} choices")
        return found


@dataclass(frozen=True, slots=True)
class Choice:
    """One row of the table of choices: what a module reads, or its offset, among `options`.

    `index` is the module's place among the heads, or the sub-MLPs, of its layer; `slot` that of an operand.
    """

    layer: int
    kind: HeadKind  # or "submlp"
    index: int
    decides: str
    options: int
    slot: int = 0

    @property
    def module(self) -> str:
        return module_name(self.kind, self.layer, self.index)

    @property
    def role(self) -> str:
        """The decision's own name within its module."""
        return f"operand{self.slot}" if self.kind == "submlp" else self.decides


@dataclass(frozen=True, slots=True)
class Wiring:
    """The table of choices of an architecture and the names of its stream variables."""

    choices: tuple[Choice, ...]
    variables: tuple[str, ...]

    @property
    def width(self) -> int:
        return max((choice.options for choice in self.choices), default=1)


def module_name(kind: str, layer: int, index: int) -> str:
    """The paper's names: `Attn_L0H1`, `MLP_L0M0`."""
    return f"MLP_L{layer}M{index}" if kind == "submlp" else f"Attn_L{layer}H{index}"


@lru_cache(maxsize=64)
def wiring(architecture: Architecture) -> Wiring:
    """Lay out the table of choices: a layer's head reads by kind, its offsets, then its operands.

    Modules have the paper's names: `Attn_L0H1`, `MLP_L0M0`.
    """
    choices: list[Choice] = []
    variables = [f"V{i}_input" for i in range(architecture.channels)]
    kinds = architecture.head_kinds()
    for layer in range(architecture.layers):
        before = architecture.stream_width(layer)
        for index, kind in enumerate(kinds):
            choices += [Choice(layer, kind, index, read, before) for read in HEADS[kind].reads]
            if kind == "location":
                choices.append(Choice(layer, kind, index, "offset", architecture.window + 1))
            variables.append(f"V{len(variables)}_{module_name(kind, layer, index)}")
        for index in range(architecture.submlps):
            choices += [
                Choice(layer, "submlp", index, "operand", before + len(kinds), slot)
                for slot in range(architecture.arity)
            ]
            variables.append(f"V{len(variables)}_{module_name('submlp', layer, index)}")
    return Wiring(tuple(choices), tuple(variables))


def parameter_shapes(a: Architecture) -> dict[str, tuple[int, ...]]:
    """The shape of each parameter of one member."""
    table, seekers = wiring(a), a.pointer + a.equality
    return {
        "choices": (len(table.choices), table.width),
        "hidden_weight": (a.layers, a.submlps, a.hidden, a.arity),
        "hidden_bias": (a.layers, a.submlps, a.hidden, 1),
        "output_weight": (a.layers, a.submlps, 1, a.hidden),
        "output_bias": (a.layers, a.submlps, 1, 1),
        "query_table": (a.layers, a.pointer, a.bins + 1, a.width),
        "key_table": (a.layers, a.pointer, a.bins + 1, a.width),
        "relative_bias": (a.layers, seekers, a.window),
        "null_score": (a.layers, seekers),
        "start": (a.past + a.layers * a.location if a.learned_start else 0,),
        "head": (a.outputs, a.stream_width(a.layers) + 1),  # the last column is the intercept
    }


def mask_shapes(a: Architecture) -> dict[str, tuple[int, ...]]:
    """The shape of each mask of one member: options of choices, variables, learned starts, offsets."""
    return {
        "choice_mask": parameter_shapes(a)["choices"],
        "variable_mask": (a.stream_width(a.layers),),
        "start_mask": (1,),
        "offset_mask": (a.window,),
    }
