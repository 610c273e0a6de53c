"""Researchers' accounts: invitations, API tokens, a first study, and closing an account.

Start with closing.py. Signing in is handled by config/ and django-allauth.
"""
