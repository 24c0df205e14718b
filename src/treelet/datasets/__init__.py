"""Example data: a generator of trees that is always available."""

from treelet.datasets.flights import flights, flights_split

__all__ = ["flights", "flights_split"]
