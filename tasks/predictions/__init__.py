"""Predictions of models: format.py reads, store.py stores, upload_job.py handles uploads."""
