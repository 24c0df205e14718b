"""Trace eight typical calls and count how much of treelet each one crosses.

    python tools/roads.py [FOLDER ...]

Each folder is a checkout with its own .venv, whose Python traces that checkout. Each call is traced on its second run,
when all imports are done. The counts are:

- files: modules of the package whose code runs;
- functions: distinct named functions and methods; lambdas and comprehensions count for files and depth only;
- switches: pairs of consecutive calls whose functions belong to different packages. A package is a folder directly
  below ``treelet``; the modules beside these folders count as one package. This count grows with the size of the
  examples, so it can only be compared between runs of this program;
- depth: the largest number of the package's frames on the stack of one thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

TREES = [
    "(S (NP (D the) (N dog)) (VP (V barks)))",
    "(S (NP (D the) (N cat)) (VP (V sleeps)))",
    "(S (NP (D a) (N dog)) (VP (V sees) (NP (D the) (N cat))))",
    "(S (NP (D a) (N cat)) (VP (V sees) (NP (D the) (N dog))))",
]
LABELS = ["dog", "cat", "dog", "cat"]
EXPLAINED = "(VP (V sees) (NP (D the) (N cat)))"
FUNCTION = """\
def NAME(orders, limit):
    total = 0
    for order in orders:
        if order.open and order.price > limit:
            total += order.price * order.count
            total += order.NAME
    for order in orders:
        if order.closed and order.price < limit:
            total -= order.price * order.count
    print(total)
    return round(total, 2)
"""
REQUESTS = ("judge", "model", "predict", "prediction")  # the address of a request for a model, in any version
COUNTS = ("files", "functions", "switches", "depth")


class Tracer:
    """Counts calls of functions below a folder, in all threads that start after `install`."""

    def __init__(self, source: Path) -> None:
        self.source, self.active = f"{source}{os.sep}", False
        self.clear()

    def clear(self) -> None:
        self.files: set[str] = set()
        self.functions: set[Any] = set()
        self.switches, self.depth, self.last_package = 0, 0, ""
        self.stack_sizes: dict[int, int] = {}

    def install(self) -> None:
        sys.setprofile(self)
        threading.setprofile(self)

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if not self.active or event not in ("call", "return") or not code.co_filename.startswith(self.source):
            return
        thread = threading.get_ident()
        size = self.stack_sizes.get(thread, 0) + (1 if event == "call" else -1)
        self.stack_sizes[thread] = max(0, size)
        if event == "return":
            return
        self.depth = max(self.depth, size)
        file = code.co_filename[len(self.source) :]
        self.files.add(file)
        if not code.co_name.startswith("<"):
            self.functions.add(code)
        package = file.split(os.sep)[0] if os.sep in file else "treelet"
        self.switches += self.last_package not in ("", package)
        self.last_package = package

    def counts(self) -> tuple[int, ...]:
        return len(self.files), len(self.functions), self.switches, self.depth

    def trace(self, road: Callable[[], object]) -> tuple[int, ...]:
        """Run the road twice and count the second run."""
        road()
        self.clear()
        self.active = True
        try:
            road()
        finally:
            self.active = False
        return self.counts()


def traced() -> dict[str, tuple[int, ...]]:
    """The counts of all roads, for the treelet that this Python imports."""
    import treelet as tl

    tracer = Tracer(Path(tl.__file__).resolve().parent)
    tracer.install()
    kernel, counts = tl.SubsetTree(), {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trees, matrix, saved = folder / "trees.mrg", folder / "K.npy", folder / "m.treelet"
        tl.Treebank(TREES).write(trees)

        def read_and_compute() -> None:
            matrix.unlink(missing_ok=True)
            tl.gram(kernel, tl.read_trees(trees), out=matrix)

        def learn() -> Any:
            saved.unlink(missing_ok=True)
            model = tl.KernelSVC(kernel.normalized()).fit(TREES, LABELS)
            model.predict(TREES)
            tl.save(model, saved)
            return tl.load(saved)

        counts["kernel(X)"] = tracer.trace(lambda: kernel(TREES))
        counts["read a file, gram to .npy"] = tracer.trace(read_and_compute)
        counts["SVC fit, predict, save, load"] = tracer.trace(learn)
        counts["Nearest.partial_fit, kneighbors"] = tracer.trace(
            lambda: tl.Nearest(kernel.normalized(), n_neighbors=1).partial_fit(TREES).kneighbors(TREES)
        )
        counts["treelet rerank"] = tracer.trace(
            lambda: command(
                "rerank", "--sizes", "40,10,20", "--k", "10", "--lam", "0.3", "--output", str(folder / "report")
            )
        )
        source = folder / "source"
        source.mkdir()
        for stem in ("a", "b"):
            (source / f"{stem}.py").write_text(FUNCTION.replace("NAME", stem), encoding="utf-8")
        counts["treelet clones"] = tracer.trace(lambda: command("clones", str(source), "--jobs", "1"))
        model, tree = learn(), tl.Tree.parse(EXPLAINED)
        counts["tl.explain"] = tracer.trace(lambda: tl.explain(model, tree))
        counts["one explorer request for a model"] = asyncio.run(traced_request(tracer, saved))
    sys.setprofile(None)
    return counts


def command(*arguments: str) -> None:
    """Run a command of treelet in this process, without its output."""
    from treelet.cli.main import main

    with (
        patch.object(sys, "argv", ["treelet", *arguments]),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()) as errors,
    ):
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise SystemExit(f"treelet {arguments[0]} failed: {errors.getvalue()}") from end


async def traced_request(tracer: Tracer, model: Path) -> tuple[int, ...]:
    """Send the request for a tree's prediction, its explanation and its nearest trees twice, and count the second one."""
    app, port = explorer(model)
    address = ""
    for address in (f"/ask/{name}" for name in REQUESTS):
        if await posted(app, port, address) == 200:
            break
    else:
        raise SystemExit("the explorer has another address for a model's prediction: add it to REQUESTS")
    tracer.clear()
    tracer.active = True
    try:
        await posted(app, port, address)
    finally:
        tracer.active = False
    return tracer.counts()


