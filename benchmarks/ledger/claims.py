"""What is claimed of pairs: a program and its specification, a network and its program.

A record holds both sides, what the inputs may be, and the truth as the independent oracles know it (see
`../reliability`): sequences on which the two differ, or a closed set of states in which they are equal. The
present code is asked again, and whatever it claims is judged on those sequences. So a claim that is not so is
found out whoever makes it, and the oracles' long runs are made once, when the ledger is recorded.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from typing import Any

import network_truth
import numpy as np
import problems  # noqa: F401 - with which the oracles can be imported
import truth
from networks import Network, problem_of
from truth import Case, Rows

from weights2code import tasks
from weights2code.graph import from_dict as read_graph
from weights2code.language import Domain, Recurrence
from weights2code.network.certify import certify_network
from weights2code.tasks.step_function import StepFunction
from weights2code.verify import Certificate, certify
from weights2code.verify.links import NetworkCertificate

Record = dict[str, Any]
WORDS = ("same", "lost", "won", "false", "known false")
LIMIT = 300.0
#: How much a verdict settles; what is no verdict settles nothing.
SETTLES = {"proved": 3, "failed": 3, "differs": 3, "exhaustive": 2, "bounded": 2, "tested": 1}
#: A bound that is so many times wider, or a length so many times shorter, is another claim.
FACTOR = 2.0


class Written(StepFunction):
    """A specification as a plain function, with its text: `start`, and `step(state, row)`."""

    def __init__(self, text: str, inputs: Iterable[str], domains: Iterable[Domain]) -> None:
        space: dict[str, Any] = {"__name__": "specification"}
        exec(compile(text, "specification.py", "exec", dont_inherit=True), space)
        super().__init__(tuple(inputs), ("y",), space["start"], space["step"], tuple(domains))


def prepare(records: list[Record]) -> None:
    """Nothing is needed before."""


# -- asking --------------------------------------------------------------------------------------------------


def replay(record: Record) -> Record:
    """The present answer: a verdict, what it reaches, what is wrong with it, processor seconds."""
    ask, wrong_of = (
        (ask_program, wrong_of_program) if record["what"] == "program" else (ask_network, wrong_of_network)
    )
    began = time.process_time()
    try:
        with np.errstate(all="ignore"):
            found: Any = ask(record)
            seconds = time.process_time() - began
            wrong = wrong_of(record, found)
    except Exception as error:
        text = f"error: {type(error).__name__}: {error}"
        return {"verdict": text[:200], "seconds": round(time.process_time() - began, 4)}
    answer: Record = {"verdict": found.verdict, "seconds": round(seconds, 4)}
    if found.verdict == "bounded":
        answer["error"] = found.error
    if found.verdict == "exhaustive":
        answer["length"] = int(re.findall(r"\d+", found.covers)[-1])
    if wrong:
        answer["wrong"] = wrong[:300]
    return answer


def ask_program(record: Record) -> Certificate:
    """What is said of a program and its specification."""
    case = case_of(record)
    drawn = tasks.get(record["sampler"]).draw if record.get("sampler") else None
    return certify(
        case.program,
        reference=case.reference,
        domains=case.domains,
        length=case.length,
        integer_outputs=case.whole,
        sampler=drawn,
        seed=record["seed"],
        time_limit=record["effort"],
        count=record["count"],
    )


def ask_network(record: Record) -> NetworkCertificate:
    """What is said of a network and its program."""
    graph, program, domains = sides_of(record)
    problem = _problem(record, graph, program, domains)
    return certify_network(graph, program, problem, record["seed"]).certificate


def _problem(record: Record, graph: Any, program: Recurrence, domains: tuple[Domain, ...]) -> Any:
    """Some sequences of a network's length, which it is asked with."""
    rng = np.random.default_rng(record["seed"])
    return problem_of(Network(graph, domains, 0), program, rng, graph.length, whole=record["whole"])


# -- judging -------------------------------------------------------------------------------------------------


