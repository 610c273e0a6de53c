"""Project set-up: settings, URLs, sign-in, logs and the checks before a server starts.

Start with settings.py.
"""
