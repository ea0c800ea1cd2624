def make():
    return iter(())


def replay(record):
    return {}


def compare(record, answer):
    return "same"


def settled(record):
    return False


def describe(record, answer):
    return ""
