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
    ("average", lambda x, y: 0.3 * x + 0.7 * y, (REAL, REAL), 7),
    ("abs of difference", lambda x, y: abs(x - y), (integers(-100, 99),) * 2, 4),
    ("maximum", np.maximum, (REAL, REAL), 3),
    ("equal", lambda x, y: x == y, (integers(0, 7),) * 2, 3),
    ("parity of 3", lambda x, y, z: (x + y + z) % 2, (BITS,) * 3, 7),
    ("sum mod 15", lambda x, y: (x + y) % 15, (integers(0, 14), integers(0, 15)), 5),
    ("even", lambda x: x % 2 == 0, (DIGITS,), 5),
    ("hysteresis", lambda x, y: np.where(x > 5, 1, np.where(x < 2, 0, y)), (DIGITS, BITS), 7),
    ("saturation", lambda x, y: np.clip(x + y, 0, 10), (integers(0, 10), integers(-5, 5)), 7),
    ("free fall", lambda x: 4.9 * x * x, (reals(0, 10),), 5),
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
