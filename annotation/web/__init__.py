"""What all pages and API views share: access checks, rights, forms, lists, errors, tokens.

Begin with access.py (who may use what) and posts.py (a form of a researcher, declared once for page
and API). This package imports no other room, only `models`.
"""
