"""The network that a program was read from: run from its weights, and compared with the program.

`certify` says how far both are equal: by `trial` (both are run), and by what is offered to the kernel, which
alone says proved. `tuning` makes a network right that is not; `load` runs the one in a run folder.
"""
