"""A stand-in for Prolific: its API, pages, money and events, as its own documents describe them.

Begin with platform.py; books.py holds the state and urls.py the addresses.
"""