def explorer(model: Path) -> tuple[Any, int]:
    """The web application that ``treelet explore`` would serve, and its port. Nothing is served."""
    import uvicorn

    from treelet.cli.main import main

    made: list[Any] = []
    init, errors = uvicorn.Config.__init__, io.StringIO()

    def remember(self: Any, app: Any, *args: Any, **options: Any) -> None:
        made.append(app)
        init(self, app, *args, **options)

    with (
        patch.object(uvicorn.Config, "__init__", remember),
        patch.object(uvicorn.Server, "run"),
        patch.object(sys, "argv", ["treelet", "explore", str(model), "--no-browser", "--port", "0"]),
        contextlib.redirect_stderr(errors),
        contextlib.suppress(SystemExit),
    ):
        main()
    address = re.search(r"http://[\w.]+:(\d+)/", errors.getvalue())
    if not made or address is None:
        raise SystemExit(f"treelet explore did not start: {errors.getvalue()}")
    return made[0], int(address[1])


async def posted(app: Any, port: int, path: str) -> int:
    """The status of a response to a POST request."""
    body = json.dumps({"tree": EXPLAINED}).encode()
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not messages:
            await asyncio.sleep(3600)
        return messages.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = {"host": f"127.0.0.1:{port}", "content-type": "application/json", "content-length": str(len(body))}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", port),
    }
    await app(scope, receive, send)
    status = int(sent[0]["status"])
    answer = json.loads(b"".join(message.get("body", b"") for message in sent[1:]))
    if status == 200 and "error" in answer:
        raise SystemExit(f"the explorer refused the request: {answer['error']}")
    return status


def main() -> None:
    if sys.argv[1:] == ["--trace"]:
        warnings.simplefilter("ignore")
        print(json.dumps(traced()))
        return
    folders = sys.argv[1:] or ["."]
    columns = []
    for folder in folders:
        command = [str(Path(folder).resolve() / ".venv" / "bin" / "python"), str(Path(__file__).resolve()), "--trace"]
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder)
        columns.append(json.loads(run.stdout.splitlines()[-1]))
    print("| road | " + " | ".join(f"{count}, {folder}" for count in COUNTS for folder in folders) + " |")
    print("|---|" + "---:|" * (len(COUNTS) * len(folders)))
    for road in columns[0]:
        cells = [str(column[road][at]) for at in range(len(COUNTS)) for column in columns]
        print(f"| {road} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