def wrong_of_program(record: Record, certificate: Certificate) -> str:
    """What a certificate claims that is not so, in words."""
    case = case_of(record)
    function = truth.text_function(case)
    if certificate.verdict == "failed":
        return truth.wrongly_failed(case, certificate, function)
    if certificate.verdict == "tested" and record["often"] > truth.OFTEN:
        return f"tested, but {record['often']:.0%} of random sequences show a difference"
    for rows in unpacked(record):
        found = truth.difference(case, function, rows)
        if found is not None and (words := truth.contradicted(case, certificate, found)):
            return words
    return ""


def wrong_of_network(record: Record, certificate: NetworkCertificate) -> str:
    """The same of a network and its program; that is run as its text would."""
    graph, program, domains = sides_of(record)
    shown = None
    if not record["whole"]:
        shown = network_truth.shown_by(program, _problem(record, graph, program, domains), record["seed"])
    known = known_runs(record, program, domains)
    return network_truth.wrong_claim(certificate, graph, program, known, whole=record["whole"], shown=shown)


def known_runs(record: Record, program: Recurrence, domains: tuple[Domain, ...]) -> list[network_truth.Runs]:
    """The sequences that a network and its program are compared on."""
    telling = [np.array([rows], float) for rows in unpacked(record)]
    return network_truth.runs(program, domains, np.random.default_rng(record["seed"]), telling)


# -- comparing -----------------------------------------------------------------------------------------------


def solved(record: Record) -> bool:
    """Whether the recorded answer is right, and more than a test."""
    return _settles(record["answer"]) > 1


def compare(record: Record, answer: Record) -> tuple[str, ...]:
    """What became of a claim."""
    return (became(record["answer"], answer),)


def became(then: Record, now: Record) -> str:
    """The word for it.

    `false` and `known false`: it is not so, and was not said, or was said already, when it was recorded.
    `lost` and `won`: less, or more, is settled than was; a claim that was false and is no longer made is won.
    """
    if now.get("wrong"):
        return "known false" if then.get("wrong") else "false"
    before, after = _settles(then), _settles(now)
    if then.get("wrong"):
        return "won" if after else "lost"
    if before == after and then["verdict"] != now["verdict"]:
        refuted = [one["verdict"] in ("failed", "differs") for one in (then, now)]
        before, after = refuted  # a sequence shows it, so it outweighs a proof
    elif before == after:
        before, after = _reach(then), _reach(now)
        if before <= FACTOR * after and after <= FACTOR * before:
            return "same"
    return "same" if before == after else "lost" if after < before else "won"


def describe(record: Record, answer: Record) -> str:
    """A claim and what became of it, in a line."""
    then, now = record["answer"]["verdict"], answer.get("verdict", answer.get("error", "no answer"))
    wrong = f": {answer['wrong']}" if answer.get("wrong") else ""
    return f"{record['key']} ({record['truth']}): {then} -> {now}{wrong}"


def _settles(answer: Record) -> int:
    return 0 if answer.get("wrong") else SETTLES.get(answer.get("verdict", ""), 0)


def _reach(answer: Record) -> float:
    """How far a claim goes: up to which length, or the closer the farther."""
    return answer["length"] if "length" in answer else 1 / max(answer.get("error", 1.0), 1e-12)


# -- records -------------------------------------------------------------------------------------------------


def case_of(record: Record) -> Case:
    """Program and specification of a record."""
    domains = tuple(Domain.from_dict(domain) for domain in record["domains"])
    right = record["right"]
    specification = (
        Written(right["function"], right["inputs"], domains)
        if "function" in right
        else Recurrence.from_dict(right)
    )
    program = Recurrence.from_dict(record["left"])
    return Case(record["key"], program, specification, domains, record["whole"], record["length"])


def sides_of(record: Record) -> tuple[Any, Recurrence, tuple[Domain, ...]]:
    """Network, program and domains of a record."""
    domains = tuple(Domain.from_dict(domain) for domain in record["domains"])
    return read_graph(record["left"]), Recurrence.from_dict(record["right"]), domains


def unpacked(record: Record) -> Iterator[Rows]:
    """The sequences that tell both sides of a record apart."""
    for rows in record["telling"]:
        yield [[float(value) for value in row] for count, row in rows for _ in range(count)]
