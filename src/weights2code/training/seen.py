"""What the rungs so far say about those to come: which are in vain, and which can wait.

A window that fits leaves nothing for a wider one, or for aggregates of everything so far, to add. If it
nearly fits, or leaves far less than models without functions do, what is missing is more likely a step in
between than something further back: deeper rungs come before aggregates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from weights2code.training.ladder import Rung

#: Share of whole numbers that a window gets right, thresholds on reals aside, if nothing more is needed.
NEARLY_ENOUGH = 0.98
#: The same for real outputs, as a hard loss.
LITTLE = 0.05
#: The share of the loss of models without functions that shows that functions of what is near matter.
LESS = 0.4


@dataclass(slots=True)
class Seen:
    """What was learned from the rungs that were trained; `whole` are the outputs' numbers."""

    whole: bool
    window_fits: bool = False
    nearly: bool = False
    without_functions: float = math.inf

    def learn(self, rung: Rung, loss: float, accuracy: float, *, fitted: bool) -> None:
        """One more rung, with the loss and the share of right outputs of its best member."""
        if rung.kind == "window":
            enough = accuracy >= NEARLY_ENOUGH if self.whole else loss <= LITTLE
            self.window_fits |= fitted
            self.nearly |= enough or loss <= LESS * self.without_functions
        elif not rung.sizes["submlps"]:
            self.without_functions = min(self.without_functions, loss)

    def in_vain(self, rung: Rung) -> bool:
        """Whether a window has shown that the rung has nothing to add."""
        return self.window_fits and (rung.kind == "window" or rung.aggregates)

    def can_wait(self, rung: Rung) -> bool:
        """Whether what is deeper should come before the rung."""
        return self.nearly and rung.aggregates
