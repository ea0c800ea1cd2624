"""The command line, `w2c`. Nothing heavy is imported before a command needs it."""

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `w2c` with the given arguments (the process's own by default) and return its exit code."""
    if arguments is None:  # the process is ours: Ctrl-C waits until somebody is there to take care of it
        hold_interrupts()
        from weights2code.cli.interrupts import watch

        watch()
        own_output()
    from weights2code.cli.dispatch import dispatch

    code = dispatch(arguments)
    if arguments is None:
        _leave(code)
    return code


def _leave(code: int) -> None:
    """End the process at once: to take a large library apart, module by module, takes half a second.

    Not where somebody waits for its end: a cluster's client, a profiler, a tracer.
    """
    import os
    import sys

    if "ray" in sys.modules or sys.getprofile() or sys.gettrace():
        return
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, or nobody reads it
            code = code or 1
    os._exit(code)


def own_output() -> None:
    """From now on standard output is for results alone: what libraries print there themselves, as LAPACK does
    with complaints, goes nowhere."""
    import os
    import sys

    if sys.stdout is None or sys.stdout is not sys.__stdout__ or sys.stdout.fileno() != 1:
        return
    results, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    buffering = 1 if os.isatty(results) else -1
    sys.stdout = os.fdopen(results, "w", buffering, sys.stdout.encoding, sys.stdout.errors)


def hold_interrupts() -> None:
    """The first thing that a process does; `_signal` is built in, while `signal` has to be imported."""
    import _signal

    if hasattr(_signal, "pthread_sigmask"):
        _signal.pthread_sigmask(_signal.SIG_BLOCK, {_signal.SIGINT})


__all__ = ["main"]
