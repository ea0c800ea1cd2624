"""What each kind of work in the search costs, in seconds of a usual machine.

Taken once, by least squares over the stages of some hundred searches. They need not be right to the digit:
what matters is that a search is charged the same for the same work, on any machine and under any load.
"""

COSTS = {
    # formulas: nodes offered, formulas evaluated, nodes times rows; squared terms of a linear fit
    "offers": 2.6e-5,
    "values": 1.7e-5,
    "cells": 5e-9,
    "fits": 9.4e-5,
    "refits": 2.4e-3,
    "refit cells": 1e-6,
    # families with one inner constant, rows that noise is estimated from
    "family cells": 2.8e-8,
    "probe cells": 2e-8,
    # cells that are sorted along a quantity
    "sorted cells": 3.1e-8,
}
