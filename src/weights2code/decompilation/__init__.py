"""Models that exist: what a model computes, as a program, and where the model leaves its own rule.

The model is asked, not read. `hosts` runs it, within limits; `model` finds out how it wants to be asked and
how its answers are meant; `rule` looks for the program; `verify.hunt` for departures; `verdict` says what is
known; `driver` reads as the table of contents.
"""
