"""A double of Prolific for tests: the part of its API that Handful calls, its people and its money.

Prolific's OpenAPI document decides what it takes and replies (tests/annotation/
test_prolific_openapi.py). Begin with platform.py: what a program does there. people.py is what
participants do, books.py what follows, rules.py what is refused, site.py the addresses.
"""
