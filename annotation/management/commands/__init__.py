"""One module per command; `python manage.py help` lists them."""
