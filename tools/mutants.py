"""Mutation testing of the native core: change one place at a time and check that a test fails (`make mutants`).

Each mutant is built in a separate folder and tested with the kernel tests. A mutant that passes all of them reveals a gap in
the tests; the exit code is then 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

MUTANTS = [
    ("subset_tree.hpp", "base_(Num(1) + lam)", "base_(Num(1) + lam * Num(0.999999))"),
    ("subset_tree.hpp", "value = fresh ? factor(e->child) : value * factor(e->child);", "value = factor(e->child);"),
    (
        "subset_tree.hpp",
        "if (known.levels == 0 || (limited_ && level == 0)) return {};",
        "if (known.levels == 0) return {};",
    ),
    ("subset_tree.hpp", "unscatter(known.shapes, known.levels, b.s.child_shape.data(), widest_);", ""),
    ("subset_tree.hpp", "if (child.rest) out += child.rest[column];", ""),
    ("subset_tree.hpp", "if (kid.key == b.s.keys[q]) to[rank]", "to[rank]"),
    ("subset_tree.hpp", "b.s.other[at.others++] = rank;", ""),
    ("subset_tree.hpp", "total[shape] = Num(0);", ""),
    ("subset_tree_index.hpp", "shape_postings_.grow(shape_of_[column], more);", ";"),
    (
        "child_sequences.hpp",
        "return gap_weight((x.a - y.a - 1) + (x.b - y.b - 1));",
        "return gap_weight((x.a - y.a) + (x.b - y.b - 1));",
    ),
    (
        "child_sequences.hpp",
        "if (y.a >= x.a || y.b >= x.b) return Num(0);",
        "if (y.a >= x.a) return Num(0);",
    ),
    ("child_sequences.hpp", "E *= lam;", ""),
    ("child_sequences.hpp", "if (slot[r] == childless) out[r] = terminal_;", ";"),
    ("partial_tree.hpp", "value[label.end - label.begin] = terminal_;", ""),
    ("partial_tree.hpp", "add(words_, terminal_, labels_of(b.store, false));", ""),
    ("tagging.hpp", "factor_{lam, lam + lam}", "factor_{lam, lam + lam + lam}"),
    ("tagging.hpp", "if (buckets[r] == known.bucket) inner", "inner"),
    ("tagging.hpp", "words_.add(b.rows, b.first + r, lam,", "words_.add(b.rows, b.first + r, Num(0),"),
    ("locality.hpp", "window.assign({middle, i - begin});", "window.assign({middle, 0});"),
    ("locality.hpp", "meet(other.window, place - other.place, s);", "meet(other.window, place, s);"),
    ("locality.hpp", "b.s.inner[v] = Num(0);", ""),
    ("subsequence.hpp", "ends_here *= lam;", ""),
    ("row_loop.hpp", "std::fill_n(block.sums(r), block.last, Num(0));", ""),
    ("kept_values.hpp", "row_[i].clear();", ""),
    ("node_loop.hpp", "if (b.uses[i] == 0) kept.release(i);", "kept.release(i);"),
    ("postings.hpp", "notes[at.last].weight += more;", "notes[at.last].weight = more;"),
    ("store.hpp", "height_.push_back(n ? height + 1 : 0);", "height_.push_back(height);"),
    ("node_weights.hpp", "count[place[child]] += times * count[i];", "count[place[child]] = times * count[i];"),
    (
        "subtree.hpp",
        "decay_.push_back(power(lam, store.productions_below(node)));",
        "decay_.push_back(power(lam, store.height(node)));",
    ),
    ("partial_tree_plans.hpp", "a < next.a && b < next.b ? next.a", "a < next.a ? next.a"),
    ("column_sums.hpp", "sum[1] += value[*one];", ""),
    ("chart_forest.hpp", "if (std::binary_search(s.passed.begin(), s.passed.end(), u->symbol)) continue;", ""),
    ("chart_forest.hpp", "const double score = p.score - left.top + inner.score;", "const double score = p.score;"),
    ("parses.hpp", "&& score >= outside.least; ++i)", "; ++i)"),
    ("grammar.hpp", "if (!best.count(u->symbol)) queue.push", "if (best.size() == 1) queue.push"),
    (
        "kbest.hpp",
        "for (std::size_t i = std::max(s.tail, lowest); i < arity; ++i) {",
        "for (std::size_t i = s.tail; i < arity; ++i) {",
    ),
    ("forest.hpp", "if (o != t) rest += in[tail[o]];", "rest += in[tail[o]];"),
    ("forest_kernel.hpp", "factor = Num(1) + s.child[x->column];", "factor = Num(1);"),
    ("forest_kernel.hpp", "factor += part * Num(x->p);", "factor += part;"),
    ("forest_store.hpp", "edges[n - 1].p += edges[i].p;", ""),
    ("sketch.hpp", "(mix(key, seed_) + position) % n_", "mix(key, seed_) % n_"),
    ("sketch.hpp", "if (counted) add_alone(rest, -sketch.alone_);", ""),
    ("sketch.hpp", "if (!o.before.zero()) scale(o.before.part.data(), lam, n);", ""),
    ("sketch_loops.hpp", "after[i] = decay * before[i] + t_re", "after[i] = before[i] + t_re"),
    ("sketch.hpp", "inner.exponent += s.exponent, ", ""),
    ("sketch.hpp", "sketch.moved(o.key, sketch.p_.partial ? 0 : k)", "sketch.moved(o.key, 0)"),
]


def caught(source: Path, site: Path) -> bool:
    """Whether the kernel tests fail on the core built from `source`."""
    python = [sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--target", str(site)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([*python, str(source)], check=True, env=os.environ | {"PATH": path}, stderr=subprocess.DEVNULL)
    env = os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{sysconfig.get_path('purelib')}"}
    env["TREELET_HYPOTHESIS"] = "mutants"  # one failing example is enough; hypothesis need not shrink it
    names = (
        "kernels/test_tree_kernels.py",
        "kernels/test_subset_tree_shapes.py",
        "parsing/test_parsing.py",
        "kernels/test_forests.py",
        "kernels/test_tagging.py",
        "kernels/test_locality.py",
        "learn/test_sketch.py",
        "native",
    )
    tests = [str(ROOT / "tests" / name) for name in names]
    run = subprocess.run(
        [sys.executable, "-S", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", *tests],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith("FAILED")]
    print("   ", lines[0][:150] if lines else run.stdout.strip().splitlines()[-1:])
    return run.returncode == 1


def main() -> int:
    chosen = [int(k) for k in sys.argv[1:]] or range(len(MUTANTS))
    alive = 0
    for k in chosen:
        name, old, new = MUTANTS[k]
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "treelet"
            shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv", "build", ".git", "docs", "tests"))
            (copy / "docs").mkdir()
            file = copy / "native" / name
            text = file.read_text(encoding="utf-8")
            if text.count(old) != 1:
                print(f"{k}: {name}: the text to change occurs {text.count(old)} times: {old}")
                return 2
            file.write_text(text.replace(old, new), encoding="utf-8")
            print(f"{k}: {name}: {old} -> {new or '(nothing)'}", flush=True)
            if not caught(copy, Path(folder) / "site"):
                alive += 1
                print("    NOT NOTICED")
    print(f"{len(chosen) - alive} of {len(chosen)} planted errors were noticed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
