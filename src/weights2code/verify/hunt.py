"""The hunt: sequences on which a program and what it stands for part, found where random ones do not go.

Short sequences are all asked, as far as that is affordable; then runs, rare values and the ends of the
domain, at lengths up to ten times the usual; every state of the program with long tails; and sequences are
changed a row at a time towards where the two nearly part. What is found is made shorter at last, until no
row can be left out, and called the shortest only if every shorter sequence was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from weights2code.effort import time_is_up
from weights2code.language import Domain, Recurrence, uniform
from weights2code.tasks.step_function import Reference
from weights2code.verify.certificate import Sequence

#: Sequences (n, T, columns) -> outputs (n, T, outputs), and how sure they are (n, T): the distance to where
#: another output would be given, infinite if nobody knows.
Target = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

#: Lengths, as multiples of the usual one.
MULTIPLES = (1, 2, 4, 10)
#: Rows that are listed at all, and sequences that are made at once.
MOST_ROWS, AT_ONCE = 64, 8192
#: Of the questions that are left, what all short sequences may take at first and at last.
FIRST_SHARE, LAST_SHARE = 0.02, 0.85
#: What is kept of them for making departures shorter, and for all short sequences.
LATER = 0.7
#: Departures that are kept, and that are made shorter.
KEPT, SHRUNK = 400, 12
#: States of the program that tails are put to, and random tails of each.
STATES, TAILS = 48, 4
#: A generation of sequences that are changed, how many of them go on, and how many generations there are.
POOL, THINNEST, GENERATIONS = 384, 48, 20
#: Lengths in a row without a find, after which nothing shorter is looked for.
MISSES = 12
#: Sequences that a specification is asked, by how much whole numbers are wrong, the size of values up to
#: which float64 loses no digit, and departures that are looked at for it.
SPECIFIED, WRONG, SMALL, KEPT_BRIEFLY = 3000, 0.5, 2.0**50, 20
#: Ways of drawing sequences that uniform ones miss.
STYLES = 6


@dataclass(frozen=True, slots=True, eq=False)
class Departure:
    """A sequence (T, columns) whose last position is the first where both part: what each gives at every
    position (T, outputs), and how sure the one that the program stands for is of it (T,)."""

    inputs: np.ndarray
    right: np.ndarray
    program: np.ndarray
    margins: np.ndarray

    @property
    def model(self) -> tuple[float, ...]:
        """What is given in place of the program's outputs."""
        return tuple(self.right[-1].tolist())

    @property
    def meant(self) -> tuple[float, ...]:
        """What the program gives there."""
        return tuple(self.program[-1].tolist())

    @property
    def margin(self) -> float:
        return float(self.margins[-1])


