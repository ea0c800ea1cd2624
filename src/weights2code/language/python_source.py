"""`program.py`: a recurrence as a short Python file that stands alone.

The loop repeats the formula letter for letter. What makes that possible is one idiom: every array that is
read back in time has its start values appended at the END, so that at t = 0 Python's own negative indices
`y[t-1]`, `y[t-2]` find them. The operations keep the order of the tree, hence the text and
`Recurrence.run` agree bit for bit.
"""

from __future__ import annotations

import keyword
import re
import textwrap
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence

from weights2code.language import (
    Const,
    Count,
    Domain,
    Expr,
    Op,
    OverAll,
    Recurrence,
    Retrieval,
    Selection,
    Start,
    Var,
    formula,
    number_text,
    python_text,
    searched_by,
    texts,
)
from weights2code.language.categories import Categories, Texts, categories_of, spoken
from weights2code.language.categories import label as as_text
from weights2code.language.domain import TRUTHS, quoted
from weights2code.language.kinds import Kinds, kinds_of, lags_of

WIDTH = 100
#: Texts of a column that a program checks its input against; with more, it takes any.
MOST_CHECKED = 100

#: How counts under an order look into the sorted keys.
_BISECTIONS = {"lt": "bisect_left", "le": "bisect_right", "ge": "bisect_left", "gt": "bisect_right"}

#: What the generated text itself uses: neither the function nor a variable may be called so.
_TAKEN = {"np", "ArrayLike", "ValueError", "T", "t", "data", "table"}
_TAKEN |= {"range", "len", "int", "bool", "abs", "max", "min", "bisect_left", "bisect_right", "insort"}


#: A text in quotes.
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


def identifier(text: str) -> str:
    """A valid Python name that is as close to `text` as possible, in any script."""
    name = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", text)).strip("_") or "program"
    if name[0].isdigit():
        name = f"_{name}"
    if not name.isidentifier():  # such as digits of other scripts, or marks that no letter comes before
        name = "".join(c if f"_{c}".isidentifier() else "_" for c in f"_{name}")
    taken = keyword.iskeyword(name) or keyword.issoftkeyword(name) or name in _TAKEN
    return f"{name}_" if taken else name


def readable_names(recurrence: Recurrence, function: str) -> dict[str, str]:
    """Each name of the recurrence as a distinct identifier that the generated text can use."""
    names: dict[str, str] = {}
    for name in (*recurrence.inputs, *(step.name for step in recurrence.steps)):
        candidate = identifier(name)
        while candidate == function or candidate in names.values():
            candidate += "_"
        names[name] = candidate
    return names


def formula_lines(recurrence: Recurrence, categories: Categories | None = None) -> list[str]:
    """One line a step, `y[t] = x[t] + y[t-1]`, then a line for start values that are not zero."""
    return _rule(*spoken(recurrence, categories or {}), {})


def _rule(recurrence: Recurrence, types: Categories, names: Mapping[str, str]) -> list[str]:
    def write(variable: Var) -> str:
        return f"{names.get(variable.name, variable.name)}[t{f'-{variable.lag}' if variable.lag else ''}]"

    lines = []
    for step in recurrence.steps:
        made = step.definition
        text = formula(made, write) if isinstance(made, Expr) else _over_all_words(made, write, types)
        lines.append(f"{write(Var(step.name))} = {text}")
    starts = start_words(recurrence, names, types)
    return [*lines, *([starts] if starts else [])]


def start_words(recurrence: Recurrence, names: Mapping[str, str], types: Categories) -> str:
    """What lies before the start, where it matters and is not zero, or of texts no text."""
    words, lags = [], lags_of(recurrence)
    for name in recurrence.depths():
        start, said = recurrence.start_of(name), names.get(name, name)
        if start == "first":
            words.append(f"{said} = {said}[0]")
        elif start != 0 and name in lags:
            words.append(f"{said} = {_written(start, types.get(name))}")
    return f"before the start {', '.join(words)}" if words else ""


