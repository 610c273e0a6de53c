"""The forms of the pages of results: they clean and convert input."""
