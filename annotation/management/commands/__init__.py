"""One module for each command; `python manage.py help` lists them."""