def python_source(
    recurrence: Recurrence,
    domains: Sequence[Domain],
    name: str,
    *,
    integer_outputs: bool = False,
    origin: str = "",
    verdict: str = "not verified",
    categories: Categories | None = None,
    truths: Collection[str] = (),
) -> str:
    """The text of `program.py`: one public function, documented, at any length.

    `categories` are the texts of outputs that hold texts, `truths` the outputs that are True or False.
    """
    function = identifier(name)
    known = categories_of(recurrence.inputs, domains) | dict(categories or {})
    said = {name: texts(words) for name, words in known.items()} | dict.fromkeys(truths, TRUTHS)
    whole = integer_outputs and not set(recurrence.outputs) & set(said)
    facts = [*([f"Origin: {origin}"] if origin else []), *f"Verdict: {verdict}".splitlines()]
    body = _Body(
        recurrence, readable_names(recurrence, function), kinds_of(recurrence, domains), known, truths
    )
    argument = body.names[recurrence.inputs[0]] if len(recurrence.inputs) == 1 else "data"
    documentation = body.documentation(domains, said, whole, facts)
    return "\n".join(
        [
            *body.imports(),
            "import numpy as np",
            "from numpy.typing import ArrayLike",
            "",
            f'__all__ = ["{function}"]',
            "",
            "",
            f"def {function}({argument}: ArrayLike) -> np.ndarray:",
            *textwrap.indent(documentation, "    ").splitlines(),
            *(f"    {line}" for line in body.lines(argument)),
            "",
        ]
    )


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    return words if words.endswith(".") else f"{words}."


def _over_all_words(definition: OverAll, write: Callable[[Var], str], types: Categories) -> str:
    key, *values = (write(Var(name)).replace("[t]", "[s]") for name in searched_by(definition))
    query = formula(definition.query, write)
    if isinstance(definition, Count):
        return f"how many s <= t have {key} {definition.sign} {query}"
    if isinstance(definition, Selection):
        return f"{values[0]} at the s <= t where {key} scores highest for {query}, else 0"
    gap = {0: "s <= t", 1: "s < t"}.get(definition.gap, f"s <= t-{definition.gap}")
    default = _written(definition.default, types.get(definition.value))
    return f"{values[0]} at the last {gap} with {key} == {query}, else {default}"


def _written(value: Start, texts: Texts | None, *, python: bool = False) -> str:
    """A start value or a default; of a name that holds texts it is a text."""
    assert not isinstance(value, str)
    if texts is not None:
        return str(as_text(value, texts))
    text = number_text(value).removesuffix(".0")
    return text.replace("inf", "np.inf") if python else text


