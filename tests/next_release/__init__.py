"""A made-up next release with one more migration (test_upgrade.py)."""
