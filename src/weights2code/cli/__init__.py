"""The command line, `w2c`. Nothing heavy is imported before a command needs it."""

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `w2c` with the given arguments (the process's own by default) and return its exit code."""
    if arguments is None:  # the process is ours: Ctrl-C is taken care of before anything else is imported
        from weights2code.cli.interrupts import watch

        watch()
    from weights2code.cli.dispatch import dispatch

    return dispatch(arguments)


__all__ = ["main"]
