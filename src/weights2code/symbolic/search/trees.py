"""Bottom-up enumeration of small trees, without repeats.

Trees are built size by size from variables and a few constants. A tree whose values were seen before is
dropped, so each function is kept once, in its smallest form. Every tree is compared with the target up to a
free scale and offset, and up to a free linear function of the variables: one inner product each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from weights2code.language import OPERATORS, Const, Expr, Number, op
from weights2code.symbolic.search.atoms import Pool, fingerprints, make_pool
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.outermost_operators import Outer
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.sums_of_atoms import fit_sum, orthonormal, product
from weights2code.symbolic.search.whole_numbers import two_valued

_ROWS = 120
_BLOCK = 3_000_000
_KEPT_SIZE = 5
_MOST_KEPT = 12_000
#: Trees that are combined with every other one: the smallest.
_SMALL = 320
#: As many of them at a time.
_PAIRED = 64
#: Trees that are compared with each other, and comparisons that are offered.
_MOST_COMPARED, _COMPARED = 800, 6
#: Tests among the trees that are handed on.
_MOST_TESTS = 500

Recipe = tuple[str, tuple[int, int], tuple[int, int] | None]


@dataclass(slots=True)
class Layer:
    """All trees of one size: their values (m, n) and how each was made."""

    values: np.ndarray
    recipes: list[Recipe | Expr]


class Enumeration:
    """The trees over one problem's variables, grown on demand and compared with its target."""

    def __init__(self, problem: Problem, collector: Collector) -> None:
        self.problem, self.collector = problem, collector
        self.rows = _spread_rows(problem)
        X, self.y = problem.Xs[self.rows], problem.ys[self.rows]
        leaves: list[Recipe | Expr] = [*problem.variables, *(Const(c) for c in inner_constants(problem))]
        ones = np.ones(len(self.y))
        columns = [*X.T, *(ones * float(c) for c in inner_constants(problem))]
        self.layers = {1: Layer(np.stack(columns), leaves)}
        self.seen = _keys(self.layers[1].values)[0]
        self.bases = [orthonormal(ones[:, None]), orthonormal(np.hstack([ones[:, None], X]))]
        self.unary, self.binary = operators_for(problem)
        self.tried: set[Expr] = set()
        self.noisy = problem.estimated and not problem.whole and problem.noise == 0
        self.nearest = np.inf
        self.outer = Outer(problem, X, self.y)

    def grow_to(self, size: int) -> None:
        """Grow to each size in turn, as long as a simpler exact formula could still come."""
        for step in range(2, size + 1):
            if self.problem.expired() or step >= self.collector.limit():
                break
            self.grow(step)

    def grow(self, size: int) -> None:
        """Make and compare all trees of `size`; keep them for larger ones while they are few."""
        fresh_values: list[np.ndarray] = []
        fresh_recipes: list[Recipe | Expr] = []
        for values, recipes in self._blocks(size):
            if self.problem.expired():
                break
            self.problem.spend("trees", values.size)
            keys, valid = _keys(values)
            self._compare(values, recipes, valid)
            if size <= _KEPT_SIZE and len(fresh_recipes) < _MOST_KEPT:
                _, first = np.unique(keys, return_index=True)
                new = first[valid[first] & ~np.isin(keys[first], self.seen)]
                new.sort()
                self.seen = np.concatenate([self.seen, keys[new]])
                fresh_values.append(values[new])
                fresh_recipes.extend(recipes(int(i)) for i in new)
        if size <= _KEPT_SIZE:
            stacked = np.concatenate(fresh_values) if fresh_values else np.zeros((0, len(self.y)))
            self.layers[size] = Layer(stacked, fresh_recipes)

    def _blocks(self, size: int) -> Iterator[tuple[np.ndarray, Callable[[int], Recipe]]]:
        below = self.layers.get(size - 1)
        if below is not None:
            for name, function in self.unary.items():
                for start in range(0, len(below.recipes), max(_BLOCK // len(self.y), 1)):
                    part = below.values[start : start + max(_BLOCK // len(self.y), 1)]
                    with np.errstate(all="ignore"):
                        yield (
                            function(part),
                            lambda i, name=name, start=start: (name, (size - 1, start + i), None),
                        )
        for left in range(1, size - 1):
            right = size - 1 - left
            if left not in self.layers or right not in self.layers:
                continue
            for name, (function, commutes) in self.binary.items():
                if commutes and left > right:
                    continue
                yield from self._pairs(name, function, left, right)

    def _pairs(
        self, name: str, function: Callable[..., np.ndarray], left: int, right: int
    ) -> Iterator[tuple[np.ndarray, Callable[[int], Recipe]]]:
        A, B = self.layers[left].values, self.layers[right].values
        first = 0
        if name in ("mod", "floordiv"):
            # Divisors are the constants from 2 on: remainders by a variable are rarely meant.
            if right != 1:
                return
            k = len(self.problem.variables)
            B = B[k:]
            keep = np.flatnonzero(B[:, 0] >= 2)
            if not len(keep):
                return
            first, B = k + int(keep[0]), B[keep]
        if not len(A) or not len(B):
            return
        step = max(_BLOCK // (len(B) * len(self.y)), 1)
        for start in range(0, len(A), step):
            with np.errstate(all="ignore"):
                block = function(A[start : start + step, None, :], B[None, :, :])
            width = len(B)
            yield (
                block.reshape(-1, len(self.y)),
                lambda i, start=start, width=width: (
                    name,
                    (left, start + i // width),
                    (right, first + i % width),
                ),
            )

    def _compare(self, values: np.ndarray, recipes: Callable[[int], Recipe], valid: np.ndarray) -> None:
        problem = self.problem
        safe = np.where(valid[:, None], values, 0.0)
        square = np.einsum("ij,ij->i", safe, safe)
        for linear, Q in enumerate(self.bases):
            y = self.y - Q @ (Q.T @ self.y)
            total = float(y @ y)
            spread = float(np.sum((self.y - self.y.mean()) ** 2))
            goal = len(y) * problem.accuracy**2 + 1e-12 * spread
            inside = safe @ Q
            norm = square - np.einsum("ij,ij->i", inside, inside)
            with np.errstate(all="ignore"):
                left = total - (safe @ y) ** 2 / norm
            left[(norm <= 1e-9 * square) | ~valid] = np.inf
            fits = np.flatnonzero(left <= goal)[:12]
            if not len(fits) and self.noisy and len(left):
                # Nobody said how exact is exact enough: what comes near may be all there is.
                nearest = int(np.argmin(left))
                if left[nearest] <= 1e-4 * spread and left[nearest] < 0.5 * self.nearest:
                    self.nearest = float(left[nearest])
                    fits = np.array([nearest])
            for i in fits:
                self._offer(recipes(int(i)), bool(linear))
        for i in self.outer.remainders(safe):
            self.collector.offer_all(self.outer.written_remainders(self.build(recipes(i))))
        for i, name, bound, divisor in self.outer.bounded(safe):
            tree = self.build(recipes(i))
            self.collector.offer(op(name, bound, tree if divisor is None else op("mod", tree, divisor)))
        for i, m in self.outer.divisions(safe):
            self.collector.offer_all(self.outer.written_division(self.build(recipes(i)), m))
        for i in self.outer.tests(safe):
            self.collector.offer_all(self.outer.written_tests(self.build(recipes(i))))

    def _offer(self, recipe: Recipe, linear: bool) -> None:
        expr = self.build(recipe)
        if expr in self.tried and not linear:
            return
        self.tried.add(expr)
        values = self.problem.values(expr, self.problem.Xs)
        self.collector.offer_all(fit_sum(self.problem, [expr], values[None], linear=linear))

    def build(self, recipe: Recipe | Expr) -> Expr:
        if isinstance(recipe, Expr):
            return recipe
        name, left, right = recipe
        a = self.build(self.layers[left[0]].recipes[left[1]])
        if right is None:
            return _UNARY_FORMS[name](a) if name in _UNARY_FORMS else op(name, a)
        b = self.build(self.layers[right[0]].recipes[right[1]])
        return a // b if name == "floordiv" else op(name, a, b)

    def tests(self) -> Pool:
        """The kept trees that are 0 or 1 everywhere: the smallest, those without constants first."""
        found: list[tuple[int, Expr]] = []
        for size in sorted(self.layers):
            layer = self.layers[size]
            for i in np.flatnonzero(np.all((layer.values == 0) | (layer.values == 1), axis=1))[:4000]:
                expr = self.build(layer.recipes[i])
                constants = sum(isinstance(node, Const) for node in expr.walk())
                found.append((size + constants, expr))
        self.problem.spend("atoms", len(found))
        found.sort(key=lambda item: item[0])
        chosen = [expr for _, expr in found[:_MOST_TESTS]]
        return make_pool(self.problem, [(e, self.problem.values(e, self.problem.Xs)) for e in chosen])


_UNARY_FORMS: dict[str, Callable[[Expr], Expr]] = {
    "square": lambda a: a * a,
    "floorsqrt": lambda a: op("floor", op("sqrt", a)),
    "inverse": lambda a: op("div", 1, a),
}


#: What operators of the search's own need to be allowed.
_NEEDS = {"floorsqrt": "sqrt", "floordiv": "floor"}


def operators_for(
    problem: Problem,
) -> tuple[dict[str, Callable[..., np.ndarray]], dict[str, tuple[Callable[..., np.ndarray], bool]]]:
    """Unary and binary operators that suit the domains; True marks the commutative ones."""
    unary, binary = ["abs", "square"], ["add", "sub", "mul", "max", "min"]
    if problem.discrete:
        if all(domain.kind == "bits" for domain in problem.domains):
            unary.remove("square")
        else:
            unary.append("floorsqrt")
        binary += ["mod", "floordiv", "eq", "ne", "ge", "gt"]
    else:
        unary += ["sqrt", "exp", "log", "sin", "cos"]
        binary.append("div")
        if problem.whole or any(domain.discrete for domain in problem.domains):
            binary.append("gt")

    def allowed(name: str) -> bool:
        return name in ("add", "sub", "mul", "square") or problem.allows(_NEEDS.get(name, name))

    def function(name: str) -> Callable[..., np.ndarray]:
        return _FUNCTIONS[name] if name in _FUNCTIONS else OPERATORS[name].numpy

    def commutes(name: str) -> bool:
        return name in OPERATORS and OPERATORS[name].commutative

    return (
        {name: function(name) for name in unary if allowed(name)},
        {name: (function(name), commutes(name)) for name in binary if allowed(name)},
    )


def _guarded_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Division, invalid where the pole is on or near the data: the divisor must keep one sign, clearly."""
    low, high = np.min(b, axis=-1, keepdims=True), np.max(b, axis=-1, keepdims=True)
    clear = (low > 0.01 * (high - low)) | (high < -0.01 * (high - low))
    return np.where(clear, a / b, np.nan)


#: What the table of operators does not have, or not with this care.
_FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "square": np.square,
    "floorsqrt": lambda a: np.floor(np.sqrt(a)),
    "floordiv": lambda a, b: np.floor(a / b),
    "div": _guarded_divide,
}


def inner_constants(problem: Problem) -> list[Number]:
    """The few constants that trees are built from: small numbers, and the ends of the ranges at hand."""
    if not problem.discrete:
        return [1, 2] if len(problem.variables) <= 2 else [1]
    constants = {0, 1, 2}
    if any(domain.kind != "bits" for domain in problem.domains):
        constants.add(3)
    if problem.whole and len(problem.variables) <= 3:
        constants |= {int(problem.y.max()), int(problem.y.max()) + 1, int(problem.y.min())}
    if len(problem.variables) <= 2:
        constants |= {int(domain.high) for domain in problem.domains if domain.high > 1}
    return sorted(constants)


def _spread_rows(problem: Problem) -> np.ndarray:
    count = len(problem.ys)
    if count <= _ROWS:
        return np.arange(count)
    return np.sort(np.random.default_rng(5).permutation(count)[:_ROWS])


def _keys(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One whole number a vector, equal for equal vectors, and whether the vector is usable."""
    with np.errstate(all="ignore"):
        valid = np.all(np.isfinite(values), axis=1) & (np.max(np.abs(values), axis=1) < 1e7)
        safe = np.where(valid[:, None], values, 0.0)
        random = np.random.default_rng(11).uniform(0.5, 1.5, size=values.shape[1])
        keys = np.round(safe @ random * 1e6).astype(np.int64)
    return keys, valid


def combination_stage(problem: Problem, collector: Collector, trees: Enumeration) -> None:
    """Sums and products of a small and a larger tree, with a constant or a linear function beside them."""
    places, values = _distinct_trees(trees)
    for linear, Q in enumerate(trees.bases):
        for sums, residuals in ((True, _of_sums), (False, _of_products)):
            if problem.expired() or collector.exact is not None:
                return
            for start, left in enumerate(residuals(values, Q, trees.y)):
                if problem.expired():
                    break
                problem.spend("sums of trees", left.size * (1 if sums else 1 + Q.shape[1]))
                _offer_pairs(trees, places, left, _PAIRED * start, bool(linear), sums=sums)


def comparison_stage(problem: Problem, collector: Collector, trees: Enumeration) -> None:
    """`[A > B]` and `[A >= B]` of two small trees, a few rows asked first."""
    outer = trees.outer
    if not outer.test:
        return
    places, values = _small_trees(trees)
    few, ones = values[:, outer.few], trees.y == outer.levels[1]
    found: list[tuple[int, int, str]] = []
    for left in range(0, len(few), _PAIRED):
        if problem.expired():
            return
        difference = few[left : left + _PAIRED, None] - few[None]
        problem.spend("trees", difference.size)
        for name, holds in (("gt", difference > 0), ("ge", difference >= 0)):
            for i, j in np.argwhere(np.all(holds == ones[outer.few], axis=2)):
                whole = OPERATORS[name].numpy(values[left + i], values[j])
                if np.array_equal(whole == 1, ones):
                    found.append((int(left + i), int(j), name))
    found.sort(key=lambda pair: places[pair[0]][0] + places[pair[1]][0])
    for i, j, name in found[:_COMPARED]:
        one, other = (trees.build(trees.layers[size].recipes[k]) for size, k in (places[i], places[j]))
        collector.offer(two_valued(op(name, one, other), outer.levels))


def _small_trees(trees: Enumeration) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Addresses and values of the trees of up to three nodes, constants left out, the smallest first."""
    layers = [(size, trees.layers[size].values) for size in (1, 2, 3) if size in trees.layers]
    places = [(size, i) for size, layer in layers for i in range(len(layer))]
    values = np.concatenate([layer for _, layer in layers])
    varies = np.flatnonzero(np.ptp(values, axis=1) > 0)[:_MOST_COMPARED]
    return [places[i] for i in varies], values[varies]


def _distinct_trees(trees: Enumeration) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Addresses of all kept trees (up to affine maps), the smallest first, and their values."""
    layers = [(size, trees.layers[size].values) for size in sorted(trees.layers)]
    places = [(size, i) for size, layer in layers for i in range(len(layer))]
    values = np.concatenate([layer for _, layer in layers])
    keys, valid = fingerprints(values)
    _, first = np.unique(keys, return_index=True)
    keep = np.sort(first[valid[first]])
    return [places[i] for i in keep], values[keep]


def _of_sums(V: np.ndarray, Q: np.ndarray, target: np.ndarray) -> Iterator[np.ndarray]:
    """What the sums of each small tree with every tree leave over, a block of small ones at a time."""
    V = V - (V @ Q) @ Q.T
    norm = np.linalg.norm(V, axis=1)
    alive = norm > 1e-7
    V = V / np.where(alive, norm, 1.0)[:, None]
    y = target - Q @ (Q.T @ target)
    c = V @ y
    for part in _small_blocks(V):
        G = V[part] @ V.T
        a = c[part, None]
        with np.errstate(all="ignore"):
            left = float(y @ y) - (a**2 + c[None] ** 2 - 2 * a * c[None] * G) / (1 - G**2)
        left[(np.abs(G) > 1 - 1e-9) | ~alive[None] | ~alive[part, None]] = np.inf
        yield left


def _of_products(V: np.ndarray, Q: np.ndarray, target: np.ndarray) -> Iterator[np.ndarray]:
    """The same for products."""
    V = V / np.max(np.abs(V), axis=1, keepdims=True)
    y = target - Q @ (Q.T @ target)
    square = V**2
    for part in _small_blocks(V):
        S = V[part]
        norm = (S**2) @ square.T
        for q in Q.T:
            norm = norm - ((S * q) @ V.T) ** 2
        with np.errstate(all="ignore"):
            left = float(y @ y) - ((S * y) @ V.T) ** 2 / norm
        left[norm <= 1e-9 * len(y)] = np.inf
        yield left


def _small_blocks(V: np.ndarray) -> Iterator[slice]:
    small = min(_SMALL, len(V))
    return (slice(start, start + _PAIRED) for start in range(0, small, _PAIRED))


def _offer_pairs(
    trees: Enumeration,
    places: list[tuple[int, int]],
    left: np.ndarray,
    start: int,
    linear: bool,
    *,
    sums: bool,
) -> None:
    problem = trees.problem
    spread = float(np.sum((trees.y - trees.y.mean()) ** 2))
    goal = len(trees.y) * problem.accuracy**2 + 1e-12 * spread
    rows, columns = np.nonzero(left <= goal)
    if not len(rows) and trees.noisy and left.size:
        i, j = np.unravel_index(int(np.argmin(left)), left.shape)
        if left[i, j] <= 1e-4 * spread and left[i, j] < 0.5 * trees.nearest:
            trees.nearest = float(left[i, j])
            rows, columns = np.array([i]), np.array([j])
    size = np.array([place[0] for place in places])
    order = np.argsort(size[rows + start] + size[columns], kind="stable")[:6]
    for i, j in zip(rows[order] + start, columns[order], strict=True):
        pair = [trees.build(trees.layers[s].recipes[k]) for s, k in (places[i], places[j])]
        values = np.stack([problem.values(expr, problem.Xs) for expr in pair])
        if not sums:
            pair, values = [product(*pair)], np.prod(values, axis=0)[None]
        trees.collector.offer_all(fit_sum(problem, pair, values, linear=linear))
