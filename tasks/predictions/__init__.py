"""Model predictions. format.py reads them, store.py stores them, upload_job.py handles uploads."""
