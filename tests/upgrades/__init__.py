"""Databases as releases left them, with data in them; tests upgrade each to the present."""
