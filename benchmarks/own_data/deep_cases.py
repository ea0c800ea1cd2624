"""Files whose rules take three or four steps, each step a line that reads the ones before it.

Nothing is hidden: every line is a function of recent inputs, of recent values of earlier lines, of the output
so far, or of a sum, an extremum or a lookup over everything so far. The rules are written in the package's
language, for judging only: what is fitted sees nothing but the file. Thresholds on computed reals lie between
the values that can occur, so that no answer hangs on a rounding error.

Seven of the twenty (`KEPT`) were unseen until a first measurement. They are the places that
`numpy.random.default_rng(14).permutation(20)[:7]` gave, drawn before anything was fitted.
"""

from __future__ import annotations

from case_kinds import Case, Draw, among, bits, drifting, mixed, real, whole

from weights2code.language import Retrieval, Var
from weights2code.language.formula_reading import read_recurrence

#: Sequences, and the lengths of the shortest and the longest.
SHAPE = (400, 12, 20)
#: Fitted once, at the end.
KEPT = ("voltages", "lamp", "rota", "boxes", "encoder", "cards", "checksum_run")


def deep(name: str, field: str, draw: Draw, inputs: str, *lines: str, **steps: Retrieval) -> Case:
    """A case from its lines, after steps that no formula can say; the last line is the target."""
    columns, rules = tuple(inputs.split()), {**steps, **dict(line.split("[t] = ") for line in lines)}
    target, part = list(rules)[-1], "kept" if name in KEPT else "develop"
    rule = read_recurrence(columns, rules, (target,))
    machine = lambda x: rule.run(x[None])[0]  # noqa: E731
    return Case(
        name, field, columns, (target,), draw, machine, group="deep", shape=SHAPE, part=part, rule=rule
    )


