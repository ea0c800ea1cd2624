"""Newton's laws in whole numbers, time step 1: a force or acceleration comes in, the position goes out."""

from __future__ import annotations

from weights2code.language import integers
from weights2code.tasks.declare import declare
from weights2code.tasks.task import Task

_FORCE = integers(-10, 10)


def _on_a_line(description: str, name: str, mips: str, acceleration: str) -> Task:
    steps = {"v": f"v[t-1] + {acceleration}", "y": "y[t-1] + v[t]"}
    return declare(description, _FORCE, steps, name=name, mips=mips)


TASKS = (
    _on_a_line("position of a free body under acceleration x", "freebody", "Newton_Freebody", "x[t]"),
    _on_a_line("position under acceleration x and gravity 1", "gravity", "Newton_Gravity", "(x[t] - 1)"),
    _on_a_line(
        "position on a spring of stiffness 1 under force x", "spring", "Newton_Spring", "(x[t] - y[t-1])"
    ),
    # Both velocities come from the old ones, so the speed grows by the square root of 2 in each step.
    declare(
        "position in the plane in a magnetic field under force (fx, fy)",
        {"fx": _FORCE, "fy": _FORCE},
        {
            "vx": "vx[t-1] - vy[t-1] + fx[t]",
            "vy": "vy[t-1] + vx[t-1] + fy[t]",
            "px": "px[t-1] + vx[t]",
            "py": "py[t-1] + vy[t]",
        },
        name="magnetic",
        mips="Newton_Magnetic",
        outputs=("px", "py"),
        exact_length=95,
    ),
)
