"""Recipes: the numbers of a training run. Both recipes are options of one loop.

`paper` is the paper's own ("Training Details", appendix): a million samples, fifty epochs of batch 512,
learned head. `fast` is what experiments found: many restarts at once, few steps, less noise, a head in closed
form, then polishing of the discrete choices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from weights2code.model.sampler import Annealing

#: Share of the training after which a leak that fades is gone.
FADED = 0.9


@dataclass(frozen=True, slots=True)
class Recipe:
    """Numbers of the loop.

    Parameters
    ----------
    epochs, steps_per_epoch : an epoch ends with an evaluation, a line of metrics and a checkpoint.
    batch : sequences a step, shared by all members.
    learning_rate, last_learning_rate : cosine schedule; annealing : of the temperature.
    noise : scale of the Gumbel noise; cooled : whether it fades with the temperature (`model/sampler.py`).
    leak : slope of the hidden units below zero, so that none dies; leak_fades : whether it falls to 0 before
        the end of the training. One that stays is for comparison: finished models are of ReLU units.
    head : "closed" solves the linear head at every step, "projected" also the output weights of the last
        layer's sub-MLPs, "learned" trains everything as the paper does.
    l1 : penalty on a learned head.
    polish : settle the discrete choices by coordinate descent after annealing.
    tune_steps : steps with fixed choices at the end, for the best members.
    halvings : shares of the training after which only the better half of the members goes on: by half
        time those that fit in the end are among them (`benchmarks/training/halving.py`).
    """

    epochs: int = 12
    steps_per_epoch: int = 50
    batch: int = 32
    learning_rate: float = 0.05
    last_learning_rate: float = 1e-6
    annealing: Annealing = field(default_factory=Annealing)
    noise: float = 0.3
    cooled: bool = False
    leak: float = 0.0
    leak_fades: bool = True
    head: Literal["closed", "projected", "learned"] = "closed"
    l1: float = 0.0
    weight_decay: float = 0.0
    polish: bool = False
    tune_steps: int = 150
    keep_best: bool = False
    halvings: tuple[float, ...] = ()

    @property
    def solves_head(self) -> bool:
        return self.head != "learned"

    @property
    def steps(self) -> int:
        return self.epochs * self.steps_per_epoch

    def leak_at(self, progress: float) -> float:
        """Slope below zero after a share `progress` (0 to 1) of the training."""
        return self.leak * max(0.0, 1.0 - progress / FADED) if self.leak_fades else self.leak


#: What the paper leaves open, and the one printed number that is not followed, its rate of .05
#: (`benchmarks/training/recipe.py`, docs/results/paper_recipe.md).
PAPER_LEAK = 0.1
PAPER_RATE = 0.01


#: The paper's seeds, which are members of one batched program, and its training sequences.
PAPER_SEEDS, PAPER_SAMPLES = 3, 1_000_000


def paper_recipe(epochs: int = 50, learning_rate: float = PAPER_RATE, samples: int = PAPER_SAMPLES) -> Recipe:
    """The paper's recipe; an epoch is one pass over the sequences."""
    batch = 512
    return Recipe(
        epochs=epochs,
        steps_per_epoch=max(1, samples // batch),
        batch=batch,
        learning_rate=learning_rate,
        noise=1.0,
        cooled=True,
        leak=PAPER_LEAK,
        head="learned",
        weight_decay=0.01,
        tune_steps=0,
        keep_best=True,
    )
