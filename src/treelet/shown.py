"""What a notebook shows of treelet's objects.

Structures, kernels, models and results declare here that they have a picture or a table. `treelet.report.notebook` makes it
when a notebook displays the object. This is an import to the right, declared in pyproject.toml.
"""

from __future__ import annotations

from typing import Any


class Drawn:
    """Something that notebooks show as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        from treelet.report.notebook import picture

        drawing = picture(self)
        return None if drawing is None else str(drawing)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The text that goes with the picture; a notebook keeps it, so that it must not be as large as the object."""
        from treelet.report.notebook import line

        printer.text(line(self))


class Tabled:
    """Something that notebooks show as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        from treelet.report.notebook import table

        return table(self)


def learnt(estimator: Any) -> str:
    """The table of what an estimator has learned; nothing if it has not been fitted."""
    from treelet.report.notebook import model_table

    return model_table(estimator)
