"""The command line, `w2c`. Nothing heavy is imported before a command needs it."""

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `w2c` with the given arguments (the process's own by default) and return its exit code."""
    if arguments is None:  # the process is ours: Ctrl-C waits until somebody is there to take care of it
        hold_interrupts()
        from weights2code.cli.interrupts import watch

        watch()
    from weights2code.cli.dispatch import dispatch

    return dispatch(arguments)


def hold_interrupts() -> None:
    """The first thing that a process does; `_signal` is built in, while `signal` has to be imported."""
    import _signal

    if hasattr(_signal, "pthread_sigmask"):
        _signal.pthread_sigmask(_signal.SIG_BLOCK, {_signal.SIGINT})


__all__ = ["main"]
