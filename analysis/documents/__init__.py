"""Texts made from a study: preregistration, methods, checklist and report.

Begin with report.py. A document is a list of blocks (blocks.py) that HTML and Markdown render.
"""
