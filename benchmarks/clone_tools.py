"""Runs of treelet, pyscn and jscpd on a folder: what they report, and the time and memory of the process tree."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tarfile
import time
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

SUFFIXES = {"python": ".py", "javascript": ".js", "c": ".c", "java": ".java"}


class Package(NamedTuple):
    """A release of a package. `kind` is "wheel", "sdist" or "npm"; `folder` is the part of it with the sources."""

    kind: str
    name: str
    version: str
    sha256: str
    folder: str = ""

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"


PYTHON = (
    Package("wheel", "django", "5.2", "91ceed4e3a6db5aedced65e3c8f963118ea9ba753fc620831c77074e620e7d83"),
    Package("wheel", "networkx", "3.4.2", "df5d4365b724cf81b8c6a7312509d0c22386097011ad1abe274afd5e9d3bbc5f"),
    Package("wheel", "docutils", "0.21.2", "dafca5b9e384f0e419294eb4d2ff9fa826435bf15f15b7bd45723e8ad76811b2"),
    Package("wheel", "werkzeug", "3.1.3", "54b78bf3716d19a65be4fceccc0d1d7b89e608834989dfae50ea87564639213e"),
    Package("wheel", "rich", "14.0.0", "1c9491e1951aac09caffd42f448ee3d04e58923ffe14993f6e83068dc395d7e0"),
    Package("wheel", "jinja2", "3.1.6", "85ece4451f492d0c13c5dd7c13a64681a86afae63a5f347908daf103ce6d2f67"),
    Package("wheel", "click", "8.1.8", "63c132bbbed01578a06712a2d1f497bb62d9c1c0d329b7903a866228027263b2"),
    Package("wheel", "requests", "2.32.3", "70761cfe03c773ceb22aa2f671b4757976145175cdfca038c02654d061d6dcc6"),
)
JAVASCRIPT = (
    Package("npm", "eslint", "9.25.1", "b07029c0b182403d7a12352356871658b51d70f20d9fcd3b2d04b6e8c447601c", "lib"),
    Package("npm", "webpack", "5.99.6", "a76b8e4fd4a508734ade13acfab6fbba628a19cdc45fce0ac48295b02c993b8b", "lib"),
    Package("npm", "mongoose", "8.14.0", "093015b2a172b2c57d1fc96532661332a8ac8256f822bfc71aa3cdf4cce81247", "lib"),
    Package("npm", "knex", "3.1.0", "2bc4381e4c1d47673b30c2ed464e538bfd1976be1238bfb0085ae601e16157eb", "lib"),
    Package("npm", "mysql2", "3.14.0", "5fa60d03f86cffb7080aa040a88c967c0f1167e377bab19d4432d3a8fe1f1429", "lib"),
    Package("npm", "mocha", "11.1.0", "78fbb301cba604bba2b500217b47935b664cd954c5831c86c8b3835d9ff435ba", "lib"),
    Package("npm", "leaflet", "1.9.4", "84c65a256e50657896f54c33bd857b6849ebe94c817803be818bf32a3dde0b77", "src"),
    Package("npm", "three", "0.175.0", "44d1b679ef9034057d9a1e43b6aa7e1af76397b5d31a128233c6f94b5619c67a", "src"),
    Package("npm", "ws", "8.18.1", "d43c9b82c88e584eca3af60ad3bc24b4690db15760cc20297aa20f26e581de96", "lib"),
    Package("npm", "express", "5.1.0", "dd6bdb4d4e54d520c78443d5c35aa4ae552be1837e8650d2ec1641df99393e1b", "lib"),
)
C = (
    Package("sdist", "psutil", "7.0.0", "7be9c3eba38beccb6495ea33afd982a44074b78f28c434a1f51cc07fd315c456", "psutil"),
    Package("sdist", "cffi", "1.17.1", "1c39c6016c32bc48dd54561950ebd6836e1670f2ae46128f67cf49e789c52824", "src"),
    Package("sdist", "brotli", "1.1.0", "81de08ac11bcb85841e440c13611c00b67d3bf82698314928d0b676362546724", "c"),
    Package("sdist", "pillow", "11.2.1", "a64dd61998416367b7ef979b73d3a85853ba9bec4c2925f74e588879a58716b6", "src"),
    Package("sdist", "psycopg2-binary", "2.9.10", "4b3df0e6990aa98acda57d983942eff13d824135fe2250e6522edaa782a06de2", "psycopg"),
    Package("sdist", "hiredis", "3.1.0", "51d40ac3611091020d7dea6b05ed62cb152bff595fa4f931e7b6479d777acf7c", "vendor"),
    Package("sdist", "pynacl", "1.5.0", "8ac7448f09ab85811607bdd21ec2464495ac8b7c66d146bf545b0f08fb9220ba", "src/libsodium/src"),
    Package("sdist", "uvloop", "0.21.0", "3bf12b0fda68447806a7ad847bfa591613177275d35b6724b1ee573faa3704e3", "vendor/libuv/src"),
    Package("sdist", "ujson", "5.10.0", "b3cd8f3c5d8c7738257f1018880444f7b7d9b66232c64649f562d7ba86ad4bc1"),
    Package("sdist", "zstandard", "0.23.0", "b2d8c62d08e7255f68f7a740bae85b3c9b8e5466baa9cbf7f57f1cde0ac6bc09", "c-ext"),
    Package("sdist", "regex", "2024.11.6", "7ab159b063c52a0333c884e4679f8d7a85112ee3078fe3d9004b2dd875585519", "regex_3"),
)  # fmt: skip
JAVA = (
    Package("npm", "react-native", "0.70.15", "937d2850f71d42ed4341f0229dc132b95f20c52af290a8557a072e07c2c3d310", "ReactAndroid"),
    Package("npm", "react-native-navigation", "7.37.2", "5092f6c905b3681be543d03ee97bcf4357bf0cdb1228264be42b8a546bc8ca41", "lib"),
    Package("npm", "react-native-svg", "15.11.2", "710102bf24130023335220598db8a415a23628eb84143bb92eddb2596531f4c1", "android"),
    Package("npm", "react-native-camera", "4.2.1", "7dba2e81a7661d45902053b1054951662d982a97649fb60e1e3a79b772e89f3d", "android"),
    Package("npm", "cordova-android", "13.0.0", "0f5f6800ea1b174763a737459754a954b9d4bc9615c6ac56450d6c3f8ad64d3d", "framework"),
    Package("npm", "@capacitor/android", "6.2.0", "b9d0e2bbd643f32598fbf75ea10d94ee8f9cdadc32e4801bec2ce53c7e7c01c8", "capacitor"),
    Package("npm", "react-native-maps", "1.18.0", "b32336645b738facfc49e39f026a452d55d6f0ea58d8601169e0af3d093b1d54", "android"),
    Package("npm", "react-native-ble-plx", "3.2.1", "c238e0f200a5267a7573164f74bff7129297064588eb0191059e0cd977891981", "android"),
    Package("npm", "react-native-blob-util", "0.19.11", "5205d764afa8034d5e62b9e1dbd21925bb02cb099836037f94eca47f1727653c", "android"),
    Package("npm", "react-native-sqlite-storage", "6.0.1", "49ef2dadd408c260530d9585939bc34219b50ea7380055029d75561f824b363f", "platforms"),
    Package("sdist", "jpype1", "1.5.2", "74a42eccf21d30394c1832aec3985a14965fa5320da087b65029d172c0cec43b", "native"),
)  # fmt: skip
LARGE = (
    PYTHON[0],
    Package("wheel", "sympy", "1.14.0", "e091cc3e99d2141a0ba2847328f5479b05d94a6635cb96148ccb3f34671bd8f5"),
    Package("wheel", "pandas", "2.2.3", "c124333816c3a9b03fbeef3a9f230ba9a737e9e5bb4060aa2107a86cc0a497fc"),
    Package("wheel", "twisted", "24.11.0", "fe403076c71f04d5d2d789a755b687c5637ec3bcd3b2b8252d76f2ba65f54261"),
    Package("wheel", "homeassistant", "2024.3.3", "6e1ec2c07441d63fdcfb8acd2c4bbb6f68bc97330855784d3623d10c38fe3577"),
    Package("wheel", "scipy", "1.14.1", "fef8c87f8abfb884dac04e97824b61299880c43f4ce675dd2cbeadd3c9b466d2"),
    Package("wheel", "scikit-learn", "1.5.2", "f8b0ccd4a902836493e026c03256e8b206656f91fbcc4fde28c57a5b752561f1"),
    Package("wheel", "matplotlib", "3.9.2", "8912ef7c2362f7193b5819d17dae8629b34a95c58603d781329712ada83f9447"),
    Package("wheel", "apache-airflow", "2.10.3", "6fb101dab139b3b6d739c04f3e390c8676478f94a9116a298fcc55a0a62e6dd6"),
    Package("wheel", "spyder", "6.0.1", "b5fe458417772bb5866144efb7e6afd53a1d5a8de889e8d6d08ea0fc5e6583bf"),
    Package("wheel", "sqlalchemy", "2.0.36", "2519f3a5d0517fc159afab1015e54bb81b4406c278749779be57a569d8d1bb0d"),
    Package("wheel", "numpy", "2.1.3", "bc6f24b3d1ecc1eebfbf5d6051faa49af40b03be1aaa781ebdadcbc090b4539b"),
    Package("wheel", "statsmodels", "0.14.4", "e332c2d9b806083d1797231280602340c5c913f90d4caa0213a6a54679ce9331"),
    Package("wheel", "dask", "2024.11.2", "6115c4b76015e8d9d9c2922b6a0a1c850e283fb7fee74eebbd2e28e9c117c30d"),
    Package("wheel", "mypy", "1.13.0", "20c7ee0bc0d5a9595c46f38beb04201f2620065a93755704e141fcac9f59db2b"),
)
"""Python packages that have, with the standard library, more than 100,000 functions to compare."""
PACKAGES = {"python": PYTHON, "javascript": JAVASCRIPT, "c": C, "java": JAVA}
VENDORED = {"vendor", "thirdparty", "_vendor", "vendored"}
"""Folders whose name is dropped: tools leave them out, but here they contain the code to compare."""
PYSCN = Package("wheel", "pyscn", "1.33.0", "")
JSCPD = Package("npm", "jscpd", "5.3.3", "")


def _fetched(package: Package, folder: Path) -> Path:
    """Return the archive of a package, fetched if it is missing."""
    target = folder / "archives" / f"{package.kind}-{package.name}-{package.version}"
    target.mkdir(parents=True, exist_ok=True)
    if not any(target.iterdir()):
        wanted = f"{package.name}=={package.version}"
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", ".", wanted]
        commands = {
            "npm": ["npm", "pack", "--silent", f"{package.name}@{package.version}"],
            "wheel": [*pip, "--only-binary", package.name, "--python-version", "3.11"],
            "sdist": [*pip, "--no-binary", package.name],
        }
        subprocess.run(commands[package.kind], cwd=target, check=True)
    (archive,) = target.iterdir()
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if package.sha256 and digest != package.sha256:
        raise SystemExit(f"{archive}: the checksum of {package.title} is {digest}, expected {package.sha256}.")
    return archive


def source_texts(package: Package, folder: Path, suffix: str) -> dict[str, str]:
    """Return the sources of a package by path, without minified, generated and undecodable files."""
    archive = _fetched(package, folder)
    data: dict[str, bytes] = {}
    if package.kind == "wheel":
        with zipfile.ZipFile(archive) as wheel:
            data = {name: wheel.read(name) for name in wheel.namelist() if name.endswith(suffix)}
    else:
        with tarfile.open(archive) as files:
            for entry in files:
                inner = PurePosixPath(*PurePosixPath(entry.name).parts[1:])
                if entry.isfile() and inner.suffix == suffix and inner.is_relative_to(package.folder or "."):
                    data[str(inner)] = files.extractfile(entry).read()  # type: ignore[union-attr]
    texts = {}
    for name, content in sorted(data.items()):
        try:
            text = content.decode()
        except UnicodeDecodeError:
            continue
        if len(content) < 1_000_000 and max(map(len, text.splitlines()), default=0) < 1000 and "\0" not in text:
            parts = [part for part in PurePosixPath(name).parts if part not in VENDORED]
            texts["/".join([package.name, *parts])] = text
    return texts


def standard_library() -> dict[str, str]:
    """Return the sources of Python's standard library, with its tests, by path."""
    root = Path(sysconfig.get_path("stdlib"))
    texts = {}
    for path in sorted(root.rglob("*.py")):
        inner = path.relative_to(root)
        if "site-packages" not in inner.parts:
            try:
                texts[f"stdlib/{inner}"] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
    return texts


