"""Model predictions: format.py reads, store.py stores, upload_job.py handles uploads."""
