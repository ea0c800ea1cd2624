"""A program in other languages: what each can hold, and nothing that it cannot.

Every format is one small file with one function of a program. The texts apply the operators in the order of
the tree, on IEEE doubles, so what they compute is what `program.py` computes; sines, powers and the like may
differ in their last digit. A format that cannot hold a program says why.
"""

from weights2code.export.formats import ALIASES, FORMATS, Format, exported, format_of

__all__ = ["ALIASES", "FORMATS", "Format", "exported", "format_of"]