class _Body:
    """Writes the function's body for one recurrence."""

    def __init__(
        self,
        recurrence: Recurrence,
        names: Mapping[str, str],
        kinds: Kinds,
        categories: Categories,
        truths: Collection[str],
    ) -> None:
        recurrence, self.types = spoken(recurrence, categories)
        self.texts = bool(set(self.types) & set(recurrence.inputs))
        self.recurrence, self.names, self.kinds, self.truths = recurrence, names, kinds, truths
        columns = len(recurrence.inputs)
        self.shape = "(T,) or (T, 1)" if columns == 1 else f"(T, {columns})"
        self.lags = dict.fromkeys(names, 0) | lags_of(recurrence)
        self.padded = {name for name in names if self.lags[name]}
        made = {step.name: step.definition for step in recurrence.steps}
        lookups = {name: found for name, found in made.items() if isinstance(found, Retrieval)}
        self.counts = {name: found for name, found in made.items() if isinstance(found, Count)}
        #: What is kept of each lookup, and of each count.
        self.kept = {
            name: self._free(f"{word}{place}" if len(steps) > 1 else word)
            for word, steps in (("table", lookups), ("seen", self.counts))
            for place, name in enumerate(steps, start=1)
        }
        late = [name for found in lookups.values() if found.gap > 1 for name in searched_by(found)]
        # a local that is read only in its own turn of the loop needs no history: a plain variable will do
        self.scalars = made.keys() - {*self.padded, *recurrence.outputs, *late}
        self.arrays = [name for name in made if name not in self.scalars]

    def imports(self) -> list[str]:
        """What counts under an order take: the keys so far are kept sorted."""
        used = {_BISECTIONS[count.relation] for count in self.counts.values() if count.relation != "eq"}
        return [f"from bisect import {', '.join(sorted({*used, 'insort'}))}", ""] if used else []

    def documentation(
        self, domains: Sequence[Domain], said: Mapping[str, Domain], whole: bool, facts: Sequence[str]
    ) -> str:
        """The docstring; `said` is what names hold that are no numbers."""
        recurrence, names = self.recurrence, self.names
        inputs = "; ".join(
            f"{names[name]}: {domain}" + (f" (column {name!r})" if names[name] != name else "")
            for name, domain in zip(recurrence.inputs, domains, strict=True)
        )
        outputs = ("; " if said else ", ").join(
            f"{names[name]}: {said[name]}" if name in said else names[name] for name in recurrence.outputs
        )
        count = len(recurrence.outputs)
        result = "(T,)" if count == 1 else f"(T, {count})"
        paragraphs = [
            f"Input: one sequence, shape {self.shape}, any length T; {inputs}.",
            f"Output: {outputs}, shape {result}{', whole numbers' if whole else ''}.",
            *map(_sentence, facts),
        ]
        rule = _rule(recurrence, self.types, names)
        if len(recurrence.steps) == 1 and len("; ".join(rule)) < WIDTH - 8:
            head = ["; ".join(rule)]
        else:
            lines = [
                part for line in rule for part in textwrap.wrap(line, WIDTH - 8, subsequent_indent="    ")
            ]
            head = ["The rule, for t = 0, 1, 2, ...:", "", *(f"    {line}" for line in lines)]
        wrapped = self._zeros()
        for text in paragraphs:
            wrapped += textwrap.wrap(text, WIDTH - 4, subsequent_indent="    ")
        # nothing that a file or a column is called may end the docstring early
        text = "\n".join([*head, "", *wrapped]).replace("\\", "/").replace('"""', "'''")
        return f'"""{text}\n"""' if not text.endswith('"') else f'"""{text} \n"""'

    def _zeros(self) -> list[str]:
        """What lies before the start where nothing else is said."""
        read, types = set(lags_of(self.recurrence)), set(self.types)
        if start_words(self.recurrence, self.names, self.types) or not read:
            return []
        if not read & types:
            return ["Every value before the start is 0."]
        none = "Every text before the start is None."
        return [none if read <= types else f"{none[:-1]}, every number 0."]

    def lines(self, argument: str) -> list[str]:
        inside, late = list[str](), list[str]()
        for step in self.recurrence.steps:
            target, made = self._read(Var(step.name)), step.definition
            if isinstance(made, Retrieval):
                (late if made.gap else inside).extend(self._store(self.kept[step.name], made))
                default = _written(made.default, self.types.get(made.value), python=True)
                inside.append(f"{target} = {self.kept[step.name]}.get({self._write(made.query)}, {default})")
            elif isinstance(made, Count):
                inside += self._count(target, made, self.kept[step.name])
            else:
                assert isinstance(made, Expr), made
                inside += self._assigned(target, made)
        return [
            *self._inputs(argument),
            *self._columns(argument),
            *self._arrays(),
            *map(self._table, self.kept),
            "for t in range(T):",
            *(f"    {line}" for line in (*inside, *late)),
            self._return(),
        ]

    def _table(self, name: str) -> str:
        """What is kept for a step that goes over all rows, nothing as yet."""
        count = self.counts.get(name)
        if count is None:
            return f"{self.kept[name]} = {{}}  # the last value of each key"
        key = self.names[count.key]
        if count.relation == "eq":
            return f"{self.kept[name]} = {{}}  # how often each {key} came up so far"
        return f"{self.kept[name]} = []  # every {key} so far, sorted"

    def _inputs(self, argument: str) -> list[str]:
        columns = len(self.recurrence.inputs)
        test = f"{argument}.shape[1:] != ({columns},) and {argument}.shape != (0,)"
        if columns == 1:
            test = f"{argument}.shape not in (({argument}.size,), ({argument}.size, 1))"
        return [
            f"{argument} = np.asarray({argument}, dtype={'object' if self.texts else 'float'})",
            f"if {test}:",
            f'    raise ValueError(f"expected shape {self.shape}, got {{{argument}.shape}}")',
            f"T = len({argument})",
        ]

    def _columns(self, argument: str) -> list[str]:
        """One array a column, with its start values at the end (`np.append` flattens)."""
        inputs, start_of = self.recurrence.inputs, self.recurrence.start_of
        columns, labels = len(inputs), ", ".join(self.names[name] for name in inputs)
        split = f".reshape(-1, {columns}).T" if columns > 1 else ""
        read = [name for name in inputs if name in self.padded]
        if self.texts or not read or any(start_of(name) == "first" for name in read):
            lines = [f"{labels} = {argument}{split or '.ravel()'}"] if split or self.texts or not read else []
            lines += [line for name in inputs if self.texts for line in self._checked(name)]
            return [*lines, *map(self._history, read)]
        self.padded |= set(inputs)
        depth = max(self.lags[name] for name in inputs)
        values = ["0" if start_of(name) == "first" else self._start(name, python=True) for name in inputs]
        row = values[0] if columns == depth == 1 else f"[{', '.join(values)}]"
        rows = row if depth == 1 else f"{row} * {depth}"
        before = "; ".join(self._before(name) for name in read)
        return [f"{labels} = np.append({argument}, {rows}){split}  # {before}"]

    def _checked(self, name: str) -> list[str]:
        """A column beside texts: numbers are made such, texts are checked."""
        label, known, text, found = (
            self.names[name],
            self.types.get(name, ()),
            *map(self._free, ("text", "known")),
        )
        if not known:
            return [f"{label} = {label}.astype(float)"]
        if len(known) > MOST_CHECKED:
            return []
        return [
            *_listed(found, known),
            f"for {text} in {label}:",
            f"    if {text} not in {found}:",
            f'        raise ValueError(f"{label}: {{{text}!r}} is none of {{{found}}}")',
        ]

    def _free(self, name: str) -> str:
        """A name that no variable has."""
        while name in self.names.values():
            name += "_"
        return name

    def _start(self, name: str, *, python: bool = False) -> str:
        """The start value of a name, as it is written."""
        return _written(self.recurrence.start_of(name), self.types.get(name), python=python)

    def _history(self, name: str) -> str:
        """A column with its start values at the end."""
        label, depth = self.names[name], self.lags[name]
        if self.recurrence.start_of(name) == "first":
            rows = f"{label}[:1]" if depth == 1 else f"np.repeat({label}[:1], {depth})"
        else:
            value = self._start(name, python=True)
            rows = value if depth == 1 else f"[{value}] * {depth}"
        return f"{label} = np.append({label}, {rows})  # {self._before(name)}"

    def _before(self, name: str) -> str:
        """The comment that names what lies before the start."""
        label, depth, start = self.names[name], self.lags[name], self.recurrence.start_of(name)
        indices = ", ".join(f"{label}[-{lag}]" for lag in range(1, min(depth, 2) + 1))
        value = f"{label}[0]" if start == "first" else self._start(name)
        return f"{indices}{', ...' if depth > 2 else ''} = {value}"

    def _arrays(self) -> list[str]:
        """One line for all arrays that start alike: their zeros (or start values) include the past."""
        lines = [self._text_array(name) for name in self.arrays if name in self.types]
        numbers = [name for name in self.arrays if name not in self.types]
        starts: dict[str, Start] = {
            name: self.recurrence.start_of(name) if name in self.padded else 0.0 for name in numbers
        }
        for start in dict.fromkeys(starts.values()):
            names = [name for name in numbers if starts[name] == start]
            read = [name for name in names if name in self.padded]
            if read:
                self.padded |= set(names)
            depth = max(self.lags[name] for name in names)
            length = f"T + {depth}" if depth else "T"
            shape = length if len(names) == 1 else f"({len(names)}, {length})"
            value = _written(start, None, python=True)
            value = f"{value}.0" if value.lstrip("-").isdigit() else value  # 1e-05 is a float as it stands
            made = f"np.zeros({shape})" if start == 0 else f"np.full({shape}, {value})"
            comment = f"  # {'; '.join(self._before(name) for name in read)}" if read else ""
            lines.append(f"{', '.join(self.names[name] for name in names)} = {made}{comment}")
        return lines

    def _text_array(self, name: str) -> str:
        label, depth = self.names[name], self.lags[name]
        if not depth:
            return f"{label} = np.full(T, None)"
        value = self._start(name)
        kind = "" if value == "None" else ", dtype=object"
        return f"{label} = np.full(T + {depth}, {value}{kind})  # {self._before(name)}"

    def _read(self, variable: Var) -> str:
        label = self.names[variable.name]
        if variable.name in self.scalars:
            return label
        return f"{label}[t-{variable.lag}]" if variable.lag else f"{label}[t]"

    def _write(self, expr: Expr) -> str:
        return python_text(expr, self._read, is_bit=self.kinds.is_bit, is_integer=self.kinds.is_integer)

    def _store(self, table: str, definition: Retrieval) -> list[str]:
        lag = max(definition.gap - 1, 0)
        key, value = self._read(Var(definition.key, lag)), self._read(Var(definition.value, lag))
        line = f"{table}[{key}] = {value}"
        return [f"if t >= {lag}:", f"    {line}"] if lag else [line]

    def _count(self, target: str, definition: Count, seen: str) -> list[str]:
        key, query = self._read(Var(definition.key)), self._write(definition.query)
        if definition.relation == "eq":
            return [f"{seen}[{key}] = {seen}.get({key}, 0) + 1", f"{target} = {seen}.get({query}, 0)"]
        below = f"{_BISECTIONS[definition.relation]}({seen}, {query})"
        many = below if definition.relation in ("lt", "le") else f"len({seen}) - {below}"
        return [f"insort({seen}, {key})", f"{target} = {many}"]

    def _assigned(self, target: str, expr: Expr, indent: int = 0) -> list[str]:
        """The lines of an assignment; choices that are too long for one line are statements."""
        line = f"{target} = {self._write(expr)}"
        word, lines = "if", list[str]()
        while isinstance(expr, Op) and expr.name == "where" and len(line) + 8 + indent > WIDTH:
            condition, yes, expr = expr.args
            lines += [
                f"{word} {self._truth(condition)}:",
                *(f"    {inner}" for inner in self._assigned(target, yes, indent + 4)),
            ]
            line, word = f"{target} = {self._write(expr)}", "elif"
        if not lines:
            return _fold(line)
        return [*lines, "else:", *(f"    {inner}" for inner in self._assigned(target, expr, indent + 4))]

    def _truth(self, condition: Expr) -> str:
        """The text of a condition, as a choice has it."""
        choice = self._write(Op("where", (condition, Const(1), Const(0))))
        return choice.partition(" if ")[2].rpartition(" else ")[0]

    def _return(self) -> str:
        mixed = ".astype(object)" if not set(self.recurrence.outputs) <= {*self.truths} else ""
        outputs = [
            f"{self.names[name]}{'[:T]' if name in self.padded else ''}"
            f"{f'.astype(bool){mixed}' if name in self.truths else ''}"
            for name in self.recurrence.outputs
        ]
        if len(outputs) == 1:
            return f"return {outputs[0]}"
        return f"return np.stack([{', '.join(outputs)}], axis=1)"


