"""Researchers' accounts: invitations, API tokens, a first study, and closing an account.

Read closing.py first. Sign-in is handled by config/ and django-allauth.
"""