def tool(package: Package, folder: Path) -> Path:
    """Return the program of a tool, installed if it is missing."""
    place = folder / "tools" / f"{package.name}-{package.version}"
    if not place.exists():
        place.mkdir(parents=True)
        if package.kind == "npm":
            subprocess.run(
                ["npm", "install", "--silent", "--prefix", ".", f"{package.name}@{package.version}"],
                cwd=place, check=True,
            )  # fmt: skip
        else:
            with zipfile.ZipFile(_fetched(package, folder)) as wheel:
                wheel.extractall(place)
    (program,) = [*place.glob("node_modules/jscpd-*/bin/jscpd"), *place.glob("pyscn/bin/pyscn-linux-amd64")]
    program.chmod(0o755)
    return program


TYPE_3_PYSCN = """[clones]
enabled_clone_types = ["type1", "type2", "type3", "type4"]
"""
NEAR_MISS_JSCPD = "--ignore-identifiers --ignore-literals --max-gap-lines 2"
"""Settings for renamed copies and copies with gaps, in jscpd's documentation."""
SIMILAR_JSCPD = " --similarity 0.7"  # only for JavaScript
TOOLS = {
    "treelet": "treelet clones FOLDER --json -j 2",
    "treelet, 0.5": "treelet clones FOLDER --json -j 2 --similarity 0.5",
    "treelet, 0.8": "treelet clones FOLDER --json -j 2 --similarity 0.8",
    "pyscn": "pyscn analyze FOLDER --select clones --json -o FILE",
    "pyscn, type 3": "pyscn analyze FOLDER --select clones --json -o FILE -c type3.toml",
    "jscpd": "jscpd FOLDER --absolute --silent --reporters json -o FILE",
    "jscpd, near-miss": f"jscpd FOLDER --absolute --silent --reporters json -o FILE {NEAR_MISS_JSCPD}{SIMILAR_JSCPD}",
}
"""The commands, as a user would write them."""


