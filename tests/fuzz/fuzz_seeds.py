"""What fuzzed readers are given first, and the words of their formats."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import treelet as tl

TREES = ["(S (NP (D the) (N cat)) (VP (V saw) (NP (D a) (N dog))))", "(S (NP (N cats)) (VP (V sleep)))"]
CONLLU = "1\tcats\tcat\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_\n2\tsleep\tsleep\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"


@cache
def folder() -> Path:
    """Where files lie that must have names."""
    return Path(tempfile.mkdtemp(prefix="treelet-fuzz-"))


def texts(*items: str) -> Callable[[], list[bytes]]:
    return lambda: [item.encode() for item in items]


def saved(*models: Callable[[], Any]) -> Callable[[], list[bytes]]:
    def make() -> list[bytes]:
        out = []
        for model in models:
            path = folder() / "seed.treelet"
            tl.save(model(), path)
            out.append(path.read_bytes())
        return out

    return make


def forest_seeds() -> list[bytes]:
    forests = [
        tl.Forest.from_trees([("(S (A x) (B (C y)))", 1), ("(S (B x) (B y))", 2)]),
        tl.Forest.from_tree(tl.Tree.parse("(A x)")),
    ]
    return ["\n".join(forest.to_json() for forest in forests).encode(), *(TREES[0].encode(), b"null\n")]


def grammar_seeds() -> list[bytes]:
    path = folder() / "seed.json"
    tl.PCFG.from_treebank(TREES).save(path)
    content = json.loads(path.read_bytes())
    del content["checksum"]  # it would refuse whatever was altered
    return [json.dumps(content).encode(), path.read_bytes()]


def grammar_texts() -> list[bytes]:
    return [
        b"%start S\nS -> NP VP | VP \\\n# words\nNP -> 'cats' | \"\\u0064ogs\"\nVP -> sleep NP\n",
        b"S -> NP VP [0.5] | VP [0.5]\nNP -> 'cats' [1.0]\nVP -> 'sleep' [1.0]\n",
    ]


def array_seeds() -> list[bytes]:
    out = []
    for array in (np.arange(6.0).reshape(3, 2), np.ones((3, 4), np.float32, order="F"), np.ones((3, 1), np.int8)):
        stream = io.BytesIO()
        np.save(stream, array)
        out.append(stream.getvalue())
    return out


def nbest_seeds() -> list[bytes]:
    record = {"gold": TREES[1], "nbest": [[-1.5, "a", TREES[1]], [-2, "(S (X cats) (Y sleep))"]], "doc": "d"}
    return [json.dumps(record).encode()]


def instance_seeds() -> list[bytes]:
    role = {
        "tree": TREES[0],
        "predicate": 2,
        "arguments": [["ARG0", 0, 2]],
        "nbest": [[-1.0, TREES[0]]],
        "roleset": "see.01",
    }
    pair = {
        "tree": TREES[0],
        "e1": [0, 2],
        "e2": [3, 5],
        "label": "sees",
        "types": ["animal", "animal"],
        "doc": "d",
        "sent": 1,
    }
    return [json.dumps(one).encode() for one in (role, pair, {"words": ["cats", "sleep"], "predicate": 1})]


LABELS = ["deed", "thing"]
BRACKETS = (b"(", b")", b" ", b"-NONE-", b"-LRB-", b"(S", b"\xef\xbb\xbf", b"\\(", b"()", b"\n", b"\x00", b"\xff")
JSON = (b"null", b"true", b"1e999", b"-0", b"NaN", b'""', b"[]", b"{}", b"1" * 400, b"[[", b'"\\ud800"', b"-1")
CODE = (b"def f():\n", b"class C:\n", b"lambda x:", b"match x:\n", b'f"{x}"', b"\t", b"async ", b"(((", b"\\\n", b"0x")
SCRIPT = (
    b"function f() {",
    b"=> {",
    b"class C {",
    b"`${x}`",
    b"/*",
    b"*/",
    b"'",
    b"...",
    b"async ",
    b"(((",
    b"}",
    b"<p>",
)
MARKUP = (
    b"<a>",
    b"</a>",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"&amp;",
    b"&#x0;",
    b"<?xml version='1.0'?>",
    b"<!DOCTYPE a [",
    b"xmlns:a='b'",
)
SVMLIGHT = (b"|BT|", b"|ET|", b"|BV|", b"|EV|", b"qid:1", b"1:0.5", b"+1", b"#", *BRACKETS[:2])
