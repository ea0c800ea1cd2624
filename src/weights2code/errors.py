"""The one exception tree. Each class knows the exit code that the command line answers with."""

from enum import StrEnum


class Reason(StrEnum):
    """Why an attempt gave no program, or one that is not enough."""

    UNFIT = "unfit"
    UNDETERMINED = "undetermined"
    NOTHING_NEW = "nothing new"
    NOT_ASKED_FOR = "not asked for"
    NOT_EVIDENT = "not evident"
    UNMATCHED = "unmatched"
    TOO_MANY = "too many values"
    TOO_RARE = "too few rows"
    NO_FORMULA = "no formula"
    WRONG = "wrong"
    NO_TIME = "no time"
    DEFECT = "defect"


#: What is said where linear algebra gives up.
TOO_FAR = "the numbers are too large, too small or too far apart to compute with; give other units."


class Weights2CodeError(Exception):
    """Base of every error that this package raises on purpose; its text is one sentence for the user."""

    exit_code = 2


class InputError(Weights2CodeError):
    """What the user gave (a name, an option, a file, a folder) cannot be used; the text names the fix."""


class NotExtracted(Weights2CodeError):
    """A live part of the trained model has no explanation; the text names the node."""

    exit_code = 3

    def __init__(self, message: str, reason: Reason = Reason.NO_FORMULA) -> None:
        super().__init__(message)
        self.reason = reason


class Stopped(Weights2CodeError):
    """The user stopped a command; the text says how to go on."""

    exit_code = 130
