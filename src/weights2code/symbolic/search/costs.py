"""What each kind of work in the search costs, in seconds of a usual machine.

Taken once, by least squares over the stages of some hundred searches. They need not be right to the digit:
what matters is that a search is charged the same for the same work, on any machine and under any load.
"""

COSTS = {
    # formulas: nodes offered, formulas evaluated, nodes times rows; squared terms of a linear fit
    "offers": 3.5e-5,
    "values": 1.7e-5,
    "cells": 5e-9,
    "fits": 9.4e-5,
    "refits": 2.4e-3,
    "refit cells": 1e-6,
    # trees: values of all trees of a size; pairs of trees
    "trees": 9.5e-9,
    "sums of trees": 1.2e-8,
    # atoms, their values, their pairs, and pairs times rows
    "atoms": 1.6e-5,
    "atom cells": 4.5e-9,
    "pairs": 1.2e-8,
    "pair cells": 3.9e-11,
    "family cells": 2.8e-8,
    "probe cells": 2e-8,
    # weighted sums of whole numbers, and their values
    "sums": 3.5e-6,
    "sum cells": 2.9e-9,
    "tables": 6.2e-6,
    # branches: along a direction; rows times variables; tests times leaves times rows
    "sorted cells": 3.1e-8,
    "direction cells": 7.6e-9,
    "rules": 4.7e-6,
    "planes": 2.8e-5,
    "plane cells": 6.9e-9,
    "tests": 2.7e-6,
    "test cells": 1.4e-10,
    "leaf cells": 4.3e-9,
    # neighbours from a tree of rows: columns of rows that it is made of, and of each neighbour asked for
    "near rows": 6e-7,
    # thresholds of sums: rows times squared numbers of a Newton step; linear programs
    "separation cells": 1e-9,
    "linear programs": 4e-3,
}
