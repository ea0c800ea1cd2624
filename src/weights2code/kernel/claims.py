"""Claims, the certificates that are offered for them, and the one function that says `Proved`.

A claim is about two machines: the text of a program and its specification, or a network and the text of its
program. At every length (or up to one), for every row of the domains, both have finite outputs that differ by
at most `eps`. Whoever searches proposes a certificate; `check` alone decides, from the claim and the
certificate, and what it cannot see for itself it does not believe.

- `Closure`: the states that both reach together have an end; they are closed again by running both.
- `Inductive`: an invariant; every question that it raises is put to a solver.
- `Same`: both are the same formulas but for names.
- `Within`: a region of past values over which a network of reals is bounded, one step ahead.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from fractions import Fraction
from math import floor, isfinite, prod
from typing import Any, Protocol

from weights2code.kernel import closing
from weights2code.kernel.closing import Text, Unsuited, Written
from weights2code.kernel.induction import Question, Transition, unsatisfiable
from weights2code.kernel.reading import read_text
from weights2code.language import Const, Domain, Expr, Recurrence, Var, renamed
from weights2code.language.arithmetic import follows_exactly, off_by
from weights2code.language.json_form import from_dict, to_dict
from weights2code.language.kinds import whole_names
from weights2code.language.machine_text import Windows, machine_text
from weights2code.language.product import Product, expand_retrievals, product
from weights2code.language.ranges import always_defined
from weights2code.language.regions import Region, bounded, places, rounded
from weights2code.language.sums import Unwritten

#: Steps of z3 for one question, positions of one induction, and transitions of one closure: certificates come
#: from files, too.
MOST_STEPS, MOST_WINDOW, MOST_TRANSITIONS = 80_000_000, 16, 1 << 21
#: Rows of one position that are gone through one by one.
MOST_ROWS = 20_000
#: Bytes of a stored set of states.
MOST_STORED = 1 << 16
_KEY = object()


# -- machines ------------------------------------------------------------------------------------------------


class Machine(Protocol):
    """One side of a claim: something to close, and a recurrence where it is one."""

    def closing(self) -> Any: ...

    def recurrence(self, domains: tuple[Domain, ...]) -> Recurrence: ...


@dataclass(frozen=True)
class ProgramText:
    """The text of a `program.py`, and the texts that stand for numbers in its columns and outputs."""

    source: str
    inputs: tuple[str, ...]
    categories: tuple[Any, ...] = ()
    output_categories: tuple[Any, ...] = ()

    def closing(self) -> Text:
        return Text(self.source, self.categories, self.output_categories)

    def recurrence(self, domains: tuple[Domain, ...]) -> Recurrence:
        """What the loop of the text computes, in exact numbers."""
        return read_text(self.closing(), self.inputs, domains)


@dataclass(frozen=True)
class Specification:
    """A recurrence that says what is right, in exact numbers: 0.1 is a tenth."""

    machine: Recurrence

    def closing(self) -> Written:
        return Written(machine_text(self.machine.live()))

    def recurrence(self, domains: tuple[Domain, ...]) -> Recurrence:
        return self.machine


@dataclass(frozen=True)
class Network:
    """A network as a recurrence (`graph.machine`) with outputs `y`, rounded or not, and what they are before
    that, `y.raw`. Weights are the binary numbers that they are, and its arithmetic is float64 in the order of
    its trees. Compared is what is not rounded yet."""

    machine: Recurrence

    def closing(self, windows: Windows | None = None, *, rounded: bool = False) -> Written:
        """To be closed: what it gives before it is rounded, and after that as well."""
        machine = self._raw()
        if rounded:
            machine = replace(machine, outputs=(*machine.outputs, *self.machine.outputs))
        return Written(machine_text(machine, floats=True, windows=windows))

    def recurrence(self, domains: tuple[Domain, ...]) -> Recurrence:
        def binary(node: Expr) -> Expr:
            if isinstance(node, Const) and isinstance(node.value, float):
                return Const(Fraction(node.value))
            return node

        if self.machine.retrieves():
            raise Unsuited("the network looks back to the start")
        steps = [replace(step, definition=step.definition.transform(binary)) for step in self.machine.steps]  # type: ignore[union-attr]
        start = {
            n: v if isinstance(v, str) or not isfinite(v) else Fraction(v)
            for n, v in self.machine.start.items()
        }
        return replace(self._raw(), steps=tuple(steps), start=start)

    def _raw(self) -> Recurrence:
        return replace(self.machine, outputs=tuple(f"{name}.raw" for name in self.machine.outputs))


@dataclass(frozen=True)
class Claim:
    """At every length and for every row of the domains, both sides are defined and differ by at most
    `eps`.

    Of values without a bound it may be assumed that none is beyond `within`: past outputs that a network
    reads, or what the text of a program rounds. That is part of what is said, never of why it holds.
    """

    left: Machine
    right: Machine
    domains: tuple[Domain, ...]
    eps: Fraction = Fraction(0)
    within: float | None = None

    @property
    def discrete(self) -> bool:
        return all(domain.discrete for domain in self.domains)

    @property
    def limit(self) -> int | None:
        """What past outputs that a network reads are assumed to be at most."""
        return None if self.within is None or not isinstance(self.left, Network) else int(self.within)

    def beside(self) -> Product:
        """Both as one machine of formulas and lookups."""
        left, right = (side.recurrence(self.domains) for side in (self.left, self.right))
        both = product(right, left, self.domains)
        if not isinstance(self.left, Network):
            return both
        # the network on the program's outputs: as long as both agreed, what it rounds its own to
        own = zip(self.left.machine.outputs, right.outputs, strict=True)
        given: dict[str, Expr] = {f"p.{name}": Var(f"r.{output}") for name, output in own}
        steps = (replace(s, definition=given.get(s.name, s.definition)) for s in both.machine.steps)
        return replace(both, machine=replace(both.machine, steps=tuple(steps)), own=tuple(given))

    def joint(self) -> Product:
        """Both as one machine of formulas."""
        plain = expand_retrievals(self.beside())
        if plain is None:
            raise Unsuited("a lookup has keys that are not a small set of inputs")
        return plain


def rows_of(domains: Sequence[Domain]) -> list[tuple]:
    """Every row of the domains."""
    if not all(domain.discrete for domain in domains):
        raise Unsuited("the inputs are reals, which no enumeration covers")
    if prod(domain.size for domain in domains) > MOST_ROWS:
        raise Unsuited(f"there are more than {MOST_ROWS} different rows")
    return closing.all_rows([(domain.low, domain.high) for domain in domains])


# -- certificates --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Closure:
    """The states end within so many transitions; `states`, where they are given, are all of them. Heads that
    point by content are said to look no further back than their `windows`. Of a closure that was cut, whether
    new states were still turning up."""

    transitions: int
    states: tuple[Any, ...] | None = None
    windows: Windows = field(default_factory=dict)
    growing: bool = field(default=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        packed = _packed(self.states) if self.states is not None else None
        stored = {"states": packed} if packed is not None and len(packed) <= MOST_STORED else {}
        windows = (
            {"windows": {name: list(item) for name, item in self.windows.items()}} if self.windows else {}
        )
        return {"kind": "closure", "transitions": self.transitions, **stored, **windows}


@dataclass(frozen=True, slots=True)
class Inductive:
    """After the first positions the invariant holds, over `steps` positions it goes on holding."""

    invariant: tuple[Expr, ...]
    steps: int = 1

    def to_dict(self) -> dict[str, Any]:
        invariant = [to_dict(claim) for claim in self.invariant]
        return {"kind": "induction", "invariant": invariant, "steps": self.steps}


@dataclass(frozen=True, slots=True)
class Same:
    """Steps of both machines that have the same formula once equals are put for equals, by their names in the
    joint machine: each name and the one that stands for it."""

    leaders: tuple[tuple[str, str], ...]

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "same", "leaders": [list(pair) for pair in self.leaders]}


@dataclass(frozen=True, slots=True)
class Within:
    """Of a network of reals: where values of the past lie that are spoken of."""

    region: Region

    def to_dict(self) -> dict[str, Any]:
        places = [
            [age, [[leaf.name, leaf.lag, *ends, *(step or ())] for leaf, (ends, step) in leaves.items()]]
            for age, leaves in self.region.items()
        ]
        return {"kind": "within", "region": places}


Certificate = Closure | Inductive | Same | Within


def certificate_from_dict(data: Mapping[str, Any]) -> Certificate:
    """A stored certificate; nothing in it is believed."""
    if data["kind"] == "closure":
        states = _unpacked(data["states"]) if "states" in data else None
        listed = data.get("windows", {}).items()
        windows = {str(name): (int(window), tuple(map(float, keys))) for name, (window, keys) in listed}
        return Closure(int(data["transitions"]), states, windows)
    if data["kind"] == "within":
        region = {}
        for age, leaves in data["region"]:
            ends = ((Var(str(name), int(lag)), (low, high), step) for name, lag, low, high, *step in leaves)
            region[age] = {leaf: (own, tuple(step) or None) for leaf, own, step in ends}
        return Within(region)
    if data["kind"] == "same":
        return Same(tuple((str(name), str(leader)) for name, leader in data["leaders"]))
    invariant = tuple(from_dict(claim) for claim in data["invariant"])
    return Inductive(invariant, int(data["steps"]))


def _packed(states: tuple[Any, ...]) -> str | None:
    def plain(value: Any) -> Any:
        if isinstance(value, tuple):
            return [plain(item) for item in value]
        if isinstance(value, Fraction):
            return {"f": str(value)}
        if isinstance(value, float):
            return {"x": value.hex()}
        if value is None or isinstance(value, (int, str)):
            return value
        raise TypeError

    try:
        return b64encode(zlib.compress(json.dumps([plain(state) for state in states]).encode(), 9)).decode()
    except TypeError:  # tables of lookups are closed again
        return None


def _unpacked(text: str) -> tuple[Any, ...]:
    def value(data: Any) -> Any:
        if isinstance(data, list):
            return tuple(value(item) for item in data)
        if isinstance(data, dict):
            return Fraction(data["f"]) if "f" in data else closing.kept(float.fromhex(data["x"]))
        return data

    content = zlib.decompressobj().decompress(b64decode(text), 1 << 26)
    return tuple(value(item) for item in json.loads(content))


# -- answers -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proved:
    """A claim that holds: outputs differ by at most `error`, at every length, or up to `length`.

    `words` say how that is known and in which arithmetic. Only this module can make one.
    """

    claim: Claim
    certificate: Certificate
    error: Fraction
    length: int | None
    words: str
    key: InitVar[object] = None

    def __post_init__(self, key: object) -> None:
        if key is not _KEY:
            raise TypeError("only the kernel says that a claim is proved")


@dataclass(frozen=True, slots=True)
class Refuted:
    """A shortest sequence after which the claim does not hold."""

    sequence: tuple[tuple[float, ...], ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """The certificate does not show the claim; nothing is said about it."""

    reason: str


Answer = Proved | Refuted | Rejected


def check(claim: Claim, certificate: Certificate, stop: Callable[[], bool] | None = None) -> Answer:
    """Whether a certificate shows a claim; `stop` may end it, which shows nothing."""
    try:
        if isinstance(certificate, Closure):
            return _closed(claim, certificate, stop)
        if isinstance(certificate, Within):
            return _within(claim, certificate)
        return _same(claim, certificate) if isinstance(certificate, Same) else _inductive(claim, certificate)
    except (Unsuited, Unwritten) as error:
        return Rejected(str(error))
    except (ArithmeticError, LookupError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        return Rejected(f"it cannot be read: {type(error).__name__}: {error}")  # as files may say anything


def _closed(claim: Claim, certificate: Closure, stop: Callable[[], bool] | None) -> Answer:
    import numpy as np

    windows, rows, left = certificate.windows, rows_of(claim.domains), claim.left
    right = claim.right.closing()
    if isinstance(left, Network):
        whole = claim.eps <= Fraction(1, 2)
        left, right = left.closing(windows, rounded=whole), _Rounded(right) if whole else right
    else:
        left = left.closing()
    most = min(certificate.transitions, MOST_TRANSITIONS)
    with np.errstate(all="ignore"):
        found = closing.close(left, right, rows, claim.eps, most, certificate.states, stop)
    if found.outcome == "different":
        if found.sequence is None:
            return Rejected(found.reason)
        return Refuted(tuple(tuple(map(float, row)) for row in found.sequence), found.reason)
    count = f"{len(found.states)} states ({found.transitions} transitions)"
    if found.outcome == "closed":
        kept = Closure(found.transitions, tuple(found.states), windows)
        return Proved(claim, kept, found.error, None, count, _KEY)
    cut = Closure(found.transitions, windows=windows, growing=2 * found.newest > found.transitions)
    return Proved(claim, cut, found.error, found.length, count, _KEY)


class _Rounded:
    """A machine whose outputs are rounded as a network's are, halves upwards: once to be near them, and once
    to be what they are rounded to."""

    def __init__(self, machine: Any) -> None:
        self.machine, self.start = machine, machine.start

    def step(self, state: Any, row: Any) -> tuple[tuple[float, ...], Any]:
        answers, after = self.machine.step(state, row)
        if not all(map(isfinite, answers)):
            raise closing.Stopped("an output of the program is not finite")
        return 2 * tuple(floor(answer + 0.5) for answer in answers), after


def _inductive(claim: Claim, certificate: Inductive) -> Answer:
    if not 1 <= certificate.steps <= MOST_WINDOW:
        return Rejected("an induction over so many positions is not looked at")
    joint = claim.joint()
    if isinstance(claim.left, Network):
        program = claim.right.recurrence(claim.domains)
        if claim.eps >= Fraction(1, 2) or not set(program.outputs) <= whole_names(program, claim.domains):
            return Rejected("past outputs may be rounded otherwise")
        follows = follows_exactly(program, claim.domains)
        off = off_by(
            claim.left.recurrence(claim.domains),
            claim.left.machine.outputs,
            program,
            claim.domains,
            claim.limit,
        )
        if not isinstance(follows, str):
            follows = "rounding has no bound" if off is None or follows[1] else (follows[0], Fraction(off))
    else:
        follows = follows_exactly(claim.left.recurrence(claim.domains), claim.domains, claim.within)
    if isinstance(follows, str):
        return Rejected(follows)
    words, error = follows
    for question in Transition(joint, claim.eps, claim.limit).questions(
        certificate.invariant, certificate.steps
    ):
        if not unsatisfiable(question.text(), MOST_STEPS):
            return Rejected(f"z3 does not rule out {question.meaning}")
    if isinstance(claim.left, Network) and claim.eps + error >= Fraction(1, 2):
        return Rejected("rounding may take an output to another number")
    if claim.limit is not None:
        words += f"; as long as no past output is beyond {claim.limit}"
    return Proved(claim, certificate, claim.eps + error, None, words, _KEY)


def _within(claim: Claim, certificate: Within) -> Answer:
    """One step ahead, the network given the program's past values, over a region of them."""
    joint = claim.beside()
    domains = dict(zip(joint.machine.inputs, joint.domains, strict=True))
    error, finished, border = 0.0, True, 0.0
    for place in places(joint):
        region = certificate.region.get(place.age, {})
        (upper, done), (off, near) = bounded(place, domains, region), rounded(place, domains, region)
        error, finished = max(error, (upper + off) * (1 + 1e-15)), finished and done
        border = max(border, near)
    if not error < 1e300:
        return Rejected("the difference has no bound")
    words = "the largest difference" if finished else "a bound of the difference"
    words += f"; decisions within {border:.1g} of a border may be others" if border else ""
    return Proved(claim, certificate, Fraction(error), None, words, _KEY)


