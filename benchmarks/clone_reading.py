"""Blind reading of pairs that clone detectors report: draw a sample, and collect the verdicts of the readers.

``draw`` writes numbered text files without the names of the tools, and a key elsewhere. ``collect`` reads the verdicts of all
readers and writes them, with the tools, to clone_labels.json.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from pathlib import Path
from typing import Any

from benchmarks.common import Results

LABELS = Path(__file__).with_name("clone_labels.json")
SEED, SAMPLE, BATCH, SHOWN_LINES = 45, 60, 40, 40
READ_TOOLS = ("treelet", "pyscn", "pyscn, type 3", "jscpd")
RULE = (
    "A pair is *real* if both parts are the same code with small differences, so that one function with parameters could "
    "replace them, or a change of one would probably be needed in the other. Parts that share only documentation, license "
    "texts, imports, or a pattern of two or three statements are not real."
)
INSTRUCTIONS = f"""{RULE.replace("*", "")}

Each batch contains numbered pairs of code parts with file and lines. Long parts are cut after {SHOWN_LINES} lines.
Judge each pair by itself. Write one JSON file per batch: a list of
  {{"pair": 17, "real": true, "reason": "at most ten words"}}
with one entry per pair of the batch.
"""


def shown(root: Path, place: list[Any]) -> str:
    """Return the lines of a part of a file, with file name and line numbers."""
    file, first, last = place
    lines = (root / file).read_text(encoding="utf-8", errors="replace").split("\n")[first - 1 : last]
    text = [f"--- {file.removeprefix('packages/')}, lines {first}-{last}"]
    text += [f"{first + at:5} {line.rstrip()[:200]}" for at, line in enumerate(lines[:SHOWN_LINES])]
    if len(lines) > SHOWN_LINES:
        text.append(f"      ... {len(lines) - SHOWN_LINES} more lines")
    return "\n".join(text)


def draw(corpora: Path, batches: Path, key: Path) -> int:
    """Write the batches and the key, from the pairs that ``python -m benchmarks.clones truth`` left in `corpora`."""
    rng = random.Random(SEED)
    pairs: list[Results] = []
    for file in sorted((corpora / "output").glob("truth-*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["tool"] in READ_TOOLS:
            every = sorted(found["pairs"])
            for sides in rng.sample(every, min(SAMPLE, len(every))):
                rng.shuffle(sides)  # the order of the parts does not reveal the tool either
                pairs.append(
                    {"language": found["language"], "tool": found["tool"], "first": sides[0], "second": sides[1]}
                )
    rng.shuffle(pairs)
    batches.mkdir(parents=True, exist_ok=True)
    key.parent.mkdir(parents=True, exist_ok=True)
    (batches / "RULES.txt").write_text(INSTRUCTIONS, encoding="utf-8")
    count = math.ceil(len(pairs) / BATCH)
    for batch in range(count):
        texts = []
        for number in range(batch * BATCH, min((batch + 1) * BATCH, len(pairs))):
            pair = pairs[number]
            root = corpora / "truth" / pair["language"] / "code"
            parts = [shown(root, pair[side]) for side in ("first", "second")]
            texts.append("\n".join([f"===== pair {number + 1} ({pair['language']})", *parts, ""]))
        (batches / f"batch-{batch + 1:02}.txt").write_text("\n".join(texts), encoding="utf-8")
    key.write_text(
        json.dumps([{"pair": number + 1, **pair} for number, pair in enumerate(pairs)], indent=0), encoding="utf-8"
    )
    return count


def collect(key: Path, verdicts: Path) -> list[Results]:
    """Return the pairs with the verdicts of all readers, one folder per reader. Each pair must have all of them."""
    readers = []
    for folder in sorted(path for path in verdicts.iterdir() if path.is_dir()):
        answers: dict[int, Results] = {}
        for file in sorted(folder.glob("batch-*.json")):
            for answer in json.loads(file.read_text(encoding="utf-8")):
                answers[int(answer["pair"])] = answer
        readers.append(answers)
    rows = []
    for pair in json.loads(key.read_text(encoding="utf-8")):
        given = [answers.get(pair["pair"]) for answers in readers]
        if not all(given):
            raise SystemExit(f"Pair {pair['pair']} was not read by every reader.")
        rows.append({
            "tool": pair["tool"], "language": pair["language"],
            **{side: "{}:{}-{}".format(pair[side][0].removeprefix("packages/"), *pair[side][1:]) for side in ("first", "second")},
            "real": [bool(answer["real"]) for answer in given if answer], "reasons": [answer.get("reason", "") for answer in given if answer],
        })  # fmt: skip
    return sorted(rows, key=lambda row: (row["tool"], row["language"], row["first"], row["second"]))


def interval(count: float, of: int, z: float = 1.96) -> tuple[float, float]:
    """Return the Wilson interval of a share, at 95 %."""
    if not of:
        return 0.0, 1.0
    share, square = count / of, z * z / of
    middle = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / of + square / (4 * of)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def agreement(pairs: list[Results]) -> tuple[float, float]:
    """Return the share of pairs on which two readers agree, and Cohen's kappa."""
    both = [pair["real"] for pair in pairs]
    observed = sum(first == second for first, second in both) / len(both)
    shares = [sum(verdict[reader] for verdict in both) / len(both) for reader in (0, 1)]
    expected = shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1])
    return observed, (observed - expected) / (1 - expected) if expected < 1 else 1.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clone_reading")
    parser.add_argument("command", choices=["draw", "collect"])
    parser.add_argument("--corpora", type=Path, help="folder of python -m benchmarks.clones (draw)")
    parser.add_argument("--batches", type=Path, help="folder for the text files (draw)")
    parser.add_argument("--verdicts", type=Path, help="folder with one folder of verdicts per reader (collect)")
    parser.add_argument("--key", type=Path, required=True)
    options = parser.parse_args()
    if options.command == "draw":
        print(draw(options.corpora, options.batches, options.key), "batches")
    else:
        labels = json.loads(LABELS.read_text(encoding="utf-8"))
        labels["pairs"] = collect(options.key, options.verdicts)
        LABELS.write_text(json.dumps(labels, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(len(labels["pairs"]), "pairs, agreement and kappa:", agreement(labels["pairs"]))


if __name__ == "__main__":
    main()
