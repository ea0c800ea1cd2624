"""Files whose rules take three or four steps, each step a line that reads the ones before it.

Nothing is hidden: every line is a function of recent inputs, of recent values of earlier lines, of the output
so far, or of a sum, an extremum or a lookup over everything so far. The rules are written in the package's
language, for judging only: what is fitted sees nothing but the file. Thresholds on computed reals lie between
the values that can occur, so that no answer hangs on a rounding error.

Seven of the twenty (`KEPT`) were unseen until a first measurement. They are the places that
`numpy.random.default_rng(14).permutation(20)[:7]` gave, drawn before anything was fitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from case_kinds import Case, Draw, bits, mixed, real, whole
from cases_fresh import among, drifting

from weights2code.language import (
    Definition,
    Expr,
    Recurrence,
    Retrieval,
    Step,
    Var,
    formula,
    maximum,
    minimum,
    op,
    where,
)

#: Sequences, and the lengths of the shortest and the longest.
SHAPE = (400, 12, 20)


@dataclass(frozen=True, slots=True)
class DeepCase:
    """A file and the rule behind it; `part` is `develop` or `kept`."""

    case: Case
    rule: Recurrence

    @property
    def name(self) -> str:
        return self.case.name

    @property
    def part(self) -> str:
        return "kept" if self.name in KEPT else "develop"

    @property
    def steps(self) -> int:
        return len(self.rule.steps)

    def law(self) -> str:
        """The rule on one line."""
        return "; ".join(f"{step.name}[t] = {_shown(step.definition)}" for step in self.rule.steps)


def _shown(rule: Definition) -> str:
    if isinstance(rule, Retrieval):
        return f"{rule.value} at the last {rule.key} == {formula(rule.query)}"
    assert isinstance(rule, Expr), "no rule of these counts"
    return formula(rule)


def deep(name: str, field: str, draw: Draw, inputs: str, steps: Mapping[str, Definition]) -> DeepCase:
    """A case from its lines; the last one is the target."""
    columns, target = tuple(inputs.split()), list(steps)[-1]
    rule = Recurrence(columns, tuple(Step(*step) for step in steps.items()), (target,))
    machine = lambda x: rule.run(x[None])[0]  # noqa: E731
    return DeepCase(Case(name, field, columns, (target,), draw, machine, group="deep", shape=SHAPE), rule)


def now(names: str) -> list[Var]:
    return [Var(name) for name in names.split()]


def before(name: str, lag: int = 1) -> Var:
    return Var(name, lag)


def sign(value: Expr) -> Expr:
    return op("gt", value, 0) - op("lt", value, 0)


def thermostat() -> DeepCase:
    """Smoothed temperature, its distance from what is wanted, and a heater that is left alone in between."""
    temperature, wanted, smooth, gap = now("temperature wanted smooth gap")
    return deep(
        "thermostat", "heating", mixed(drifting(15, 25, 2, digits=1), among(19, 20, 21)),
        "temperature wanted",
        {
            "smooth": 0.5 * temperature + 0.5 * before("temperature"),
            "gap": wanted - smooth,
            "heater": where(gap > 0.52, 1, where(gap < -0.52, 0, before("heater"))),
        },
    )  # fmt: skip


def parcel() -> DeepCase:
    """A class by weight, a rate by class and zone, and a price that has a cap."""
    weight, zone, size, rate, price = now("weight zone size rate price")
    return deep(
        "parcel", "commerce", mixed(real((0, 10), digits=1), whole((0, 3))), "weight zone",
        {
            "size": (weight > 2) + (weight > 5.5),
            "rate": (1 + size) * zone,
            "price": 4 + 2 * size + rate,
            "charged": minimum(price, 12),
        },
    )  # fmt: skip


def watering() -> DeepCase:
    """What evaporated and was not rained back adds up; at night a dry field is watered, up to a limit."""
    evaporation, rain, night, lost, deficit = now("evaporation rain night lost deficit")
    return deep(
        "watering", "farming", mixed(real((0, 5), (0, 4), digits=1), bits(1)), "evaporation rain night",
        {
            "lost": before("lost") + evaporation - rain,
            "deficit": op("relu", lost - 3),
            "water": where(night, minimum(deficit, 6), 0),
        },
    )  # fmt: skip


def power_bands() -> DeepCase:
    """Used less fed in so far; the band that this is in; what the present use costs there."""
    used, fed, balance, band = now("used fed balance band")
    return deep(
        "power_bands", "energy", real((0, 5), (0, 4), digits=1), "used fed",
        {
            "balance": before("balance") + used - fed,
            "band": (balance > 2.05) + (balance > 6.05),
            "cost": (2 + band) * used,
        },
    )  # fmt: skip


def voltages() -> DeepCase:
    """Two sensors that should agree: an alarm if they are apart twice in a row."""
    left, right, apart, wrong = now("left right apart wrong")
    return deep(
        "voltages", "electronics", real((4, 6), (4, 6), digits=2), "left right",
        {
            "apart": abs(left - right),
            "wrong": apart > 0.455,
            "alarm": minimum(wrong, before("wrong")),
        },
    )  # fmt: skip


def gusts() -> DeepCase:
    """The strongest and the weakest wind of three readings, and a level of warning by what lies between."""
    wind, strong, weak, gust = now("wind strong weak gust")
    return deep(
        "gusts", "weather", drifting(0, 20, 6, digits=1), "wind",
        {
            "strong": maximum(maximum(wind, before("wind")), before("wind", 2)),
            "weak": minimum(minimum(wind, before("wind")), before("wind", 2)),
            "gust": strong - weak,
            "warning": (gust > 3.05) + (gust > 6.05),
        },
    )  # fmt: skip


def insulin() -> DeepCase:
    """Where glucose is heading, what exceeds the limit then, up to a most; half of what was given remains."""
    glucose, heading, excess, given = now("glucose heading excess given")
    return deep(
        "insulin", "medicine", drifting(4, 12, 2, digits=1), "glucose",
        {
            "heading": 3 * glucose - 2 * before("glucose"),
            "excess": op("relu", heading - 7.5),
            "given": minimum(excess, 4),
            "active": 0.5 * before("active") + given,
        },
    )  # fmt: skip


def lamp() -> DeepCase:
    """Somebody moves in the dark: the lamp gets brighter, else dimmer."""
    lux, motion, dark, asked = now("lux motion dark asked")
    return deep(
        "lamp", "lighting", mixed(real((0, 9), digits=1), bits(1, 0.7)), "lux motion",
        {
            "dark": maximum(lux, before("lux")) < 7.5,
            "asked": minimum(motion, dark),
            "lamp": op("clip", before("lamp") + 2 * asked - 1, 0, 3),
        },
    )  # fmt: skip


def ride() -> DeepCase:
    """How far a change of speed stays behind the roughest so far."""
    speed, change, roughest = now("speed change roughest")
    return deep(
        "ride", "traffic", drifting(10, 80, 9, digits=1), "speed",
        {
            "change": abs(speed - before("speed")),
            "roughest": maximum(before("roughest"), change),
            "behind": roughest - change,
        },
    )  # fmt: skip


def sensor_vote() -> DeepCase:
    """Two of three sensors, and what they say counts once it is said twice in a row."""
    a, b, c, votes, most = now("north south roof votes most")
    return deep(
        "sensor_vote", "safety", bits(3), "north south roof",
        {
            "votes": a + b + c,
            "most": votes >= 2,
            "alarm": where(most.equals(before("most")), most, before("alarm")),
        },
    )  # fmt: skip


def rota() -> DeepCase:
    """Shifts that were done so far say whose turn it is; who is absent is skipped."""
    done, absent, shifts, turn = now("done absent shifts turn")
    return deep(
        "rota", "staff", mixed(bits(1, 0.6), whole((0, 3))), "done absent",
        {
            "shifts": before("shifts") + done,
            "turn": shifts % 3,
            "on_call": where(turn.equals(absent), (turn + 1) % 3, turn),
        },
    )  # fmt: skip


def check_digit() -> DeepCase:
    """Marked digits are doubled, and their own digits added; the check is the sum so far, modulo ten."""
    digit, marked, doubled, weighted = now("digit marked doubled weighted")
    return deep(
        "check_digit", "coding", mixed(whole((0, 9)), bits(1)), "digit marked",
        {
            "doubled": 2 * digit - 9 * (digit > 4),
            "weighted": where(marked, doubled, digit),
            "check": (before("check") + weighted) % 10,
        },
    )  # fmt: skip


def junction() -> DeepCase:
    """Cars on both roads over two readings: the light turns to the fuller road, a pedestrian stops both."""
    north, east, walker, surplus, pressure = now("north east walker surplus pressure")
    return deep(
        "junction", "traffic", mixed(whole((0, 5), (0, 5)), bits(1, 0.15)), "north east walker",
        {
            "surplus": north - east,
            "pressure": surplus + before("surplus"),
            "phase": where(walker, 2, where(pressure > 2, 0, where(pressure < -2, 1, before("phase")))),
        },
    )  # fmt: skip


def dice() -> DeepCase:
    """Doubles count twice, and two doubles in a row bring ten more."""
    red, blue, double, points, bonus = now("red blue double points bonus")
    return deep(
        "dice", "games", whole((1, 4), (1, 4)), "red blue",
        {
            "double": red.equals(blue),
            "points": (1 + double) * (red + blue),
            "bonus": 10 * double * before("double"),
            "score": before("score") + points + bonus,
        },
    )  # fmt: skip


def boxes() -> DeepCase:
    """Stock from all deliveries and sales, what is missing to nine, and boxes of four that bring it."""
    delivered, sold, stock, missing = now("delivered sold stock missing")
    return deep(
        "boxes", "logistics", whole((0, 6), (0, 6)), "delivered sold",
        {
            "stock": before("stock") + delivered - sold,
            "missing": op("relu", 9 - stock),
            "boxes": (missing + 3) // 4,
        },
    )  # fmt: skip


def price_signal() -> DeepCase:
    """The last price of the same item, how much it rose since, and the direction."""
    price, last, rise = now("price last rise")
    return deep(
        "price_signal", "commerce", whole((0, 3), (1, 9)), "item price",
        {
            "last": Retrieval("item", "price", Var("item")),
            "rise": price - last,
            "signal": sign(rise),
        },
    )  # fmt: skip


def encoder() -> DeepCase:
    """Two tracks of a wheel: its quarter, the turn since the last reading, and the place."""
    a, b, quarter, turn = now("track_a track_b quarter turn")
    return deep(
        "encoder", "mechanics", bits(2), "track_a track_b",
        {
            "quarter": 2 * a + op("ne", a, b),
            "turn": (quarter - before("quarter") + 1) % 4 - 1,
            "place": before("place") + turn,
        },
    )  # fmt: skip


def punctuality() -> DeepCase:
    """Minutes late, the worst of three stops, a grade for it, and how much worse that is than before."""
    planned, arrived, late, worst, grade = now("planned arrived late worst grade")
    return deep(
        "punctuality", "traffic", whole((0, 9), (0, 9)), "planned arrived",
        {
            "late": arrived - planned,
            "worst": maximum(maximum(late, before("late")), before("late", 2)),
            "grade": (worst > 1) + (worst > 4),
            "trend": grade - before("grade"),
        },
    )  # fmt: skip


def cards() -> DeepCase:
    """A higher card of the same suit wins its lead, any other loses one; two tricks count together."""
    suit, value, lead, gain = now("suit value lead gain")
    return deep(
        "cards", "games", whole((0, 2), (1, 8)), "suit value",
        {
            "lead": value - before("value"),
            "gain": where(op("and", suit.equals(before("suit")), lead > 0), lead, -1),
            "points": gain + before("gain"),
        },
    )  # fmt: skip


def checksum_run() -> DeepCase:
    """A checksum of two fields, whether it changed, and for how long it has not."""
    high, low, mix, changed = now("high low mix changed")
    return deep(
        "checksum_run", "coding", whole((0, 3), (0, 3)), "high low",
        {
            "mix": (2 * high + low) % 3,
            "changed": op("ne", mix, before("mix")),
            "run": where(changed, 0, before("run") + 1),
        },
    )  # fmt: skip


DEEP = tuple(
    make()
    for make in (
        thermostat, parcel, watering, power_bands, voltages, gusts, insulin, lamp, ride, sensor_vote,
        rota, check_digit, junction, dice, boxes, price_signal, encoder, punctuality, cards, checksum_run,
    )
)  # fmt: skip

#: Fitted once, at the end.
KEPT = ("voltages", "lamp", "rota", "boxes", "encoder", "cards", "checksum_run")