def _same(claim: Claim, certificate: Same) -> Answer:
    """Equal so far, read by the same formulas: equal again. Start values must be the same, too."""
    joint, leader = claim.beside(), dict(certificate.leaders)
    definitions = {step.name: step.definition for step in joint.machine.steps}
    for name, other in leader.items():
        if renamed(definitions[name], leader) != renamed(definitions[other], leader):
            return Rejected(f"{name} and {other} are not the same formula")
        if joint.machine.start_of(name) != joint.machine.start_of(other):
            return Rejected(f"{name} and {other} do not start alike")
    if any(leader.get(right, right) != leader.get(answer, answer) for right, answer in joint.pairs):
        return Rejected("outputs are not among what is the same")
    if not always_defined(joint.machine, joint.domains):
        return Rejected("a step may have no value")
    words = "operation by operation, in any arithmetic"
    if claim.discrete:
        follows = follows_exactly(claim.left.recurrence(claim.domains), claim.domains)
        if isinstance(follows, str) or follows[1]:
            return Rejected(follows if isinstance(follows, str) else "the text rounds")
        words = follows[0]
    return Proved(claim, certificate, Fraction(0), None, words, _KEY)


def obligations(claim: Claim, certificate: Inductive) -> Iterator[Question]:
    """The questions that `check` puts to z3, for anybody's solver."""
    joint = claim.joint()
    return Transition(joint, claim.eps, claim.limit).questions(certificate.invariant, certificate.steps)
