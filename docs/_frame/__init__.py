"""What the documentation's site is made with, beside Sphinx: see ``conf.py``. Nothing here needs Sphinx but `frame.maths`."""
