"""Which networks are made: the gallery, and twenty that are damaged in four ways."""

from __future__ import annotations

from dataclasses import replace

from networks import Recipe

GALLERY = [
    Recipe("gru_parity", "parity", "gru", "x=0..1", 10, 2),
    Recipe("lstm_depth", "clipped_depth", "lstm", "x=0..1", 12, 9, width=32, steps=2500),
    Recipe("elman_modulo", "modulo", "rnn", "x=0..2", 10, 3, width=48, steps=2000, rate=2e-3),
    Recipe(
        "former_same_key",
        "same_key",
        "former",
        "key=0..3,value=0..4",
        12,
        5,
        width=48,
        steps=3000,
        rate=2e-3,
        longest=48,
    ),
    Recipe("gru_average", "average", "gru", "v=0.0..1.0", 16, 0, width=24, steps=3000),
    Recipe("gru_six_states", "six_states", "gru", "x=0..1", 14, 2, width=48, steps=3000),
]

_PLAIN = [
    Recipe("parity", "parity", "gru", "x=0..1", 10, 2),
    Recipe("modulo", "modulo", "gru", "x=0..2", 10, 3, width=32, steps=2000),
    Recipe("two_ones", "two_ones", "rnn", "x=0..1", 10, 2, width=16, steps=600),
    Recipe("latch", "latch", "lstm", "x=0..2", 12, 2, width=16, steps=800),
    Recipe("highest", "highest", "gru", "x=0..5", 10, 6, width=32, steps=1500),
]
#: Each rule with noise in its targets, trained too short, pruned, and rounded to few bits.
DAMAGED = [
    damaged
    for recipe in _PLAIN
    for damaged in (
        replace(recipe, name=f"{recipe.name}_noise", noise=0.2),
        replace(recipe, name=f"{recipe.name}_short", steps=recipe.steps // 3),
        replace(recipe, name=f"{recipe.name}_pruned", pruned=0.4),
        replace(recipe, name=f"{recipe.name}_rounded", bits=4),
    )
]

#: Rules that a plain function follows but for 1 in 100 outputs: the name, its inputs, the length.
MISTAKEN = [
    ("parity", "x=0..1", 10),
    ("modulo", "x=0..2", 10),
    ("six_states", "x=0..1", 12),
    ("two_ones", "x=0..1", 10),
    ("latch", "x=0..2", 12),
    ("highest", "x=0..5", 10),
    ("same_key", "key=0..3,value=0..4", 12),
]
