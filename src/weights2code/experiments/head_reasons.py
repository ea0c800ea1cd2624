"""Why a head that matches no hypothesis is no trouble, or is: the reasons by name, and what they go by."""

from __future__ import annotations

DEAD = "dead"
NEGLIGIBLE = "negligible"
SUBSTITUTABLE = "substitutable"
REDUNDANT = "redundant"
UNFIT = "model does not fit"
NEEDED = "needed"

#: The reasons in words, as they are looked for.
REASONS = {
    DEAD: "nothing that it gives reaches the output",
    NEGLIGIBLE: "a constant in its place is as right",
    SUBSTITUTABLE: "a hypothesis in its place is as right, though it does not match everywhere",
    REDUNDANT: "it is as right without it, if the output head weighs the other variables anew",
    UNFIT: "the network needs it, but does not compute the task, so that what it does explains nothing",
    NEEDED: "the network computes the task, needs it, and nothing simple does the same",
}
#: Those that are as the paper says.
HARMLESS = (DEAD, NEGLIGIBLE, SUBSTITUTABLE, REDUNDANT)

#: On whole numbers a replacement is as right if no more than this share of the outputs is wrong in addition.
MORE_WRONG = 1e-3
#: Where a model does not fit, other outputs may be as right: they must stay, to this share of the variance.
MOST_MOVED = 1e-3
#: A model fits if it gets this share of whole numbers right, or if its loss relative to the variance is this.
FITS_RIGHT, FITS_LOSS = 0.99, 0.02
