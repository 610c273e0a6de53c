"""One module a command; `python manage.py help` lists them."""
