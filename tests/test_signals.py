"""Commands that are killed: their messages, exit codes and remaining files."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from sklearn.svm import SVC

import treelet as tl
from conftest import make_link, posix
from treelet import work
from treelet.cli import interrupted
from treelet.formats import files
from treelet.formats.files import open_target, temporary_name

pytestmark = pytest.mark.serial

WORKING = """
import sys, threading, time
import treelet as tl
bank = tl.Treebank(["(S " + " ".join(f"(A{n % 7} (B{m % 5} w{n * m % 11}))" for n in range(40)) + ")" for m in range(200)])
def work():
    while True:
        tl.PartialTree()(bank)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
sys.exit(143)
"""


def test_threads_that_compute_do_not_abort_a_process_that_ends() -> None:
    ended = subprocess.run([sys.executable, "-c", WORKING], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (143, "")


LOADING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.argv = ["treelet", "compare", "(A a)", "(A a)"]
from treelet.cli import main
main()
"""


@posix
@pytest.mark.parametrize("name", ["typer", "treelet.cli.compare", "numpy", "treelet.kernels.base"])
def test_an_interrupt_while_modules_are_loaded_is_one_line(name: str) -> None:
    command = [sys.executable, "-c", LOADING.format(name=name)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr, ended.stdout) == (130, "treelet: interrupted\n", "")


def test_an_error_that_comes_from_an_interrupt_is_one() -> None:
    broken = ImportError("a module is broken")
    assert not interrupted(broken)
    broken.__context__ = RuntimeError()
    broken.__context__.__cause__ = KeyboardInterrupt()
    assert interrupted(broken)


KILLED = """
import os, signal, sys
from treelet.formats.files import open_target
with open_target(sys.argv[1]) as stream:
    stream.write("half")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@posix
def test_what_a_killed_run_left_goes_away_after_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, other = tmp_path / "a.txt", tmp_path / "a.txt.b"
    subprocess.run([sys.executable, "-c", KILLED, str(target)], capture_output=True, timeout=120, check=False)
    (left,) = os.listdir(tmp_path)
    assert re.fullmatch(r"\.a\.txt\.[0-9a-f]{16}\.tmp", left)
    with open_target(target) as stream:  # the file could belong to a process that still writes
        stream.write("new")
    assert sorted(os.listdir(tmp_path)) == [left, "a.txt"]
    monkeypatch.setattr(files, "_STALE", -1)
    with open_target(other) as stream:  # another target of which the first one's name is the beginning
        stream.write("other")
    assert left in os.listdir(tmp_path)
    with open_target(target) as stream:
        stream.write("newer")
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "a.txt.b"]


def test_only_temporary_files_of_the_same_target_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, precious = tmp_path / "K.npy", tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x", encoding="utf-8")
    names = [".K.npy.0123.tmp", ".K.npy.part", "K.npy", f".K.npyx.{'0' * 16}.tmp", "precious"]
    for name in names[:-1]:
        (tmp_path / name).write_text("", encoding="utf-8")
    make_link(tmp_path / f".K.npy.{'1' * 16}.tmp", precious)
    (temporary_name(target) / "c").mkdir(parents=True)  # a folder, such as an index
    monkeypatch.setattr(files, "_STALE", -1)
    temporary_name(target)
    assert sorted(os.listdir(tmp_path)) == sorted(names)
    assert (precious / "file").exists()


@posix
def test_told_twice_to_end_it_ends_at_once(tmp_path: Path) -> None:
    script = "import signal, os, sys, time\nfrom treelet.cli.main import _terminated\n"
    script += "signal.signal(signal.SIGTERM, _terminated)\n"
    script += "try:\n    os.kill(os.getpid(), signal.SIGTERM)\n    time.sleep(600)\n"
    script += "finally:\n    os.kill(os.getpid(), signal.SIGTERM)\n    time.sleep(600)\n"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (143, "")


# Python drops exceptions in callbacks of weak references, as importlib has, and in finalizers. Modules may catch them.
DROPPING = """
import os, signal, sys, time, weakref
class Target: pass
def terminate(*_):
    os.kill(os.getpid(), signal.SIGTERM)
def in_callback():
    target = Target()
    kept = weakref.ref(target, terminate)
    del target
    time.sleep(600)  # work that ends when the exception is raised again
def in_finalizer():
    Target.__del__ = terminate
    Target()
def in_module():
    try:
        terminate()
    except BaseException:
        raise ImportError("this module is broken")
class Terminating:
    def find_spec(self, name, path=None, target=None):
        if name == "treelet.fragments.occurrences":
            sys.meta_path.remove(self)
            {where}()
