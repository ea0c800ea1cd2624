"""Tasks of one's own: `w2c run examples/own_tasks.py:turnstile` trains, reads the network, proves it."""

from weights2code import Task

NOTHING, COIN, PUSH = range(3)


def turn(state, row):
    """A coin unlocks the turnstile; a push goes through it once. The output says that somebody did."""
    if row["event"] == COIN:
        return "unlocked", 0
    if row["event"] == PUSH and state == "unlocked":
        return "locked", 1
    return state, 0


turnstile = Task(inputs={"event": (0, 2)}, start="locked", step=turn, length=10)

tank = Task(inputs={"inflow": (0.0, 1.0)}, reference="level[t] = 0.5*level[t-1] + inflow[t]")
