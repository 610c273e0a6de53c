"""What pages and API views share: access checks, forms, lists, errors, tokens.

Start with access.py (access checks) and posts.py (a POST declared once for both page and API). Of
the packages in annotation, this one imports only `models`.
"""
