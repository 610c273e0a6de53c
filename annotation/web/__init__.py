"""What all pages and API views share: access checks, rights, forms, lists, errors, tokens.

Start with access.py (who may use what) and posts.py (a researcher's form, declared once for the
page and the API). This package imports only `models`, no other package of annotation.
"""
