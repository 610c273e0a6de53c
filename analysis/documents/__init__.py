"""Documents generated from a study: preregistration, methods, checklists and report.

Start with report.py. A document is a list of blocks (blocks.py), rendered as HTML or Markdown.
"""
