"""What the documentation's site is made with, beside Sphinx: see ``conf.py``. Only `formulas`, `names` and `thumbnails` need Sphinx."""
