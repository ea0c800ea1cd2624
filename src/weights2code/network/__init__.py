"""The network that a program was read from: run from its weights, and compared with the program.

`certify` says how far both are equal: by `trial` (both are run), on all `contexts` that the program can
reach, by `bounds` over all values that both may read, and by what both remember `alike`. `tuning` makes a
network right that is not; `load` runs the one in a run folder.
"""