@dataclass(slots=True, eq=False)
class Hunt:
    """A hunt under way, and what it has found.

    Parameters
    ----------
    program, target : what is compared.
    domains : what each column may hold.
    length, longest : the usual length, and the most that the target takes.
    near : how far outputs may be apart.
    budget : sequences that may be asked.
    rng : draws sequences.
    by_prefix : whether each prefix of a sequence is a question of its own.
    departed : of those that were found the shortest, by their first wrong position.
    exhaustive : every sequence up to this length was asked, and both agree on them.
    asked, kept : how many sequences were, and how many are kept for what comes later.
    thinnest : the smallest margins where both agree, with their sequences.
    """

    program: Recurrence
    target: Target
    domains: tuple[Domain, ...]
    length: int
    longest: int | None
    near: float
    budget: int
    rng: np.random.Generator
    by_prefix: bool = False
    departed: list[np.ndarray] = field(default_factory=list)
    exhaustive: int = 0
    asked: int = 0
    kept: int = 0
    thinnest: list[tuple[float, np.ndarray]] = field(default_factory=list)

    @property
    def left(self) -> int:
        """Sequences that may still be asked, without those that are kept for later."""
        return max(0, self.budget - self.kept - self.asked) if not time_is_up() else 0

    def each(self, length: int) -> int:
        """Questions that a sequence takes."""
        return length if self.by_prefix else 1

    @property
    def shortest(self) -> int | None:
        """The length of the shortest departure so far."""
        return min(map(len, self.departed), default=None)

    @property
    def proven(self) -> bool:
        """Whether no shorter departure than the shortest can be."""
        return self.shortest == self.exhaustive + 1

    def briefly(self) -> None:
        """A look at a new rule: short sequences, and what random ones miss, at the usual length."""
        self.every(FIRST_SHARE)
        self.structured((self.length,))
        self.climb(self.length, generations=4)

    def whole(self) -> None:
        """Everything, cheap things first."""
        self.every(FIRST_SHARE)
        self.kept = int(LATER * self.left)
        self.structured(self.lengths())
        self.from_states()
        for length in {min(self.length, 6), self.length, self.lengths()[min(1, len(self.lengths()) - 1)]}:
            self.climb(length)
        self.kept = 0
        self.shrink()
        self.every(LAST_SHARE)
        self.shorter()
        self.every(LAST_SHARE)

    def lengths(self) -> tuple[int, ...]:
        """The lengths that are looked at, as far as the target takes them."""
        found = [self.length * k for k in MULTIPLES]
        return tuple(sorted({min(n, self.longest or n) for n in found}))

    # -- where to look -------------------------------------------------------------------------------------

    def compare(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where both part, and how near they are to it where they do not, each (n, T)."""
        right, room = self.target(x)
        with np.errstate(all="ignore"):
            apart = np.abs(self.program.run(x) - right).max(2)
        wrong = ~(apart <= self.near)
        room = np.minimum(room, np.where(wrong, 0.0, self.near - apart)) if np.isinf(room).all() else room
        self.asked += len(x) * self.each(x.shape[1])
        self._keep(x, wrong, room)
        return wrong, room

    def _keep(self, x: np.ndarray, wrong: np.ndarray, room: np.ndarray) -> None:
        rows = np.flatnonzero(wrong.any(1))
        first = wrong[rows].argmax(1)
        for row, place in sorted(zip(rows, first, strict=True), key=lambda pair: pair[1])[:KEPT]:
            self.departed.append(x[row, : place + 1].copy())
        self.departed = sorted(self.departed, key=len)[:KEPT]
        before = np.cumsum(wrong, 1) == 0
        rooms = np.where(before, room, np.inf)
        row = int(rooms.min(1).argmin())
        place = int(rooms[row].argmin())
        self.thinnest.append((float(rooms[row, place]), x[row, : place + 1].copy()))
        self.thinnest = sorted(self.thinnest, key=lambda item: item[0])[:5]

    def every(self, share: float) -> None:
        """All sequences, up to the length that this share of the budget affords; past the shortest departure
        there is nothing to find."""
        rows = every_row(self.domains)
        if rows is None:
            return
        most, length = share * self.left, 0
        limit = (self.shortest or (self.longest or 64) + 1) - 1
        while length < limit and len(rows) ** (length + 1) * self.each(length + 1) <= most:
            length += 1
        if length <= self.exhaustive:
            return
        for x in all_sequences(rows, length):
            if time_is_up():
                return
            self.compare(x)
        self.exhaustive = min(length, (self.shortest or length + 1) - 1)

    def structured(self, lengths: tuple[int, ...]) -> None:
        """Uniform sequences and others, fewer the longer they are."""
        for length in lengths:
            count = min(self.left // (8 * self.each(length)), 4096, max(64, 40_000 // length))
            if count:
                self.compare(drawn(self.rng, self.domains, count, length))

    def from_states(self) -> None:
        """Each state that the program comes to, by the shortest way that was seen, and then long tails: every
        row again and again, two rows in turn, and random ones."""
        rows = every_row(self.domains)
        length = self.lengths()[-1]
        for way in self._ways():
            tails = drawn(self.rng, self.domains, TAILS, length - len(way))
            if rows is not None:
                again = np.repeat(rows[:, None], length - len(way), 1)
                turns = self._in_turn(rows, length - len(way))
                tails = np.concatenate([tails, again, turns])
            if self.left < len(tails) * self.each(length):
                return
            self.compare(np.concatenate([np.repeat(way[None], len(tails), 0), tails], 1))

    def _in_turn(self, rows: np.ndarray, length: int) -> np.ndarray:
        pairs = self.rng.integers(0, len(rows), (TAILS, 2))
        return rows[pairs[:, np.arange(length) % 2]]

    def _ways(self) -> list[np.ndarray]:
        """The shortest inputs that were seen to lead to each state of the program, the start first."""
        x = drawn(self.rng, self.domains, 256, self.length)
        with np.errstate(all="ignore"):
            trace = self.program.trace(x)
        carried = sorted(self.program.depths())
        ways: dict[tuple[float, ...], np.ndarray] = {(): x[0, :0]}
        for t in range(self.length - 1):
            states = (
                np.stack([trace[name][:, t] for name in carried], 1) if carried else np.zeros((len(x), 0))
            )
            known, first = np.unique(states, axis=0, return_index=True)
            for state, row in zip(known.tolist(), first, strict=True):
                ways.setdefault(tuple(state), x[row, : t + 1])
            if len(ways) >= STATES:
                break
        return list(ways.values())[:STATES]

    def climb(self, length: int, generations: int = GENERATIONS, start: np.ndarray | None = None) -> None:
        """Change the sequences that come nearest to parting, until they do, or nothing more is gained."""
        before, pool = self.shortest, drawn(self.rng, self.domains, POOL, length)
        if start is not None:
            pool[: len(start)] = start[:POOL]
        for _ in range(generations):
            if self.left < len(pool) * self.each(length):
                return
            _, room = self.compare(pool)
            if np.isinf(room).all() or (self.shortest or np.inf) < (before or np.inf):
                return
            order = np.argsort(room.min(1), kind="stable")
            best = pool[order[:THINNEST]]
            pool = np.concatenate([best, self._changed(best, POOL - len(best))])

    def _changed(self, best: np.ndarray, count: int) -> np.ndarray:
        """Copies with some rows drawn anew, copied from beside them, or moved by one."""
        rng, length = self.rng, best.shape[1]
        child = best[rng.integers(0, len(best), count)].copy()
        other = drawn(rng, self.domains, count, length)
        spots = rng.random((count, length)) < rng.choice([1, 2, 4], (count, 1)) / length
        child[spots] = other[spots]
        shifted = rng.random(count) < 0.2
        child[shifted] = np.roll(child[shifted], rng.choice([-1, 1]), axis=1)
        return child

    # -- shorter -------------------------------------------------------------------------------------------

    def shrink(self) -> None:
        """Leave rows out of the departures that were found, as long as there is one left."""
        for x in self.departed[:SHRUNK]:
            while self.left and len(x) > 1:
                shorter = self._without(x)
                if shorter is None:
                    break
                x = shorter

    def _without(self, x: np.ndarray) -> np.ndarray | None:
        """The shortest departure among these rows without some; None if there is none."""
        for width in dict.fromkeys((len(x) // 2, len(x) // 4, 1, 2)):
            if 0 < width < len(x):
                tries = [np.delete(x, slice(i, i + width), 0) for i in range(len(x) - width + 1)]
                wrong, _ = self.compare(np.stack(tries))
                if wrong.any():
                    row = int(np.where(wrong.any(1), wrong.argmax(1), len(x)).argmin())
                    return tries[row][: int(wrong[row].argmax()) + 1]
        return None

    def shorter(self) -> None:
        """Look for departures of each length below the shortest, while questions are left."""
        length = misses = 0
        while self.shortest and not self.proven and self.left > POOL and misses < MISSES:
            if not self.exhaustive < length < self.shortest:
                length = self.shortest - 1
            before, near = self.shortest, [x for x in self.departed[:SHRUNK] if len(x) < 2 * length + 2]
            self.climb(length, start=np.stack([self._cut(x, length) for x in near]) if near else None)
            length -= 1
            misses = misses + 1 if self.shortest == before else 0

    def _cut(self, x: np.ndarray, length: int) -> np.ndarray:
        """Some rows of a sequence in their order."""
        return x[np.sort(self.rng.permutation(len(x))[:length])]

    def departures(self, count: int = 5) -> list[Departure]:
        """The shortest that were found, each of them other rows."""
        found: list[Departure] = []
        seen: set[bytes] = set()
        for x in self.departed:
            if x.tobytes() in seen:
                continue
            seen.add(x.tobytes())
            right, room = self.target(x[None])
            found.append(Departure(x, right[0], self.program.run(x[None])[0], room[0]))
            if len(found) == count:
                break
        return found


def counterexample(
    program: Recurrence, reference: Reference, domains: tuple[Domain, ...], length: int, seed: int
) -> Sequence | None:
    """A short sequence on which whole numbers of a program are not those of its specification, if a hunt
    finds any; where values outgrow float64 nothing is said."""
    if not all(domain.discrete for domain in domains):
        return None

    def target(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        right = reference.run(x)
        return right, np.full(right.shape[:2], np.inf)

    rng = np.random.default_rng(seed)
    hunt = Hunt(program, target, domains, length, None, WRONG, SPECIFIED, rng)
    with np.errstate(all="ignore"):
        hunt.whole()
        for x in hunt.departed[:KEPT_BRIEFLY]:
            values = [*program.trace(x[None]).values(), reference.run(x[None])]
            if all(np.isfinite(v).all() and np.abs(v).max(initial=0.0) < SMALL for v in values):
                return tuple(map(tuple, x.tolist()))
    return None


def drawn(rng: np.random.Generator, domains: tuple[Domain, ...], count: int, length: int) -> np.ndarray:
    """Sequences of several styles: uniform, runs, one value and others rarely, two rows, a word again and
    again, the ends of the domains."""
    x = uniform(rng, domains, count, length)
    if not length:
        return x
    for i, style in enumerate(rng.integers(0, STYLES, count)):
        if style == 1:
            cuts = np.sort(rng.integers(0, length, rng.integers(1, max(2, length // 4) + 1)))
            x[i] = x[i][np.concatenate([[0], cuts])[np.searchsorted(cuts, np.arange(length), "right")]]
        elif style == 2:
            x[i, rng.random(length) < rng.choice([0.7, 0.9, 0.97])] = x[i, 0]
        elif style == 3:
            x[i] = x[i][rng.integers(0, min(2, length), length)]
        elif style == 4:
            x[i] = x[i][np.arange(length) % rng.integers(1, 5)]
        elif style == 5:
            for column, domain in enumerate(domains):
                ends = rng.choice([domain.low, domain.high], length)
                x[i, :, column] = np.where(rng.random(length) < 0.6, ends, x[i, :, column])
    return x


def every_row(domains: tuple[Domain, ...]) -> np.ndarray | None:
    """Every row, if there are few."""
    count = 1
    for domain in domains:
        count *= domain.size if domain.discrete else MOST_ROWS + 1
    if count > MOST_ROWS:
        return None
    return np.array(list(product(*(domain.values() for domain in domains))), float)


def all_sequences(rows: np.ndarray, length: int) -> Iterator[np.ndarray]:
    """Every sequence of these rows, some at a time."""
    total = len(rows) ** length
    powers = len(rows) ** np.arange(length - 1, -1, -1)
    for begin in range(0, total, AT_ONCE):
        numbers = np.arange(begin, min(total, begin + AT_ONCE))
        yield rows[numbers[:, None] // powers % len(rows)]
