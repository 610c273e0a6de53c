"""What models predicted: format.py reads it, store.py keeps it, upload_job.py takes uploads."""
