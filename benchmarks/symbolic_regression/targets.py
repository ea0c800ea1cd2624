"""The functions that engines are asked to find: 40 written ones in five kinds, and random trees by seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.language import (
    BITS,
    Domain,
    Expr,
    Op,
    Var,
    compile_numpy,
    integers,
    maximum,
    minimum,
    op,
    reals,
    where,
)


@dataclass(frozen=True, slots=True)
class Target:
    """A formula to be found, the domain of each variable, and the kind it is reported under."""

    name: str
    kind: str
    expr: Expr
    variables: tuple[Var, ...]
    domains: tuple[Domain, ...]

    def sample(self, count: int, seed: int, *, factor: float = 1.0) -> np.ndarray:
        """Rows from the domains, stretched about zero by `factor` (bits stay bits)."""
        rng = np.random.default_rng(seed)
        columns = []
        for d in self.domains:
            low, high = (d.low, d.high) if d.kind == "bits" else (d.low * factor, d.high * factor)
            columns.append(
                rng.integers(int(low), int(high) + 1, count) if d.discrete else rng.uniform(low, high, count)
            )
        return np.stack(columns, axis=1).astype(float)

    def values(self, X: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.broadcast_to(compile_numpy(self.expr, self.variables)(*X.T), (len(X),)).astype(float)


x, y, z, w = (Var(name) for name in "xyzw")
_I9, _I5, _R2, _POS = integers(0, 9), integers(-5, 5), reals(-2, 2), reals(0.5, 3)


def _kind(kind: str, *cases: tuple[str, Expr, tuple[Domain, ...]]) -> list[Target]:
    return [Target(name, kind, expr, (x, y, z, w)[: len(d)], d) for name, expr, d in cases]


def written_targets() -> list[Target]:
    """Functions of the kinds that sub-MLPs of trained models compute."""
    return [
        *_kind(
            "linear",
            ("constant", 0 * x + 2.5, (_R2,)),
            ("identity", x + 0, (_I9,)),
            ("sum", x + y, (integers(0, 99),) * 2),
            ("difference of three", 2 * x - y + z, (_I5,) * 3),
            ("moving average", 0.3 * x + 0.7 * y, (_R2,) * 2),
            ("oscillator", 1.6 * x - 0.85 * y + 0.25 * z, (_R2,) * 3),
        ),
        *_kind(
            "boolean",
            ("and", x * y, (BITS,) * 2),
            ("or", maximum(x, y), (BITS,) * 2),
            ("xor", op("ne", x, y), (BITS,) * 2),
            ("not", 1 - x, (BITS,)),
            ("parity of 3", (x + y + z) % 2, (BITS,) * 3),
            ("majority of 3", (x + y + z) >= 2, (BITS,) * 3),
            ("alternating of 3", op("ne", x, y) * op("ne", y, z), (BITS,) * 3),
        ),
        *_kind(
            "piecewise linear",
            ("abs", abs(x), (_I5,)),
            ("abs of difference", abs(x - y), (_R2,) * 2),
            ("maximum", maximum(x, y), (_R2,) * 2),
            ("minimum", minimum(x, y), (_I9,) * 2),
            ("difference of abs", abs(x) - abs(y), (_I5,) * 2),
            ("relu of a sum", op("relu", 2 * x - y + 0.3), (_R2,) * 2),
            ("clip", op("clip", x + y, 0, 10), (integers(0, 10), _I5)),
            ("maximum of three", maximum(maximum(x, y), z), (_R2,) * 3),
        ),
        *_kind(
            "integer logic",
            ("equal", x.equals(y), (integers(0, 7),) * 2),
            ("sum mod 3", (x + y) % 3, (integers(0, 2),) * 2),
            ("sum mod 7", (x + y) % 7, (integers(0, 6),) * 2),
            ("even", (x % 2).equals(0), (_I9,)),
            ("count even", y + (x % 2).equals(0), (_I9, integers(0, 10))),
            ("quotient", (x + y) // 15, (integers(0, 14), integers(0, 15))),
            ("threshold", 2 * x > y, (integers(0, 20),) * 2),
            ("hysteresis", where(x > 5, 1, where(x < 2, 0, y)), (_I9, BITS)),
            ("counter with reset", where(x.equals(0), 0, y + 1), (integers(0, 3), integers(0, 10))),
            ("zero and not below", x.equals(0) * (y >= 0), (_I5,) * 2),
            (
                "largest of three counts",
                where(x >= maximum(y, z), 0, where(y >= z, 1, 2)),
                (integers(0, 8),) * 3,
            ),
        ),
        *_kind(
            "smooth",
            ("square", 4.9 * x * x, (reals(0, 10),)),
            ("product", x * y, (_R2,) * 2),
            ("ratio", x / y, (_POS,) * 2),
            ("linear drag", 2 * x - y + 0.098 - z * (x - y), (reals(0, 3), reals(0, 3), reals(0, 0.5))),
            (
                "square drag",
                2 * x - y + 0.098 - z * (x - y) * abs(x - y),
                (reals(0, 3), reals(0, 3), reals(0, 0.5)),
            ),
            ("exponential", 1.5 * op("exp", 0.7 * x) + 1, (reals(-1, 1),)),
            ("reciprocal", 2 / (x + 1.3), (reals(0, 3),)),
            ("root of squares", op("sqrt", x * x + y * y), (_POS,) * 2),
        ),
    ]


_REAL = (("add", 2), ("sub", 2), ("mul", 2), ("max", 2), ("min", 2), ("div", 2), ("abs", 1), ("sqrt", 1))
_WHOLE = (
    *(("add", 2), ("sub", 2), ("mul", 2), ("max", 2), ("min", 2), ("abs", 1)),
    *(("mod", 2), ("eq", 2), ("ge", 2), ("gt", 2), ("where", 3)),
)


def random_tree(seed: int) -> Target:
    """A random formula of 3 to 13 nodes on one to three variables; odd seeds are on whole numbers.

    Trees that are constant, invalid or huge on their domain, or that ignore one of their variables, are drawn
    again. Nothing else is filtered.
    """
    rng = np.random.default_rng([seed, 2024])
    whole = bool(seed % 2)
    size = 3 + (seed // 2) % 11
    while True:
        count = int(rng.integers(1, 4))
        variables = (x, y, z)[:count]
        expr = _grow(rng, size, variables, whole)
        if expr is None or expr.size() != size or len(expr.variables()) != count:
            continue
        domains = tuple(integers(0, 6) if whole else reals(0.5, 3.0) for _ in variables)
        target = Target(f"tree {seed}", f"{size} nodes", expr, variables, domains)
        X = target.sample(400, 0)
        values = target.values(X)
        if not np.all(np.isfinite(values)) or np.ptp(values) < 1e-6 or np.max(np.abs(values)) > 1e3:
            continue
        if all(_matters(target, X, j) for j in range(count)):
            return target


def _matters(target: Target, X: np.ndarray, j: int) -> bool:
    shuffled = X.copy()
    shuffled[:, j] = np.roll(X[:, j], 1)
    return bool(np.mean(np.abs(target.values(shuffled) - target.values(X)) > 1e-9) > 0.05)


def _grow(rng: np.random.Generator, size: int, variables: tuple[Var, ...], whole: bool) -> Expr | None:
    if size == 1:
        if rng.random() < 0.7:
            return variables[int(rng.integers(len(variables)))]
        value = int(rng.integers(1, 6)) if whole else round(float(rng.uniform(-3, 3)), 1)
        return op("add", value, 0).args[0]  # type: ignore[attr-defined]
    choices = [(name, arity) for name, arity in (_WHOLE if whole else _REAL) if arity < size]
    name, arity = choices[int(rng.integers(len(choices)))]
    if name == "mod":
        inner = _grow(rng, size - 2, variables, whole)
        return None if inner is None else op("mod", inner, int(rng.integers(2, 8)))
    sizes = _split(rng, size - 1, arity)
    parts = [_grow(rng, s, variables, whole) for s in sizes]
    if any(part is None for part in parts):
        return None
    if not any(part.variables() for part in parts if part is not None):
        return None
    return Op(name, tuple(part for part in parts if part is not None))


def _split(rng: np.random.Generator, total: int, parts: int) -> list[int]:
    cuts = np.sort(rng.permutation(np.arange(1, total))[: parts - 1])
    return [int(v) for v in np.diff([0, *cuts, total])]
