"""The command line, `w2c`. Nothing heavy is imported before a command needs it."""

from weights2code.cli.main import main

__all__ = ["main"]
