"""Sphinx: Markdown by MyST, the reference from docstrings."""

from weights2code import __version__

project = "weights2code"
author = "the weights2code authors"
copyright = author
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"weights2code {release}"
myst_heading_anchors = 3
# Docstrings say what arrays look like in jaxtyping's words, which are no names that Sphinx could look up.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
