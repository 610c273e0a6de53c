"""Researchers' accounts: invitations, API tokens, a first study, and closing an account.

Start with closing.py (what ends with an account). Sign-in itself is in config/ and django-allauth.
"""
