"""Project configuration: settings, URLs, sign-in, logging and startup checks.

Read settings.py first.
"""