DEEP = (
    # Smoothed temperature, its distance from what is wanted, and a heater that is left alone in between.
    deep(
        "thermostat", "heating", mixed(drifting(15, 25, 2, digits=1), among(19, 20, 21)),
        "temperature wanted",
        "smooth[t] = 0.5*temperature[t] + 0.5*temperature[t-1]",
        "gap[t] = wanted[t] - smooth[t]",
        "heater[t] = 1 if gap[t] > 0.52 else 0 if gap[t] < -0.52 else heater[t-1]"
    ),
    # A class by weight, a rate by class and zone, and a price that has a cap.
    deep(
        "parcel", "commerce", mixed(real((0, 10), digits=1), whole((0, 3))), "weight zone",
        "size[t] = [weight[t] > 2] + [weight[t] > 5.5]",
        "rate[t] = (1 + size[t])*zone[t]",
        "price[t] = 4 + 2*size[t] + rate[t]",
        "charged[t] = min(price[t], 12)"
    ),
    # What evaporated and was not rained back adds up; at night a dry field is watered, up to a limit.
    deep(
        "watering", "farming", mixed(real((0, 5), (0, 4), digits=1), bits(1)), "evaporation rain night",
        "lost[t] = lost[t-1] + evaporation[t] - rain[t]",
        "deficit[t] = max(lost[t] - 3, 0)",
        "water[t] = min(deficit[t], 6) if night[t] else 0"
    ),
    # Used less fed in so far; the band that this is in; what the present use costs there.
    deep(
        "power_bands", "energy", real((0, 5), (0, 4), digits=1), "used fed",
        "balance[t] = balance[t-1] + used[t] - fed[t]",
        "band[t] = [balance[t] > 2.05] + [balance[t] > 6.05]",
        "cost[t] = (2 + band[t])*used[t]"
    ),
    # Two sensors that should agree: an alarm if they are apart twice in a row.
    deep(
        "voltages", "electronics", real((4, 6), (4, 6), digits=2), "left right",
        "apart[t] = abs(left[t] - right[t])",
        "wrong[t] = [apart[t] > 0.455]",
        "alarm[t] = min(wrong[t], wrong[t-1])"
    ),
    # The strongest and the weakest wind of three readings, and a level of warning by what lies between.
    deep(
        "gusts", "weather", drifting(0, 20, 6, digits=1), "wind",
        "strong[t] = max(max(wind[t], wind[t-1]), wind[t-2])",
        "weak[t] = min(min(wind[t], wind[t-1]), wind[t-2])",
        "gust[t] = strong[t] - weak[t]",
        "warning[t] = [gust[t] > 3.05] + [gust[t] > 6.05]"
    ),
    # Where glucose is heading, what exceeds the limit then, up to a most; half of what was given remains.
    deep(
        "insulin", "medicine", drifting(4, 12, 2, digits=1), "glucose",
        "heading[t] = 3*glucose[t] - 2*glucose[t-1]",
        "excess[t] = max(heading[t] - 7.5, 0)",
        "given[t] = min(excess[t], 4)",
        "active[t] = 0.5*active[t-1] + given[t]"
    ),
    # Somebody moves in the dark: the lamp gets brighter, else dimmer.
    deep(
        "lamp", "lighting", mixed(real((0, 9), digits=1), bits(1, 0.7)), "lux motion",
        "dark[t] = [max(lux[t], lux[t-1]) < 7.5]",
        "asked[t] = min(motion[t], dark[t])",
        "lamp[t] = clip(lamp[t-1] + 2*asked[t] - 1, 0, 3)"
    ),
    # How far a change of speed stays behind the roughest so far.
    deep(
        "ride", "traffic", drifting(10, 80, 9, digits=1), "speed",
        "change[t] = abs(speed[t] - speed[t-1])",
        "roughest[t] = max(roughest[t-1], change[t])",
        "behind[t] = roughest[t] - change[t]"
    ),
    # Two of three sensors, and what they say counts once it is said twice in a row.
    deep(
        "sensor_vote", "safety", bits(3), "north south roof",
        "votes[t] = north[t] + south[t] + roof[t]",
        "most[t] = [votes[t] >= 2]",
        "alarm[t] = most[t] if most[t] == most[t-1] else alarm[t-1]"
    ),
    # Shifts that were done so far say whose turn it is; who is absent is skipped.
    deep(
        "rota", "staff", mixed(bits(1, 0.6), whole((0, 3))), "done absent",
        "shifts[t] = shifts[t-1] + done[t]",
        "turn[t] = shifts[t] % 3",
        "on_call[t] = (turn[t] + 1) % 3 if turn[t] == absent[t] else turn[t]"
    ),
    # Marked digits are doubled, and their own digits added; the check is the sum so far, modulo ten.
    deep(
        "check_digit", "coding", mixed(whole((0, 9)), bits(1)), "digit marked",
        "doubled[t] = 2*digit[t] - 9*[digit[t] > 4]",
        "weighted[t] = doubled[t] if marked[t] else digit[t]",
        "check[t] = (check[t-1] + weighted[t]) % 10"
    ),
    # Cars on both roads over two readings: the light turns to the fuller road, a pedestrian stops both.
    deep(
        "junction", "traffic", mixed(whole((0, 5), (0, 5)), bits(1, 0.15)), "north east walker",
        "surplus[t] = north[t] - east[t]",
        "pressure[t] = surplus[t] + surplus[t-1]",
        "phase[t] = 2 if walker[t] else 0 if pressure[t] > 2 else 1 if pressure[t] < -2 else phase[t-1]"
    ),
    # Doubles count twice, and two doubles in a row bring ten more.
    deep(
        "dice", "games", whole((1, 4), (1, 4)), "red blue",
        "double[t] = [red[t] == blue[t]]",
        "points[t] = (1 + double[t])*(red[t] + blue[t])",
        "bonus[t] = 10*double[t]*double[t-1]",
        "score[t] = score[t-1] + points[t] + bonus[t]"
    ),
    # Stock from all deliveries and sales, what is missing to nine, and boxes of four that bring it.
    deep(
        "boxes", "logistics", whole((0, 6), (0, 6)), "delivered sold",
        "stock[t] = stock[t-1] + delivered[t] - sold[t]",
        "missing[t] = max(9 - stock[t], 0)",
        "boxes[t] = (missing[t] + 3) // 4"
    ),
    # The last price of the same item, how much it rose since, and the direction.
    deep(
        "price_signal", "commerce", whole((0, 3), (1, 9)), "item price",
        "rise[t] = price[t] - last[t]",
        "signal[t] = [rise[t] > 0] - [rise[t] < 0]",
        last=Retrieval("item", "price", Var("item"))
    ),
    # Two tracks of a wheel: its quarter, the turn since the last reading, and the place.
    deep(
        "encoder", "mechanics", bits(2), "track_a track_b",
        "quarter[t] = 2*track_a[t] + [track_a[t] != track_b[t]]",
        "turn[t] = (quarter[t] - quarter[t-1] + 1) % 4 - 1",
        "place[t] = place[t-1] + turn[t]"
    ),
    # Minutes late, the worst of three stops, a grade for it, and how much worse that is than before.
    deep(
        "punctuality", "traffic", whole((0, 9), (0, 9)), "planned arrived",
        "late[t] = arrived[t] - planned[t]",
        "worst[t] = max(max(late[t], late[t-1]), late[t-2])",
        "grade[t] = [worst[t] > 1] + [worst[t] > 4]",
        "trend[t] = grade[t] - grade[t-1]"
    ),
    # A higher card of the same suit wins its lead, any other loses one; two tricks count together.
    deep(
        "cards", "games", whole((0, 2), (1, 8)), "suit value",
        "lead[t] = value[t] - value[t-1]",
        "gain[t] = lead[t] if suit[t] == suit[t-1] and lead[t] > 0 else -1",
        "points[t] = gain[t] + gain[t-1]"
    ),
    # A checksum of two fields, whether it changed, and for how long it has not.
    deep(
        "checksum_run", "coding", whole((0, 3), (0, 3)), "high low",
        "mix[t] = (2*high[t] + low[t]) % 3",
        "changed[t] = [mix[t] != mix[t-1]]",
        "run[t] = 0 if changed[t] else run[t-1] + 1"
    ),
)  # fmt: skip
