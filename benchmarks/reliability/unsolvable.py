"""Files without a rule, with half of one, or with one that no program of the language has.

`w2c fit` may fail on them, in the ways that are agreed on: an exit code with its sentence, no traceback, no
attempt that ended in a defect. What it calls verified must be so: the program is run over the whole file and
compared with what the certificate claims of it.
"""

from __future__ import annotations

import json
import re
import runpy
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from case import Result, called

from chance import Random
from weights2code.errors import Reason

#: Seconds that each file is given.
TIME_LIMIT = 5
#: What a certificate says of all rows, having seen some of them, may be off by this factor, by chance.
CHANCE = 1.5


@dataclass(slots=True)
class Log:
    """Sequences of inputs (T, columns) and targets (T, outputs)."""

    x: Sequence[np.ndarray]
    y: Sequence[np.ndarray]
    #: Whether the command may refuse the file.
    refused: bool = False

    def write(self, path: Path) -> list[str]:
        """As CSV; the options that name its columns."""
        inputs = [f"in{i}" for i in range(self.x[0].shape[1])]
        targets = [f"out{i}" for i in range(self.y[0].shape[1])]
        lines = [",".join(["series", *inputs, *targets])]
        for number, (x, y) in enumerate(zip(self.x, self.y, strict=True)):
            for row in np.hstack([x, y]).tolist():
                whole = (value == int(value) and abs(value) < 1e15 for value in row)
                cells = (
                    repr(int(v)) if is_whole else repr(v) for v, is_whole in zip(row, whole, strict=True)
                )
                lines.append(",".join([f"s{number}", *cells]))
        path.write_text("\n".join(lines) + "\n")
        return ["--inputs", ",".join(inputs), "--targets", ",".join(targets), "--sequence", "series"]


def sequences(rng: Random, high: int = 9, columns: int = 1) -> list[np.ndarray]:
    """Whole numbers 0..high."""
    count, length = int(rng.integers(20, 60)), int(rng.integers(8, 20))
    return [rng.integers(0, high + 1, (length, columns)).astype(float) for _ in range(count)]


def ruled(
    rule: Callable[..., Any], high: int = 9, columns: int = 1, chance: bool = False, refused: bool = False
) -> Callable[[Random], Log]:
    """Sequences whose target follows a rule of one of them; with `chance` it is given the generator, too."""

    def make(rng: Random) -> Log:
        x = sequences(rng, high, columns)
        targets = [rule(item, rng) if chance else rule(item) for item in x]
        y = [np.asarray(y, dtype=float).reshape(len(item), -1) for item, y in zip(x, targets, strict=True)]
        return Log(x, y, refused)

    return make


def each(rule: Callable[[int], Any], high: int) -> Callable[[Random], Log]:
    """A rule of every number by itself."""
    return ruled(lambda x: [rule(int(value)) for value in x[:, 0]], high)


def prefix(rule: Callable[[np.ndarray], Any]) -> Callable[[Random], Log]:
    """A rule of all numbers so far."""
    return ruled(lambda x: [rule(x[: t + 1, 0]) for t in range(len(x))])


def random_labels(high: int) -> Callable[[Random], Log]:
    return ruled(lambda x, rng: rng.integers(0, high + 1, (len(x), 1)), chance=True)


def _last(x: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], x[:-1, 0]])[:, None]


def _scan(step: Callable[[Any, float], tuple[Any, float]], start: Any) -> Callable[[np.ndarray], np.ndarray]:
    def rule(x: np.ndarray) -> np.ndarray:
        state, out = start, []
        for value in x[:, 0]:
            state, answer = step(state, value)
            out.append(answer)
        return np.array(out)

    return rule


_hash = _scan(lambda s, v: ((s * 1103515245 + 12345 + int(v)) % 2**31, (s >> 16) & 7), 1)


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


def noise(rng: Random) -> Log:
    x = [rng.normal(size=item.shape) for item in sequences(rng)]
    return Log(x, [rng.normal(size=(len(item), 1)) for item in x])