class Range(NamedTuple):
    """Lines of a file, both included."""

    file: str
    first: int
    last: int


class Run(NamedTuple):
    """The result of one command. `groups` are the reported groups; in `pairs`, each pair was compared by the tool itself."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    finished: bool
    groups: list[list[Range]]
    pairs: list[tuple[Range, Range]]


def _tree_bytes(root: int) -> int:
    """Return the resident memory of a process and its descendants. Shared pages count several times."""
    children: dict[int, list[int]] = {}
    resident: dict[int, int] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                stat = Path(entry.path, "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(stat[1]), []).append(int(entry.name))
            resident[int(entry.name)] = int(stat[21]) * os.sysconf("SC_PAGE_SIZE")
    total, stack = 0, [root]
    while stack:
        process = stack.pop()
        total += resident.get(process, 0)
        stack += children.get(process, ())
    return total


MOST_MEMORY = 16 << 30
"""Bytes at which a command is stopped."""


def measured(command: list[str], output: Path | None = None, limit: float = 600) -> tuple[float, float, int, bool]:
    """Run a command. Return the wall-clock seconds, the CPU seconds, the peak memory, and whether it ended within the limits."""
    before = os.times()
    begin = time.monotonic()
    with open(output or os.devnull, "wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.DEVNULL, start_new_session=True)
        peak, finished = 0, True
        while process.poll() is None:
            peak = max(peak, _tree_bytes(process.pid))
            if time.monotonic() - begin > limit or peak > MOST_MEMORY:
                os.killpg(process.pid, signal.SIGKILL)
                finished = False
                process.wait()
            time.sleep(0.05)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - begin, cpu, peak, finished and process.returncode in (0, 1)


def run(name: str, target: Path, folder: Path, language: str = "python", limit: float = 600) -> Run:
    """Run a tool of `TOOLS` on the folder `target`. Programs and outputs are in `folder`."""
    program = name.partition(",")[0]
    output = folder / "output" / f"{name.replace(', ', '-').replace(' ', '')}-{os.getpid()}"
    output.parent.mkdir(exist_ok=True)
    words = TOOLS[name].replace("FOLDER", str(target)).replace("FILE", str(output)).split()
    if program == "treelet":
        words = [str(Path(sys.executable).parent / "treelet"), *words[1:], "--no-progress"]
        figures = measured(words, output, limit)
        file = output
    elif program == "pyscn":
        (folder / "output" / "type3.toml").write_text(TYPE_3_PYSCN, encoding="utf-8")
        words = [str(tool(PYSCN, folder)), *words[1:]]
        words = [str(folder / "output" / word) if word.endswith(".toml") else word for word in words]
        figures = measured(words, None, limit)
        file = output
    else:
        if language != "javascript" and SIMILAR_JSCPD in TOOLS[name]:
            words = words[:-2]
        figures = measured([str(tool(JSCPD, folder)), *words[1:], "--format", language], None, limit)
        file = output / "jscpd-report.json"
    if not figures[-1] or not file.exists():
        return Run(*figures[:3], False, [], [])
    return Run(*figures, *READERS[program](json.loads(file.read_bytes()), str(target)))


def _relative(file: str, target: str) -> str:
    return os.path.relpath(os.path.join(os.getcwd(), file), target)


def _of_treelet(report: Any, target: str) -> tuple[list[list[Range]], list[tuple[Range, Range]]]:
    groups, pairs = [], []
    for family in report["families"]:
        members = [Range(_relative(m["file"], target), m["line"], m["end_line"]) for m in family["members"]]
        groups.append(members)
        medoid = members[family["medoid"]]
        pairs += [(medoid, member) for member in members if member is not medoid]
    return groups, pairs


def _of_pyscn(report: Any, target: str) -> tuple[list[list[Range]], list[tuple[Range, Range]]]:
    def place(clone: Any) -> Range:
        at = clone["location"]
        return Range(_relative(at["file_path"], target), at["start_line"], at["end_line"])

    found = report.get("clone") or report
    pairs = [(place(pair["clone1"]), place(pair["clone2"])) for pair in found.get("clone_pairs") or ()]
    groups = [[place(clone) for clone in group["clones"]] for group in found.get("clone_groups") or ()]
    return groups + [list(pair) for pair in pairs], pairs


def _of_jscpd(report: Any, target: str) -> tuple[list[list[Range]], list[tuple[Range, Range]]]:
    def place(side: Any) -> Range:
        return Range(_relative(side["name"], target), side["start"], side["end"])

    pairs = [(place(pair["firstFile"]), place(pair["secondFile"])) for pair in report["duplicates"]]
    return [list(pair) for pair in pairs], pairs


READERS = {"treelet": _of_treelet, "pyscn": _of_pyscn, "jscpd": _of_jscpd}
