"""The table of choices and the names of the stream's variables."""

import pytest

from weights2code.errors import InputError
from weights2code.heads import BUILT_IN
from weights2code.model import Architecture, wiring


def test_variables_are_named_as_in_the_paper():
    names = wiring(Architecture(channels=2, layers=2, location=1, mean=1, submlps=1)).variables
    assert names == (
        "V0_input", "V1_input",
        "V2_Attn_L0H0", "V3_Attn_L0H1", "V4_MLP_L0M0",
        "V5_Attn_L1H0", "V6_Attn_L1H1", "V7_MLP_L1M0",
    )  # fmt: skip


def test_heads_stand_in_the_order_of_their_kinds():
    architecture = Architecture(min=1, max=1, sum=1, pointer=2, location=1, mean=1, equality=1)
    kinds = ("location", "pointer", "pointer", "equality", "mean", "sum", "max", "min")
    assert architecture.head_kinds() == kinds
    assert architecture.heads == 8


def test_every_module_makes_its_own_choices():
    """What each kind of module decides, and among how many options."""
    architecture = Architecture(
        channels=2, layers=2, location=1, pointer=1, mean=1, submlps=2, arity=3, window=5
    )
    table = wiring(architecture)
    decided = {}
    for choice in table.choices:
        decided.setdefault((choice.layer, choice.module), {})[choice.role] = choice.options
    assert decided[0, "Attn_L0H0"] == {"value": 2, "offset": 6}
    assert decided[0, "Attn_L0H1"] == {"query": 2, "key": 2, "value": 2}
    assert decided[0, "Attn_L0H2"] == {"value": 2}
    assert decided[0, "MLP_L0M1"] == {"operand0": 5, "operand1": 5, "operand2": 5}
    assert decided[1, "Attn_L1H0"] == {"value": 7, "offset": 6}
    assert decided[1, "MLP_L1M0"]["operand0"] == 10
    assert len(decided) == 10
    assert table.width == 10
    assert len(table.variables) == architecture.stream_width(2) == 12


@pytest.mark.parametrize(
    ("names", "size", "sentence"),
    [
        (
            ("channels", "outputs", "arity", "hidden", "bins", "width", "window"),
            0,
            "must be at least 1, got 0",
        ),
        (("layers", *BUILT_IN, "submlps", "past"), -1, "must not be negative, got -1"),
    ],
)
def test_sizes_that_are_none(names: tuple[str, ...], size: int, sentence: str):
    for name in names:
        with pytest.raises(InputError, match=f"{name} {sentence}"):
            Architecture(**{name: size})  # type: ignore[arg-type]


def test_past_outputs_are_among_the_channels():
    with pytest.raises(InputError, match="2 do not fit into 1"):
        Architecture(channels=1, past=2)
