"""Example data: a generator of trees that is always available."""

from treelet.datasets.travel import FlightsSplit, flights, flights_split

__all__ = ["FlightsSplit", "flights", "flights_split"]
