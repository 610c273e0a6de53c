"""A simulated next release with one more migration (test_upgrade.py)."""
