"""Project configuration: settings, URLs, sign-in, logging and startup checks.

Start with settings.py.
"""
