"""A kind of attention head of one's own, and a task that needs it."""

import torch

from weights2code import Task
from weights2code.explain import RunningHead, register


class Fading(RunningHead):
    """A sum of everything so far in which what is older counts less."""

    name = "fading"

    def on_tensors(self, values):  # (member, head, position, batch), for training
        last, found = torch.zeros_like(values[:, :, 0]), []
        for t in range(values.shape[2]):
            last = 0.5 * last + values[:, :, t]
            found.append(last)
        return torch.stack(found, 2)

    def step(self, last, value):  # exactly, in the language of the programs
        return 0.5 * last + value

    def describe(self):  # in the listing and the report
        return "Sum that fades by half"


register(Fading())

faded = Task(
    inputs={"x": (0, 3)},
    outputs=("y",),
    reference="level[t] = 0.5*level[t-1] + x[t]\ny[t] = 3*level[t] - x[t]",
)
