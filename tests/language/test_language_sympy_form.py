"""Expressions as SymPy and as LaTeX: the meaning stays."""

from fractions import Fraction

import numpy as np
import pytest

from weights2code.language import Const, Expr, Var, evaluate, maximum, minimum, op, where
from weights2code.language.latex import latex
from weights2code.language.sympy_form import symbol, to_sympy

x, y, x1 = Var("x"), Var("y"), Var("x", 1)
FORMULAS: list[Expr] = [
    x + y - 2 * x * y,
    abs(x - x1),
    (x + y) % 3,
    maximum(x, minimum(y, x1)) - 0.5,
    op("clip", x + y, 0, 2),
    (x >= y) + x.equals(x1),
    op("and", x > y, op("not", x1 <= 1)),
    op("or", x < y, op("ne", x, x1)),
    where(x > 1, y, where(x1 < 2, 0, x)),
    (x + y) // 3,
    op("relu", x - y),
    Const(Fraction(1, 3)) * x - 0.098,
    op("sqrt", x) * op("exp", -y) + op("cos", x1) * op("sin", x) + op("log", y + 1),
    x / (y + 1),
    (x + 1) ** 3,
    1 / (x + 1) ** 2,
    -x,
    where(x - y, x, y),
]


def values() -> dict[Var, np.ndarray]:
    grid = np.array(np.meshgrid([0.0, 1, 2, 3], [0.0, 1, 2, 3], [0.0, 1, 2])).reshape(3, -1)
    return {x: grid[0], y: grid[1], x1: grid[2]}


@pytest.mark.parametrize("expr", FORMULAS, ids=str)
def test_sympy_means_the_same(expr: Expr) -> None:
    import sympy

    compiled = sympy.lambdify([symbol(v) for v in (x, y, x1)], to_sympy(expr), "numpy")
    np.testing.assert_allclose(compiled(*values().values()), evaluate(expr, values()), atol=1e-12)


def test_symbols_are_named_by_time() -> None:
    assert [symbol(v).name for v in (x, x1)] == ["x_t", "x_{t-1}"]


def test_decimals_are_exact() -> None:
    assert to_sympy(0.1 * x + 0.2 * x - 0.3 * x) == 0


def test_own_symbols_are_used() -> None:
    import sympy

    a = sympy.Symbol("a", integer=True)
    assert to_sympy(x + 1, {x: a}) == a + 1


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (x + y - 2 * x * x1, r"x_{t} + y_{t} - 2 \, x_{t} \, x_{t-1}"),
        (x - (y - x1), r"x_{t} - \left(y_{t} - x_{t-1}\right)"),
        ((x + y) % 3, r"\left(x_{t} + y_{t}\right) \bmod 3"),
        (op("and", x > 1, y < 2), r"\left[x_{t} > 1 \land y_{t} < 2\right]"),
        (Const(Fraction(-1, 3)) * x, r"-\frac{1}{3} \, x_{t}"),
        (abs(Var("carry", 1)), r"\left|\mathrm{carry}_{t-1}\right|"),
        (
            where(x > 1, x, 0),
            r"\begin{cases} x_{t} & \text{if } x_{t} > 1 \\ 0 & \text{otherwise} \end{cases}",
        ),
    ],
)
def test_latex(expr: Expr, text: str) -> None:
    assert latex(expr) == text


@pytest.mark.parametrize("expr", FORMULAS, ids=str)
def test_latex_is_balanced(expr: Expr) -> None:
    text = latex(expr)
    assert text.count(r"\left") == text.count(r"\right")
    assert text.count("{") == text.count("}")
