"""The network itself: run from its file, and held against its program."""
