"""Tiles by other processes of this machine: asked for over a socket, computed in memory that both sides see.

Neither the socket nor the memory has a name in a file system: of processes that die, at whatever moment, nothing is left behind.
"""

from __future__ import annotations

import mmap
import os
import pickle
import selectors
import socket
import struct
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np

from treelet.gram.plan import Block, Tile
from treelet.gram.shipped import Shipped, arrived
from treelet.gram.tiles import Values, fill_tile

SLOTS = 2
"""Tiles that a worker has at once: one that is computed, and one that waits, to be computed or to be taken."""
BLINK = 1.0
"""Seconds between two looks at whether there is still somebody who works."""
_HELLO, _NOTE = struct.Struct("<QQ"), struct.Struct("<II")
_CREDENTIALS = struct.Struct("3i")  # process, user, group


def place() -> tuple[Any, ...] | None:
    """What processes must have in common to reach each other so: a running system, its network, a user. None where none can."""
    if not hasattr(os, "memfd_create") or not hasattr(socket, "SO_PEERCRED"):
        return None
    try:
        with open("/proc/sys/kernel/random/boot_id") as stream:
            return stream.read(), os.stat("/proc/self/ns/net").st_ino, os.getuid()
    except OSError:
        return None


class Desk:
    """Where workers of this machine get tiles, and where their values are taken from.

    A worker computes in memory that is its own and the desk's. What it is about when it dies is given to another one. Only processes
    of the same user are listened to.

    Parameters
    ----------
    shipped : Shipped
        The kernel and its examples.
    blocks : list of Block
        All tiles.
    dtype : dtype
        Of the values.
    """

    def __init__(self, shipped: Shipped, blocks: Sequence[Block], dtype: np.dtype[Any]) -> None:
        self._tiles = [(block.columns, tile) for block in blocks for tile in block.tiles]
        self._dtype = dtype
        self._room = dtype.itemsize * max(tile.shape[0] * tile.shape[1] for _, tile in self._tiles)
        self._waiting, self._seats = deque[int](), set[_Seat]()
        self._selector = selectors.DefaultSelector()
        self.address = f"\0treelet-{uuid.uuid4().hex}"  # no file: such names are the system's, and go with the socket
        self._work = os.memfd_create("treelet examples")
        self._bell, self._rung = socket.socketpair()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            head = pickle.dumps((shipped.token, dtype.str, self._tiles))
            self._hello = _HELLO.pack(len(head), self._room)
            with open(self._work, "wb", closefd=False) as stream:
                stream.write(head)
                stream.write(shipped.packed())
            self._listener.bind(self.address)
            self._listener.listen(128)
            for one in (self._listener, self._rung):
                one.setblocking(False)
                self._selector.register(one, selectors.EVENT_READ)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Nobody is listened to any more; who works here ends. It may be closed twice."""
        if self._work < 0:
            return
        for seat in list(self._seats):
            self._leave(seat)
        self._selector.close()
        for one in (self._listener, self._bell, self._rung):
            one.close()
        os.close(self._work)
        self._work = -1

    def ring(self) -> None:
        """Let the next look come at once; from any thread."""
        with suppress(OSError):
            self._bell.send(b"!")

    def hand_out(self, block: Block, take: Callable[[Tile, Values], object], look: Callable[[], bool]) -> list[Tile]:
        """Let the tiles of a block be computed; `take` gets them one by one.

        `look` is called now and then, and says whether to go on. Given back is what is left undone.
        """
        first = next(n for n, (columns, _) in enumerate(self._tiles) if columns == block.columns)
        left = dict.fromkeys(range(first, first + len(block.tiles)))
        self._waiting = deque(left)
        for seat in self._seats:
            self._give(seat)
        while left and look():
            for key, _ in self._selector.select(BLINK):
                if key.fileobj is self._listener:
                    self._welcome()
                elif key.fileobj is self._rung:
                    self._rung.recv(1 << 12)
                elif (slot := key.data.done()) is None:
                    self._leave(key.data)
                else:
                    number = key.data.given.pop(slot)
                    tile = self._tiles[number][1]
                    take(tile, values_in(key.data.memory, slot * self._room, tile, self._dtype))
                    del left[number]
                    self._give(key.data)
        return [self._tiles[number][1] for number in left]

    def _welcome(self) -> None:
        with suppress(OSError):
            line, _ = self._listener.accept()
            if _user(line) != os.getuid():
                line.close()
                return
            seat = _Seat(line, self._room, self._hello, self._work)
            self._seats.add(seat)
            self._selector.register(line, selectors.EVENT_READ, seat)
            self._give(seat)

    def _give(self, seat: _Seat) -> None:
        """As many tiles as it has slots."""
        for slot in range(SLOTS):
            if slot not in seat.given and self._waiting:
                seat.given[slot] = self._waiting.popleft()
                with suppress(OSError):  # that it is gone is noticed when it is read
                    seat.line.send(_NOTE.pack(seat.given[slot], slot))

    def _leave(self, seat: _Seat) -> None:
        self._waiting.extendleft(seat.given.values())
        self._seats.discard(seat)
        self._selector.unregister(seat.line)
        seat.line.close()


class _Seat:
    """One worker at a desk: a socket, and memory."""

    def __init__(self, line: socket.socket, room: int, hello: bytes, work: int) -> None:
        self.line, self.given = line, dict[int, int]()
        slots = os.memfd_create("treelet tiles")
        try:
            os.ftruncate(slots, SLOTS * room)
            self.memory = mmap.mmap(slots, SLOTS * room)
            socket.send_fds(line, [hello], [work, slots])
        finally:
            os.close(slots)

    def done(self) -> int | None:
        """The slot of a tile that is done; None if there will be none any more."""
        try:
            note = self.line.recv(_NOTE.size)
        except OSError:
            return None
        return _NOTE.unpack(note)[1] if note else None


def values_in(memory: mmap.mmap, place: int, tile: Tile, dtype: np.dtype[Any]) -> Values:
    """The values of a tile at a place in memory."""
    values = np.frombuffer(memory, dtype, tile.shape[0] * tile.shape[1], place)
    return values.reshape(tile.shape)


def _user(line: socket.socket) -> int:
    """Whose process is at the other end."""
    found = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(found)[1])


def serve(address: str) -> None:
    """Compute the tiles that a desk gives out, until it is closed; none if it is on another machine, or closed already."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line, suppress(ConnectionError):
        line.connect(address)
        if _user(line) != os.getuid():
            return
        hello, received, _, _ = socket.recv_fds(line, _HELLO.size, 2)
        try:
            if len(received) != 2:
                return
            size, room = _HELLO.unpack(hello)
            work = mmap.mmap(received[0], 0, access=mmap.ACCESS_READ)
            memory = mmap.mmap(received[1], 0)
        finally:
            for file in received:
                os.close(file)
        token, numbers, tiles = pickle.loads(memoryview(work)[:size])
        shipped, dtype = arrived(token, False, memoryview(work)[size:]), np.dtype(numbers)
        while note := line.recv(_NOTE.size):
            number, slot = _NOTE.unpack(note)
            columns, tile = tiles[number]
            with shipped.stoppable():
                fill_tile(shipped.kernel, shipped.evaluator(columns), tile, values_in(memory, slot * room, tile, dtype))
                line.send(note)
