"""Model predictions: read by format.py, stored by store.py, and uploaded through upload_job.py."""
