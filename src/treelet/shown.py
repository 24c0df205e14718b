"""Base classes of objects that notebooks display as a picture or a table.

`treelet.report.notebook` creates the picture or table when a notebook displays the object. The
layers of the project do not normally allow this import; pyproject.toml lists it as an exception.
"""

from __future__ import annotations

from typing import Any


class Drawn:
    """Base class of objects that notebooks display as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        from treelet.report.notebook import picture

        drawing = picture(self)
        return None if drawing is None else str(drawing)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the text that goes with the picture. It is short because the notebook stores it."""
        from treelet.report.notebook import line

        printer.text(line(self))


class Tabled:
    """Base class of objects that notebooks display as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        from treelet.report.notebook import table

        return table(self)


def learnt(estimator: Any) -> str:
    """Return an HTML table of a fitted estimator, or "" if the estimator is not fitted."""
    from treelet.report.notebook import table

    return table(estimator) or ""
