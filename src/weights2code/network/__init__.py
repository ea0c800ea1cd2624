"""The network that a program was read from: run from its weights, and compared with the program."""
