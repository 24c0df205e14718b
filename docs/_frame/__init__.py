"""Helpers for building the site, used by ``conf.py``. Only `formulas`, `names` and `thumbnails` need Sphinx."""
