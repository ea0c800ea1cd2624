"""The language that reference machines and extracted programs share: expressions, recurrences, domains."""

from weights2code.language.domain import BITS, Domain, infer, integers, reals, texts, uniform
from weights2code.language.evaluation import compile_numpy, evaluate, evaluate_exact, exact_number
from weights2code.language.expression import Const, Expr, Number, Op, Var, as_expr
from weights2code.language.json_form import from_dict, to_dict
from weights2code.language.operators import OPERATORS, Operator, is_boolean, maximum, minimum, op, where
from weights2code.language.recurrence import (
    Count,
    Definition,
    OverAll,
    Recurrence,
    Retrieval,
    Selection,
    Start,
    Step,
    definition_variables,
    expression_of,
    renamed,
    searched_by,
    with_formula,
)
from weights2code.language.scores import Scores
from weights2code.language.text import formula, number_text, python_text

__all__ = [
    "BITS",
    "OPERATORS",
    "Const",
    "Count",
    "Definition",
    "Domain",
    "Expr",
    "Number",
    "Op",
    "Operator",
    "OverAll",
    "Recurrence",
    "Retrieval",
    "Scores",
    "Selection",
    "Start",
    "Step",
    "Var",
    "as_expr",
    "compile_numpy",
    "definition_variables",
    "evaluate",
    "evaluate_exact",
    "exact_number",
    "expression_of",
    "formula",
    "from_dict",
    "infer",
    "integers",
    "is_boolean",
    "maximum",
    "minimum",
    "number_text",
    "op",
    "python_text",
    "reals",
    "renamed",
    "searched_by",
    "texts",
    "to_dict",
    "uniform",
    "where",
    "with_formula",
]
