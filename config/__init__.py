"""Wiring: settings, addresses, sign-in, logs and what a server checks before it starts.

Begin with settings.py.
"""