sys.meta_path.insert(0, Terminating())
sys.argv = ["treelet", "compare", "(A a)", "(A a)"]
from treelet.cli import main
main()
"""


@posix
@pytest.mark.parametrize("where", ["in_callback", "in_finalizer", "in_module"])
def test_a_signal_whose_exception_is_dropped_ends_the_command(where: str) -> None:
    command = [sys.executable, "-c", DROPPING.format(where=where)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (143, "")


# --- work that cannot be stopped ----------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_leaves_libsvm_behind(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    trees, labels = tl.SubsetTree()(["(A a)", "(B b)", "(C c)", "(A (B b))"]), ["x", "y", "z", "x"]
    model = tl.KernelSVC("precomputed", n_jobs=n_jobs).fit(trees, labels)
    before = model.decision_function(trees).tolist()
    solve, started, go_on, ended = SVC.fit, threading.Event(), threading.Event(), threading.Event()

    def long(self: Any, *args: Any, **options: Any) -> Any:
        if not started.is_set():
            started.set()
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        go_on.wait(60)
        ended.set()
        return solve(self, *args, **options)

    monkeypatch.setattr(SVC, "fit", long)
    with pytest.raises(KeyboardInterrupt):
        model.fit(trees, labels[::-1])
    assert started.is_set()
    assert not ended.is_set()
    go_on.set()
    for thread in threading.enumerate():
        if thread.name == "treelet work":
            thread.join(60)
    assert ended.is_set()
    assert not work._left()
    assert model.decision_function(trees).tolist() == before


@posix
def test_a_command_exits_at_once_while_a_machine_is_trained(tmp_path: Path) -> None:
    """The signal arrives inside the native solver, which would need about forever."""
    (tmp_path / "trees.tsv").write_text("x\t(A a)\ny\t(B b)\n", encoding="utf-8")
    program = (
        "import os, signal, sys, threading\n"
        "import numpy as np\n"
        "from treelet import _core\n"
        "from treelet.cli import main\n"
        "solve = _core.smo\n"
        "def endless(*args):\n"
        "    threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()\n"
        "    rng, n = np.random.default_rng(0), 2000\n"
        "    points = rng.normal(size=(n, 1))\n"
        "    K = np.exp(-1e-3 * (points - points.T) ** 2).astype(np.float32)\n"
        "    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)\n"
        "    bounds = np.where(y > 0, 0, -1e9), np.where(y > 0, 1e9, 0)\n"
        "    return solve(K, np.ones(n), *bounds, 0.0, True, np.zeros(n), -y, 1e-12, 10**12)\n"
        "_core.smo = endless\n"
        f"sys.argv = ['treelet', 'train', {str(tmp_path / 'trees.tsv')!r}, '-o', {str(tmp_path / 'model')!r}]\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 130
    assert done.stderr.endswith("treelet: interrupted\n")
    assert not (tmp_path / "model").exists()


LEAVING = """
import atexit, io, os, signal, sys, threading
atexit.register(lambda: print("registered before treelet"))
out = open("results.txt", "w")
out.write("precious")
from sklearn.svm import SVC
import treelet as tl
from treelet import work
atexit.register(lambda: print("registered after treelet"))
go_on = threading.Event()
def long(self, *args, **options):
    os.kill(os.getpid(), signal.SIGINT)
    go_on.wait()
SVC.fit = long
def fit():
    tl.KernelSVC("precomputed").fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
"""
CATCHING = """
try:
    fit()
except KeyboardInterrupt:
    pass
"""
WAITING = """
class Told(io.StringIO):
    def write(self, text):
        sys.__stderr__.write(text)
        if "Waiting" in text:
            {}
sys.stderr = Told()
sys.exit(3)
"""
FORKING = """
out.flush()
pid = os.fork()
if not pid:
    sys.exit(4)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4
print("the child ended", flush=True)
raise ValueError
"""


@posix
@pytest.mark.parametrize(
    ("program", "code", "output"),
    [
        ("fit()", 130, ""),
        (CATCHING + WAITING.format("go_on.set()"), 3, ""),  # libsvm ends
        (CATCHING + WAITING.format("os.kill(os.getpid(), signal.SIGINT)"), 130, ""),
        (CATCHING + "work.leave(3)", 3, ""),
        (CATCHING + FORKING, 1, "registered after treelet\nregistered before treelet\nthe child ended\n"),
    ],
)
def test_nothing_is_lost_if_a_process_exits_while_libsvm_runs(
    program: str, code: int, output: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", LEAVING + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert done.stdout == output + "registered after treelet\nregistered before treelet\n"
    assert (tmp_path / "results.txt").read_text(encoding="utf-8") == "precious"
    assert ("Waiting for libsvm" in done.stderr) == ("Waiting" in program)


def test_an_interrupt_before_the_thread_starts_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        work.abandonable(lambda: None)
    assert not work._left()
