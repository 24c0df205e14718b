"""Clients of the explorer, over real HTTP connections that are kept: what its page asks, with inputs that are always new."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.load_inputs import Examples

MIX = {"file": 20, "about": 3, "examples": 2, "compare": 40, "curve": 5, "sentence": 8, "why": 4, "judge": 18}
"""Of a hundred requests: a page with its files is opened, a slider is moved, sentences are parsed, trees are shown to the model."""
FILES = ("", "static/main.js", "static/trees.js", "static/tree-view.js", "static/explorer.css", "static/layouts.js")
LATEST = 30.0  # seconds after which an answer is an error


class Client:
    """One connection, which is made again when the server has ended it."""

    def __init__(self, port: int, known: Examples, seed: int) -> None:
        self.port, self.known, self.random = port, known, random.Random(seed)
        self.pipe: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.pair = known.tree(), known.tree()

    def question(self) -> tuple[str, str, bytes]:
        """Return the type, the address and the body of a request."""
        kind = self.random.choices(list(MIX), list(MIX.values()))[0]
        if kind == "file":
            return kind, f"/{self.random.choice(FILES)}", b""
        fields: dict[str, Any] = {}
        if kind in ("compare", "curve"):
            self.pair = self.pair[1], self.known.tree()
            kernel, lam = self.random.choice(["st", "sst", "pt"]), round(self.random.uniform(0.02, 1), 2)
            fields = {"a": self.pair[0], "b": self.pair[1], "kernel": kernel, "lam": lam, "normalized": self.random.random() < 0.3}  # fmt: skip
        elif kind in ("sentence", "why"):
            fields = {"sentence": self.known.sentence(), "k": 10, "a": 0, "b": 1}
        elif kind == "judge":
            fields = {"tree": self.known.tree()}
        return kind, f"/ask/{kind}", json.dumps(fields).encode()

    async def ask(self, address: str, body: bytes) -> tuple[int, bytes]:
        if self.pipe is None:
            self.pipe = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.pipe
        head = f"{'POST' if body else 'GET'} {address} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        writer.write(head.encode() + b"\r\n" + body)
        answered = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(answered.split("content-length: ")[1].split("\r\n")[0])
        content = await reader.readexactly(length)
        if "connection: close" in answered:
            self.close()
        return int(answered.split()[1]), content

    def close(self) -> None:
        if self.pipe is not None:
            self.pipe[1].close()
            self.pipe = None

    async def run(self, end: float, seen: list[tuple[str, float, str]]) -> None:
        """Ask, one question after the other; `seen` gets the kind, the seconds and what went wrong with each."""
        while time.monotonic() < end:
            kind, address, body = self.question()
            begin, wrong = time.monotonic(), ""
            try:
                async with asyncio.timeout(LATEST):
                    status, content = await self.ask(address, body)
                if status != 200:
                    wrong = str(status)
                elif body and b'"error"' in content[:20] and b"one parse only" not in content:
                    wrong = json.loads(content)["error"]["message"][:80]
            except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
                wrong = type(error).__name__
                self.close()
            seen.append((kind, time.monotonic() - begin, wrong))
        self.close()


async def _level(port: int, known: Examples, clients: int, seconds: float) -> list[tuple[str, float, str]]:
    end, seen = time.monotonic() + seconds, list[tuple[str, float, str]]()
    await asyncio.gather(*(Client(port, known, seed).run(end, seen) for seed in range(clients)))
    return seen


def levels(port: int, known: Examples, wanted: list[tuple[int, float]], cpu: Callable[[], float]) -> list[dict[str, Any]]:  # fmt: skip
    """For each number of clients and of seconds: requests a second, how late they are, what went wrong, the server's CPU time."""
    asyncio.run(_warm(port, known))
    rows = []
    for clients, seconds in wanted:
        before, begin = cpu(), time.monotonic()
        seen = asyncio.run(_level(port, known, clients, seconds))
        wall = time.monotonic() - begin
        times = 1e3 * np.array([each for _, each, _ in seen])
        kinds = {kind: 1e3 * np.array([each for other, each, _ in seen if other == kind]) for kind in MIX}
        rows.append(
            {
                "clients": clients, "seconds": wall, "requests": len(seen), "rate": len(seen) / wall, "median_ms": float(np.median(times)),
                "p99_ms": float(np.quantile(times, 0.99)), "worst_ms": float(times.max()), "cpu_ms": 1e3 * (cpu() - before) / len(seen),
                "errors": dict(Counter(wrong for _, _, wrong in seen if wrong)),
                "kinds": {kind: {"requests": len(each), "median_ms": float(np.median(each)), "p99_ms": float(np.quantile(each, 0.99))} for kind, each in kinds.items() if len(each)},
            }
        )  # fmt: skip
        print({key: value for key, value in rows[-1].items() if key != "kinds"}, flush=True)
    return rows


async def _warm(port: int, known: Examples) -> None:
    """The embedded ranker is made when it is first needed, and so is what looks for the nearest trees."""
    client = Client(port, known, 0)
    for what, fields in (("sentence", {"sentence": known.sentence()}), ("judge", {"tree": known.tree()})):
        await client.ask(f"/ask/{what}", json.dumps(fields).encode())
    client.close()
