"""Newton's laws in whole numbers, time step 1: a force or acceleration comes in, the position goes out."""

from __future__ import annotations

from weights2code.language import Expr, Var, integers
from weights2code.tasks.declare import declare
from weights2code.tasks.task import Task

_FORCE = integers(-10, 10)

x, v, v1, y1 = Var("x"), Var("v"), Var("v", 1), Var("y", 1)
vx1, vy1 = Var("vx", 1), Var("vy", 1)


def _on_a_line(description: str, name: str, mips: str, acceleration: Expr) -> Task:
    return declare(description, _FORCE, {"v": v1 + acceleration, "y": y1 + v}, name=name, mips=mips)


TASKS = (
    _on_a_line("position of a free body under acceleration x", "freebody", "Newton_Freebody", x),
    _on_a_line("position under acceleration x and gravity 1", "gravity", "Newton_Gravity", x - 1),
    _on_a_line("position on a spring of stiffness 1 under force x", "spring", "Newton_Spring", x - y1),
    # Both velocities come from the old ones, so the speed grows by the square root of 2 in each step.
    declare(
        "position in the plane in a magnetic field under force (fx, fy)",
        {"fx": _FORCE, "fy": _FORCE},
        {
            "vx": vx1 - vy1 + Var("fx"),
            "vy": vy1 + vx1 + Var("fy"),
            "px": Var("px", 1) + Var("vx"),
            "py": Var("py", 1) + Var("vy"),
        },
        name="magnetic",
        mips="Newton_Magnetic",
        outputs=("px", "py"),
        exact_length=95,
    ),
)
