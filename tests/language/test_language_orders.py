"""Order statistics as operators: one for every number of values, made when they are asked for."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

from weights2code.language import (
    OPERATORS,
    Const,
    Op,
    Recurrence,
    Step,
    Var,
    evaluate,
    from_dict,
    integers,
    op,
    reals,
    to_dict,
    uniform,
)
from weights2code.language.formula_reading import read_formula
from weights2code.language.operators import MOST_ORDERED, order_name, order_of
from weights2code.language.sympy_form import to_sympy
from weights2code.program import Program
from weights2code.program.sandbox import check_source, run_program
from weights2code.symbolic import NativeEngine
from weights2code.verify import certify

WINDOW = tuple(Var("x", lag) for lag in range(5))
MEDIAN = op(order_name(3, 5), *WINDOW)


def test_names():
    assert order_of(order_name(2, 7)) == (2, 7)
    for name in ("order_1_of_3", "order_3_of_3", "order_2_of_99", "order_02_of_x", "add", None):
        assert order_of(name) is None
    assert order_name(2, MOST_ORDERED) in OPERATORS
    assert order_name(2, MOST_ORDERED + 1) not in OPERATORS
    with pytest.raises(KeyError):
        OPERATORS["order_2_of_2"]
    assert not any(order_of(name) for name in OPERATORS)  # they are not listed


@pytest.mark.parametrize(("place", "count"), [(2, 3), (2, 4), (3, 4), (3, 5), (5, 6)])
def test_every_meaning_is_the_same(place: int, count: int):
    entry = OPERATORS[order_name(place, count)]
    expr = to_sympy(Op(entry.name, tuple(Var(f"v{i}") for i in range(count))))
    for values in product(range(3), repeat=count):
        right = sorted(values)[place - 1]
        assert entry.exact(*values) == right
        assert entry.numpy(*map(np.array, values)) == right
        assert eval(entry.python.template.format(*values)) == right
    symbols = sorted(expr.free_symbols, key=str)
    assert expr.subs(dict(zip(symbols, range(count), strict=True))) == place - 1


def test_texts_are_read_again():
    for text in ("median(x[t], x[t-1], x[t-2])", "largest_2(x[t], x[t-1], x[t-2], x[t-3])"):
        assert str(read_formula(text)) == text
    assert from_dict(to_dict(MEDIAN)) == MEDIAN
    with pytest.raises(ValueError, match="not an expression"):
        from_dict({"op": "order_3_of_16", "args": [0] * 16})


def test_a_median_is_the_middle_of_three_by_bounds():
    """And the proof by z3 does not hold where it is not."""
    x, domains = [Var("x", lag) for lag in range(3)], (integers(-(10**6), 10**6),)
    middle = op("clip", x[0], op("min", x[1], x[2]), op("max", x[1], x[2]))
    rules = [Recurrence(("x",), (Step("y", rule),), ("y",)) for rule in (middle, op(order_name(2, 3), *x))]
    options = {"domains": domains, "length": 8, "integer_outputs": True}
    assert certify(rules[1], reference=rules[0], **options).verdict == "proved"
    late = Recurrence(("x",), (Step("y", rules[1].steps[0].definition + (x[0] > 999_998)),), ("y",))  # type: ignore[operator]
    assert certify(late, reference=rules[0], **options).verdict != "proved"


def test_the_program_computes_the_same():
    rule = Recurrence(("x",), (Step("y", MEDIAN - Const(0.5) * Var("y", 1)),), ("y",))
    program = Program("smooth", rule, (integers(0, 9),))
    assert not check_source(program.source())
    x = np.random.default_rng(0).integers(0, 10, (3, 30, 1)).astype(float)
    assert np.array_equal(np.stack(run_program(program.source(), [*x])), rule.run(x)[..., 0])


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("rule", "formula"),
    [
        (lambda s, x: s[:, 2], "median(x[t], x[t-1], x[t-2], x[t-3], x[t-4])"),
        (lambda s, x: s[:, 3], "largest_2(x[t], x[t-1], x[t-2], x[t-3], x[t-4])"),
        (lambda s, x: x[:, 0] - s[:, 2], "x[t] - median(x[t], x[t-1], x[t-2], x[t-3], x[t-4])"),
        (lambda s, x: (x[:, 1] > s[:, 2]) + 0.0, "[x[t-1] > median(x[t], x[t-1], x[t-2], x[t-3], x[t-4])]"),
    ],
)
def test_they_are_found(rule, formula: str, whole: bool):
    rng = np.random.default_rng(0)
    domain = integers(0, 19) if whole else reals(-5.0, 5.0)
    x = uniform(rng, (domain,) * 5, 1500, 1)[:, 0]
    front = NativeEngine().search(x, rule(np.sort(x, axis=1), x), variables=WINDOW, domains=(domain,) * 5)
    turned = re.sub(r"\[(\S+) > (.*)\]", r"[\2 < \1]", formula)
    assert str(front[-1].expr) in (formula, turned)
    assert front[-1].exact
    values = {variable: x[:, j] for j, variable in enumerate(WINDOW)}
    assert np.allclose(evaluate(front[-1].expr, values), rule(np.sort(x, axis=1), x))
