"""Connections that do not wait for ever: a request that does not come, or an answer that nobody takes, holds no place.

uvicorn waits without an end for the head of a request, and refuses whoever comes when all places are taken: a few dozen silent
connections would lock everybody out. Here each has its time, and when there is no room the one that has waited longest makes it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 5.0  # for the head of a request to come, and for an answer to be taken
PLACES = 256  # connections at once


class Connection(H11Protocol):
    """One connection, from its first request to its last. h11 reads heads of at most 64 KiB."""

    seconds, places = SECONDS, PLACES
    _timer: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > self.places:
            others = (one for one in self.connections if isinstance(one, Connection) and one.is_waiting())
            min(others, key=lambda one: one._since).drop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._answers():
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()  # and perhaps the next request, which has come already
        if not self._answers():
            self._wait()

    def is_waiting(self) -> bool:
        """Whether it waits for its client: for a request, the rest of one, or an answer to be taken."""
        return not self._answers() or self.cycle.more_body

    def drop(self) -> None:
        """End it now, whatever was still to be sent."""
        self._stop_waiting()
        self.connections.discard(self)
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _answers(self) -> bool:
        """Whether there is a request, which has limits of its own."""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._stop_waiting()
        self._since = self.loop.time()
        self._timer = self.loop.call_later(self.seconds, self.drop)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
