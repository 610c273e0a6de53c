"""Shared parts of pages and API views: access checks, forms, lists, errors, tokens.

Read access.py (access checks) and posts.py (a POST declared once for the page and the API) first.
Of the packages in annotation, this one imports only `models`.
"""
