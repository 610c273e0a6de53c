"""Databases of earlier releases with data; tests upgrade each to the current schema."""