def _listed(name: str, texts: Texts) -> list[str]:
    """A tuple of texts in as many lines as it takes."""
    words = [f"{quoted(text)}," for text in texts]
    line = f"{name} = ({' '.join(words).removesuffix(',' if len(texts) > 1 else '')})"
    if len(line) + 4 <= WIDTH:
        return [line]
    lines = [""]
    for word in words:
        lines = (
            [*lines, word] if len(lines[-1]) + len(word) + 9 > WIDTH else [*lines[:-1], f"{lines[-1]} {word}"]
        )
    return [f"{name} = (", *(f"    {text.strip()}" for text in lines), ")"]


def _fold(line: str) -> list[str]:
    """Break a long assignment before its outermost plus and minus signs, or the choices of texts."""
    if len(line) + 8 <= WIDTH:
        return [line]
    target, _, text = line.partition(" = ")
    bare = _TEXT.sub(lambda found: "_" * len(found[0]), text)
    signs = (" else ",) if bare != text else (" + ", " - ")
    pieces, depth, start = [], 0, 0
    for i, character in enumerate(bare):
        depth += (character in "([") - (character in ")]")
        if depth == 0 and bare.startswith(signs, i):
            pieces.append(text[start:i])
            start = i + 1
    pieces.append(text[start:])
    if len(pieces) == 1 or (bare == text and " if " in text):
        return [line]
    return [f"{target} = (", *(f"    {piece}" for piece in pieces), ")"]
