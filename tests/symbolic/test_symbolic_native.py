"""The native engine on functions whose shortest form is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from weights2code.language import BITS, Domain, Op, Var, evaluate, formula, integers, reals
from weights2code.symbolic.engine import Candidate, pick
from weights2code.symbolic.engines.native import NativeEngine

a, b, c, d, e = (Var(name) for name in "abcde")
DIGITS, SMALL, REAL = integers(0, 9), integers(0, 6), reals(-2, 2)


def sample(domains: tuple[Domain, ...], count: int = 1500, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    columns = [
        rng.integers(int(dom.low), int(dom.high) + 1, count)
        if dom.discrete
        else rng.uniform(dom.low, dom.high, count)
        for dom in domains
    ]
    return np.stack(columns, axis=1).astype(float)


def search(
    function: Callable[..., np.ndarray], domains: tuple[Domain, ...], noise: float = 0.0, **options: object
) -> Candidate:
    X = sample(domains)
    y = np.asarray(function(*X.T), dtype=float)
    y = y + noise * np.random.default_rng(1).normal(size=len(y))
    variables = (a, b, c, d, e)[: len(domains)]
    options.setdefault("effort", 60.0)
    front = NativeEngine().search(X, y, variables=variables, domains=domains, **options)  # type: ignore[arg-type]
    return pick(front)


def worst(candidate: Candidate, function: Callable[..., np.ndarray], domains: tuple[Domain, ...]) -> float:
    X = sample(domains, seed=9)
    variables = (a, b, c, d, e)[: len(domains)]
    values = evaluate(candidate.expr, dict(zip(variables, X.T, strict=True)))
    return float(np.max(np.abs(values - function(*X.T))))


CASES: list[tuple[str, Callable[..., np.ndarray], tuple[Domain, ...], int]] = [
    ("constant", lambda x: 0 * x + 3, (DIGITS,), 1),
    ("identity", lambda x: x, (DIGITS,), 1),
    ("average", lambda x, y: 0.3 * x + 0.7 * y, (REAL, REAL), 7),
    ("oscillator", lambda x, y, z: 1.6 * x - 0.85 * y + 0.25 * z, (REAL,) * 3, 11),
    ("abs of difference", lambda x, y: abs(x - y), (integers(-100, 99),) * 2, 4),
    ("difference of abs", lambda x, y: abs(x) - abs(y), (integers(-100, 99),) * 2, 5),
    ("maximum", np.maximum, (REAL, REAL), 3),
    ("minimum", np.minimum, (DIGITS, DIGITS), 3),
    ("equal", lambda x, y: x == y, (integers(0, 7),) * 2, 3),
    ("xor", lambda x, y: x != y, (BITS, BITS), 3),
    ("parity of 3", lambda x, y, z: (x + y + z) % 2, (BITS,) * 3, 7),
    ("parity of 4", lambda x, y, z, u: (x + y + z + u) % 2, (BITS,) * 4, 9),
    ("sum mod 5", lambda x, y: (x + y) % 5, (integers(0, 4),) * 2, 5),
    ("sum mod 15", lambda x, y: (x + y) % 15, (integers(0, 14), integers(0, 15)), 5),
    ("quotient by 15", lambda x, y: (x + y) // 15, (integers(0, 14), integers(0, 15)), 5),
    ("even", lambda x: x % 2 == 0, (DIGITS,), 5),
    ("count even", lambda x, y: y + (x % 2 == 0), (DIGITS, DIGITS), 7),
    ("squares", lambda x: np.isin(x, [0, 1, 4, 9, 16]), (integers(0, 19),), 9),
    ("alternating of 3", lambda x, y, z: (x != y) & (y != z), (BITS,) * 3, 7),
    ("zero and not below", lambda x, y: (x == 0) & (y >= 0), (integers(-6, 6),) * 2, 7),
    ("more than half", lambda x, y: 2 * x > y, (integers(0, 20),) * 2, 5),
    ("hysteresis", lambda x, y: np.where(x > 5, 1, np.where(x < 2, 0, y)), (DIGITS, BITS), 7),
    ("saturation", lambda x, y: np.clip(x + y, 0, 10), (integers(0, 10), integers(-5, 5)), 7),
    ("reset", lambda x, y: np.where(x == 0, 0, y + 1), (integers(0, 3), DIGITS), 7),
    ("free fall", lambda x: 4.9 * x * x, (reals(0, 10),), 5),
    ("product", lambda x, y: x * y, (REAL, REAL), 3),
    ("ratio", lambda x, y: x / y, (reals(1, 3), reals(1, 3)), 3),
    ("reciprocal", lambda x: 2 / (x + 1.3), (reals(0, 3),), 5),
]


@pytest.mark.parametrize(
    ("function", "domains", "size"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_finds_the_shortest_exact_formula(
    function: Callable[..., np.ndarray], domains: tuple[Domain, ...], size: int
) -> None:
    found = search(function, domains)
    assert found.exact
    assert found.kind == "formula"
    assert found.complexity <= size
    assert worst(found, function, domains) <= 1e-9


SLOW: list[tuple[str, Callable[..., np.ndarray], tuple[Domain, ...], int]] = [
    ("relu", lambda x, y: np.maximum(2 * x - y + 0.3, 0), (REAL, REAL), 8),
    (
        "linear drag",
        lambda x, y, z: 2 * x - y + 0.098 - z * (x - y),
        (reals(0, 3), reals(0, 3), reals(0, 0.5)),
        13,
    ),
    (
        "square drag",
        lambda x, y, z: 2 * x - y + 0.098 - z * (x - y) * abs(x - y),
        (reals(0, 3), reals(0, 3), reals(0, 0.5)),
        18,
    ),
    ("exponential", lambda x: 1.5 * np.exp(0.7 * x) + 1, (reals(-1, 1),), 8),
    ("root of squares", lambda x, y: np.sqrt(x * x + y * y), (reals(0.5, 3),) * 2, 8),
    ("alternating of 4", lambda x, y, z, u: (x != y) & (y != z) & (z != u), (BITS,) * 4, 13),
    ("addition", lambda x, y, u, v, r: (x + y + (u + v > r)) % 7, (SMALL,) * 5, 11),
    ("division by 3", lambda x, p, q, s, t: 2 * ((2 * (q + t) + p + s) % 4) + x >= 3, (BITS,) * 5, 15),
    (
        "largest count",
        lambda x, y, z: np.where((x >= y) & (x >= z), 0, np.where(y >= z, 1, 2)),
        (integers(0, 8),) * 3,
        13,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "domains", "size"), [case[1:] for case in SLOW], ids=[c[0] for c in SLOW]
)
def test_finds_longer_formulas(
    function: Callable[..., np.ndarray], domains: tuple[Domain, ...], size: int
) -> None:
    found = search(function, domains)
    assert found.exact
    assert found.kind == "formula"
    assert found.complexity <= size
    assert worst(found, function, domains) <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("divisor", [5, 7])
def test_long_division_from_seven_bits(divisor: int) -> None:
    """Quotient bits of a long division, most significant bit first, from three steps of history."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (300, 20))
    rest, quotient = np.zeros(300, dtype=int), []
    for t in range(20):
        rest = 2 * rest + bits[:, t]
        quotient.append(rest // divisor)
        rest = rest % divisor
    y = np.stack(quotient, axis=1)
    past = [v[:, 3 - i : 20 - i] for v in (bits, y) for i in (1, 2, 3)]
    X = np.stack([bits[:, 3:], *past], axis=-1).reshape(-1, 7).astype(float)
    variables = tuple(Var(f"v{j}") for j in range(7))
    front = NativeEngine().search(
        X, y[:, 3:].reshape(-1).astype(float), variables=variables, domains=(BITS,) * 7, effort=60.0
    )
    found = pick(front)
    assert found.exact
    assert found.kind == "formula"
    assert found.complexity <= 25


@pytest.mark.parametrize(
    ("function", "domains", "text"),
    [
        (lambda x, y: 0.3 * x + 0.7 * y, (REAL, REAL), None),
        (np.maximum, (SMALL, SMALL), "max(a, b)"),
        (lambda x, y: abs(x - y), (REAL, REAL), "abs(a - b)"),
        (lambda x, y: (x + y) % 3, (integers(0, 2),) * 2, "(a + b) % 3"),
    ],
)
@pytest.mark.parametrize("told", [True, False])
def test_noise_is_not_fitted(
    function: Callable[..., np.ndarray], domains: tuple[Domain, ...], text: str | None, told: bool
) -> None:
    found = search(function, domains, noise=1e-3, tolerance=5e-3 if told else None)
    assert worst(found, function, domains) <= 2e-3
    if text is not None:
        assert formula(found.expr, lambda v: v.name) == text


def test_rounding_tolerance_gives_whole_numbers() -> None:
    """A network that is right after rounding only still gives the clean rule."""
    wobble = np.random.default_rng(3)
    found = search(
        lambda x, y: (x + y) % 4 + wobble.uniform(-0.3, 0.3, len(x)) * 0.5,
        (integers(0, 3),) * 2,
        tolerance=0.49,
    )
    assert str(found.expr) == "(a[t] + b[t]) % 4"


def test_same_data_same_front() -> None:
    X = sample((REAL, REAL))
    y = np.sin(X[:, 0]) * X[:, 1] + 0.1
    fronts = [
        NativeEngine().search(X, y, variables=(a, b), domains=(REAL, REAL), effort=60.0) for _ in range(2)
    ]
    assert fronts[0] == fronts[1]


def test_order_of_rows_does_not_matter_on_finite_domains() -> None:
    X = sample((DIGITS, BITS))
    y = np.where(X[:, 1] == 1, X[:, 0], 0)
    turn = np.random.default_rng(5).permutation(len(X))
    one = NativeEngine().search(X, y, variables=(a, b), domains=(DIGITS, BITS))
    two = NativeEngine().search(X[turn], y[turn], variables=(a, b), domains=(DIGITS, BITS))
    assert pick(one).expr == pick(two).expr


def test_operators_are_respected() -> None:
    found = search(lambda x, y: (x + y) % 2, (BITS, BITS), operators=frozenset({"abs"}))
    names = {node.name for node in found.expr.walk() if isinstance(node, Op)}
    assert names <= {"add", "sub", "mul", "neg", "abs"}
    assert found.exact


@pytest.mark.slow
def test_max_complexity_is_respected() -> None:
    X = sample((REAL, REAL, REAL))
    y = 1.6 * X[:, 0] - 0.85 * X[:, 1] + 0.25 * X[:, 2]
    front = NativeEngine().search(
        X, y, variables=(a, b, c), domains=(REAL,) * 3, max_complexity=7, effort=1.0
    )
    assert max(candidate.complexity for candidate in front) <= 7
    assert not any(candidate.exact for candidate in front)


@pytest.mark.slow
def test_rows_that_refute_are_searched_on() -> None:
    """Thousands of rows, few of which tell the rule from a simpler one."""
    domains = (integers(0, 99), integers(0, 99))
    found = search(lambda x, y: np.where((x == y), 100, np.maximum(x, y)), domains)
    assert found.exact
    assert formula(found.expr, lambda v: v.name) == "100 if a == b else max(a, b)"


@pytest.mark.parametrize("seed", range(3))
def test_never_calls_a_wrong_formula_exact(seed: int) -> None:
    """Mutate one output of a rule: whatever is then called exact must reproduce that output too."""
    rng = np.random.default_rng(seed)
    X = np.array([[i, j] for i in range(6) for j in range(6)], dtype=float)
    y = (X[:, 0] + X[:, 1]) % 6
    place = int(rng.integers(len(y)))
    y[place] += 1
    front = NativeEngine().search(X, y, variables=(a, b), domains=(integers(0, 5),) * 2, effort=20.0)
    for candidate in front:
        values = np.broadcast_to(evaluate(candidate.expr, {a: X[:, 0], b: X[:, 1]}), y.shape)
        assert candidate.max_error == pytest.approx(float(np.max(np.abs(values - y))))
        assert candidate.exact == bool(np.max(np.abs(values - y)) <= 1e-6)
    assert pick(front).exact
    assert str(pick(front).expr) != "(a[t] + b[t]) % 6"


@pytest.mark.slow
def test_pure_noise_is_not_explained() -> None:
    X = sample((REAL, REAL), 300)
    y = np.random.default_rng(8).normal(size=300)
    front = NativeEngine().search(X, y, variables=(a, b), domains=(REAL, REAL), effort=1.0)
    assert not any(candidate.exact for candidate in front)


def test_bad_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="do not go together"):
        NativeEngine().search(np.zeros((4, 2)), np.zeros(4), variables=(a,), domains=(BITS,))
    with pytest.raises(ValueError, match="finite"):
        NativeEngine().search(np.full((4, 1), np.nan), np.zeros(4), variables=(a,), domains=(BITS,))


def test_real_columns_get_no_remainders() -> None:
    found = search(lambda x: np.sin(7 * x) * x, (REAL,), effort=1.0)
    assert not any(getattr(node, "name", "") in ("mod", "eq") for node in found.expr.walk())