def with_mistakes(share: float, high: int) -> Callable[[Random], Log]:
    def rule(x: np.ndarray, rng: Random) -> np.ndarray:
        y = (x + _last(x)) % (high + 1)
        wrong = rng.random(len(x)) < share
        y[wrong] = rng.integers(0, high + 1, (int(wrong.sum()), 1))
        return y

    return ruled(rule, high, chance=True)


def other_inputs(make: Callable[[Random], Log], change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """The same targets beside other inputs."""

    def changed(rng: Random) -> Log:
        log = make(rng)
        return Log([change(item) for item in log.x], log.y)

    return changed


def drawn(
    draw: Callable[[Random], np.ndarray], rule: Callable[[np.ndarray], Any], count: int
) -> Callable[[Random], Log]:
    """So many sequences of another kind, and what follows from each."""

    def make(rng: Random) -> Log:
        x = [draw(rng) for _ in range(count)]
        return Log(x, [np.asarray(rule(item), float).reshape(len(item), -1) for item in x])

    return make


def short_ones(length: int) -> Callable[[Random], Log]:
    return drawn(lambda rng: rng.integers(0, 9, (length, 2)).astype(float), lambda x: x.sum(1) % 7, 80)


def one_sequence(rng: Random) -> Log:
    x = rng.integers(0, 9, (int(rng.integers(60, 200)), 1)).astype(float)
    return Log([x], [rng.integers(0, 3, x.shape).astype(float)])


def identical(rng: Random) -> Log:
    x, y = (rng.integers(0, high, (14, 1)).astype(float) for high in (9, 4))
    return Log([x] * 30, [y] * 30)


def contradictory(rng: Random) -> Log:
    x = sequences(rng, 3)
    return Log([*x, *x], [item * 2 + more for more in (0, 1) for item in x])


def rare_target(rng: Random) -> Log:
    log = KINDS["all zero"](rng)
    log.y[-1][-1] = 1
    return log


KINDS: dict[str, Callable[[Random], Log]] = {
    "random bits": random_labels(1),
    "random classes": random_labels(4),
    "random numbers": random_labels(60),
    "random reals": noise,
    "a tenth mistakes, bits": with_mistakes(0.1, 1),
    "a tenth mistakes, digits": with_mistakes(0.1, 9),
    "a third mistakes": with_mistakes(0.33, 4),
    "a hash": ruled(_hash),
    "xor of bits": ruled(_scan(lambda s, v: (s ^ int(v), s ^ int(v)), 0), 15),
    "primes": each(_is_prime, 99),
    "the median so far": prefix(lambda x: np.sort(x)[len(x) // 2]),
    "distinct values so far": prefix(lambda x: len(set(x.tolist()))),
    "digit sums": each(lambda n: sum(map(int, str(n))), 999),
    "bit counts": each(int.bit_count, 255),
    "a chaotic map": ruled(_scan(lambda s, v: (3.99 * s * (1 - s), 3.99 * s * (1 - s)), 0.31)),
    "the future": ruled(lambda x: np.concatenate([x[1:, 0], [0.0]])),
    "powers": ruled(lambda x: np.cumprod(1 + x[:, 0] / 10)),
    "constant column": other_inputs(
        ruled(lambda x: x[:, 0] + 7, columns=2), lambda x: np.hstack([x[:, :1], np.full((len(x), 1), 7.0)])
    ),
    "two columns alike": other_inputs(ruled(lambda x: x * 2 + _last(x)), lambda x: np.hstack([x, x])),
    "all zero": ruled(lambda x: np.zeros(len(x)), refused=True),
    "one sequence": one_sequence,
    "sequences of length 1": short_ones(1),
    "sequences of length 2": short_ones(2),
    "unequal lengths": drawn(
        lambda rng: rng.integers(0, 5, (int(rng.integers(1, 60)), 1)).astype(float), _hash, 40
    ),
    "mixed scales": drawn(
        lambda rng: np.column_stack([rng.normal(size=12) * 1e12, rng.normal(size=12) * 1e-9]),
        lambda x: np.sin(x[:, 0] * 1e-12) * 1e6 + np.exp(x[:, 1] * 1e9),
        40,
    ),
    "huge whole numbers": drawn(
        lambda rng: rng.integers(0, 2**40, (12, 1)).astype(float), lambda x: x // 1000 % 97, 40
    ),
    "time index": ruled(lambda x: np.arange(len(x))),
    "identical sequences": identical,
    "contradictory rows": contradictory,
    "many targets": ruled(
        lambda x, rng: np.column_stack([x[:, 0], x.sum(1), rng.integers(0, 5, len(x)), _hash(x)]),
        columns=2,
        chance=True,
    ),
    "three rows": lambda rng: Log([x := rng.integers(0, 9, (3, 1)).astype(float)], [x * 2], refused=True),
    "rare target": rare_target,
    # a rule in half of the cases, chance in the others
    "half a rule": ruled(
        lambda x, rng: np.where(x[:, 1] < 5, x[:, 0] * 2, rng.integers(0, 19, len(x))), columns=2, chance=True
    ),
    # a rule that depends on a column which the file does not have
    "hidden switch": ruled(lambda x, rng: x * int(rng.integers(1, 3)) + int(rng.integers(0, 3)), chance=True),
}


def attack(number: int, seed: int) -> Result:
    kind = list(KINDS)[number % len(KINDS)]
    log = KINDS[kind](np.random.default_rng([seed, number]))
    with tempfile.TemporaryDirectory() as name:
        data, run = Path(name, "data.csv"), Path(name, "run")
        fixed = ("--out", str(run), "--quiet", "--time-limit", str(TIME_LIMIT), "--seed", str(number % 3))
        ended = called("fit", str(data), *log.write(data), *fixed)
        detail = f"number {number}: {ended.out} {ended.err}".strip()[:1500]
        failure = ended.crash or judge(ended.code, ended.err, log, run)
        return Result(kind, f"exit {ended.code}", failure, detail)


def judge(code: int | None, said: str, log: Log, run: Path) -> str:
    """What is wrong with an answer; empty if nothing is."""
    if code not in (0, 1, 2, 3) or "Traceback" in said:
        return f"exit code {code}: {said[-500:]}"
    if code == 2:
        return "" if log.refused and said.count("\n") == 1 else f"refused: {said[-500:]}"
    if code == 3:  # the time was up before there was any program
        return f"a defect: {said[-500:]}" if "defect" in said else ""
    certificate = json.loads((run / "certificate.json").read_text())
    defects = [row["text"] for row in certificate["attempts"] if row["reason"] == Reason.DEFECT]
    if defects:
        return f"a defect: {'; '.join(defects)}"
    return claims(certificate, log, run / "program.py") if code == 0 else ""


def claims(certificate: dict[str, Any], log: Log, program: Path) -> str:
    """Whether the program is, over the whole file, what its certificate says of it."""
    if certificate["one_step"]:
        return ""  # the program alone never sees the true past
    made = runpy.run_path(str(program))
    function = made[made["__all__"][0]]
    answers = [
        np.reshape(function(x[:, 0] if x.shape[1] == 1 else x), y.shape)
        for x, y in zip(log.x, log.y, strict=True)
    ]
    answer, right = np.concatenate(answers), np.concatenate(log.y)
    error = np.abs(answer - right)
    noted = " ".join(certificate["notes"])
    flips = re.search(r"not exact: ([\d.e+-]+) % of the rows (?:that it was learned from )?disagree", noted)
    if flips:
        share = float((error >= 0.5).any(1).mean())
        allowed = CHANCE * float(flips[1]) / 100 + 0.03
        return f"{share:.3f} of the rows are wrong, said are {flips[0]}" if share > allowed else ""
    for column, name in enumerate(f"out{i}" for i in range(right.shape[1])):
        scatter = re.search(rf"{name} scatters by ([\d.e+-]+)", noted)
        if scatter:
            rmse = float(np.sqrt(np.mean(np.square(error[:, column]))))
            if not rmse <= CHANCE * float(scatter[1]):
                return f"{name} is off by {rmse:.3g}, said is {scatter[0]}"
            continue
        whole = bool(np.all(right[:, column] == np.round(right[:, column])))
        allowed = 0.5 if whole else 1e-3 * float(np.ptp(right[:, column]))
        wrong = int(np.sum(~(error[:, column] < allowed)))
        if wrong:
            return f"{wrong} of {len(right)} values of {name} are wrong, and no note says so"
    return ""
