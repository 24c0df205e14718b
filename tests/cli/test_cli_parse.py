"""``treelet parse``, as it is run."""

from __future__ import annotations

import gzip
import json
import math
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import treelet as tl
from conftest import ROOT, fail, process, run, succeed
from treelet.drawing import forest_svg, latex, tree_svg

GRAMMAR = """S -> NP VP [1.0]
VP -> V NP [0.6] | VP PP [0.4]
NP -> NP PP [0.2] | D N [0.5] | "John" [0.3]
PP -> P NP [1.0]
V -> "saw" [1.0]
D -> "a" [0.5] | "the" [0.5]
N -> "man" [0.6] | "bank" [0.4]
P -> "in" [1.0]
"""
SENTENCES = ["John saw a man in the bank", "the man saw John"]
BANK = [
    "(S (NP (N John)) (VP (V sleeps)))",
    "(S (NP (D the) (N cat)) (VP (V sees) (NP (N Mary))))",
    "(S (NP (D the) (J old) (N cat)) (VP (V sleeps)))",
]


@pytest.fixture
def grammar(tmp_path: Path) -> Path:
    file = tmp_path / "g.txt"
    file.write_text(GRAMMAR, encoding="utf-8")
    return file


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    file = tmp_path / "sentences.txt"
    file.write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    file = tmp_path / "bank.mrg"
    file.write_text("\n".join(BANK), encoding="utf-8")
    return file


def parsed(grammar: tl.PCFG, sentence: str, k: int = 1) -> list[tuple[str, float]]:
    return [(str(tree), logp) for tree, logp in grammar.parse(sentence.split(), k=k)]


# --- trees, tsv, json ---------------------------------------------------------------------------------------------


def test_trees_one_a_line(grammar: Path, sentences: Path) -> None:
    known = tl.PCFG.read_text(grammar)
    result = succeed("parse", "--grammar", grammar, sentences)
    assert result.stdout.splitlines() == [parsed(known, sentence)[0][0] for sentence in SENTENCES]
    assert result.stderr.startswith("2 sentences, 2 trees in ")
    assert "without" not in result.stderr
    for typed in ("\n".join(SENTENCES), "\r\n".join(SENTENCES) + "\r\n", "  " + " \t ".join(SENTENCES[0].split())):
        again = succeed("parse", "-g", grammar, input=typed).stdout.splitlines()
        assert again == result.stdout.splitlines()[: len(again)]
    assert succeed("parse", "-g", grammar, "-", input="\n".join(SENTENCES)).stdout == result.stdout
    options = [option for sentence in SENTENCES for option in ("--text", sentence)]
    assert succeed("parse", "-g", grammar, *options).stdout == result.stdout
    assert succeed("parse", "-g", grammar, sentences, "--jobs", "2", "--beam", "100").stdout == result.stdout


def test_trees_in_a_file_read_back(grammar: Path, sentences: Path, tmp_path: Path) -> None:
    result = succeed("parse", "-g", grammar, sentences, "-o", tmp_path / "out.mrg")
    assert result.stdout == ""
    assert len(tl.read_trees(tmp_path / "out.mrg")) == 2
    assert sorted(os.listdir(tmp_path)) == ["g.txt", "out.mrg", "sentences.txt"]


def test_k_best_as_tsv(grammar: Path, sentences: Path, tmp_path: Path) -> None:
    known = tl.PCFG.read_text(grammar)
    rows = [line.split("\t") for line in succeed("parse", "-g", grammar, sentences, "--k", "9").stdout.splitlines()]
    expected = [
        (number, rank, logp, tree)
        for number, sentence in enumerate(SENTENCES, 1)
        for rank, (tree, logp) in enumerate(parsed(known, sentence, 9), 1)
    ]
    assert [(int(line), int(rank), float(logp), tree) for line, rank, logp, tree in rows] == expected
    assert [row[1] for row in rows] == ["1", "2", "1"]
    one = succeed("parse", "-g", grammar, sentences, "--to", "tsv").stdout
    assert [line.split("\t")[:2] for line in one.splitlines()] == [["1", "1"], ["2", "1"]]
    succeed("parse", "-g", grammar, sentences, "-o", tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text(encoding="utf-8") == one
    assert len(tl.read_trees(tmp_path / "out.tsv")) == 2
    succeed("parse", "-g", grammar, sentences, "-o", tmp_path / "out.tsv.gz")
    assert gzip.decompress((tmp_path / "out.tsv.gz").read_bytes()).decode() == one


def test_k_best_as_json(grammar: Path, sentences: Path, tmp_path: Path) -> None:
    known = tl.PCFG.read_text(grammar)
    output = succeed("parse", "-g", grammar, sentences, "--k", "2", "--to", "json").stdout
    records = [json.loads(line) for line in output.splitlines()]
    assert [record["sentence"] for record in records] == SENTENCES
    assert [record["line"] for record in records] == [1, 2]
    for record in records:
        assert [(tree, logp) for logp, tree in record["nbest"]] == parsed(known, record["sentence"], 2)
    for name in ("out.json", "out.jsonl"):
        succeed("parse", "-g", grammar, sentences, "--k", "2", "-o", tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == output


# --- forests and pictures -----------------------------------------------------------------------------------------


def test_forests(grammar: Path, sentences: Path, tmp_path: Path) -> None:
    known = tl.PCFG.read_text(grammar)
    output = tmp_path / "forests.jsonl"
    result = succeed("parse", "-g", grammar, sentences, "--forest", "-o", output)
    assert "2 sentences, 2 forests" in result.stderr
    assert tl.read_forests(output) == known.forests([sentence.split() for sentence in SENTENCES])
    assert succeed("parse", "-g", grammar, sentences, "--forest").stdout == output.read_text(encoding="utf-8")
    for prune, count in (("none", 2), ("0.1", 1), ("1", 2)):
        succeed("parse", "-g", grammar, sentences, "--forest", "--prune", prune, "-o", output)
        assert tl.read_forests(output)[0].count_trees() == count


def test_pictures(grammar: Path, sentences: Path, tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    result = succeed("parse", "-g", grammar, sentences, "--forest", "--picture", picture)
    assert f"picture: {picture}, of sentence 1 of 2\n" in result.stderr
    assert picture.read_text(encoding="utf-8") == forest_svg(
        tl.PCFG.read_text(grammar).forest(SENTENCES[0].split(), 8.0)
    )
    ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    result = succeed("parse", "-g", grammar, "--text", SENTENCES[1], "--picture", picture)
    assert result.stderr.endswith(f"picture: {picture}\n")
    assert picture.read_text(encoding="utf-8") == tree_svg(result.stdout)
    picture = tmp_path / "picture.tex"
    succeed("parse", "-g", grammar, "--text", SENTENCES[1], "--picture", picture)
    assert picture.read_text(encoding="utf-8") == latex(result.stdout) + "\n"
    assert "a forest cannot be drawn as LaTeX" in fail(
        "parse", "-g", grammar, sentences, "--forest", "--picture", picture
    )
    assert "must end in .svg, .png, .pdf or .tex" in fail("parse", "-g", grammar, sentences, "--picture", "p.gif")


def test_the_first_sentence_that_has_a_parse_is_drawn(grammar: Path, tmp_path: Path) -> None:
    picture, output = tmp_path / "p.svg", tmp_path / "out.mrg"
    arguments = [
        "parse",
        "-g",
        grammar,
        "--text",
        "saw John",
        "--text",
        SENTENCES[1],
        "--picture",
        picture,
        "-o",
        output,
    ]
    result = run(*arguments)
    assert result.exit_code == 1
    assert f"picture: {picture}, of sentence 2 of 2" in result.stderr
    assert len(output.read_text(encoding="utf-8").splitlines()) == 2


def test_the_picture_in_the_docs(grammar: Path, tmp_path: Path) -> None:
    kept = ROOT / "docs" / "images" / "pp-attachment.svg"
    succeed("parse", "-g", grammar, "--text", SENTENCES[0], "--forest", "--picture", tmp_path / "p.svg")
    assert (tmp_path / "p.svg").read_text(encoding="utf-8") == kept.read_text(encoding="utf-8"), "draw it anew"


def test_a_picture_that_is_too_large_or_of_nothing(grammar: Path, tmp_path: Path) -> None:
    picture, output = tmp_path / "p.svg", tmp_path / "out.jsonl"
    long = "John saw a man" + " in the bank" * 20
    message = fail("parse", "-g", grammar, "--text", long, "--forest", "--picture", picture, "-o", output)
    assert "but the limit is 400 together" in message
    assert "smaller log-probability range" in message
    assert "nothing to draw" in fail("parse", "-g", grammar, "--text", "saw John", "--picture", picture, "-o", output)
    assert "would overwrite" in fail("parse", "-g", grammar, "--text", "John saw", "-o", grammar)
    assert "--picture needs at least one sentence" in fail("parse", "-g", grammar, "-", "--picture", picture, input="")
    assert os.listdir(tmp_path) == ["g.txt"]


# --- grammars -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ([], {}),
        (["--markov", "1"], {"markov": 1}),
        (["--parent", "phrases", "--min-count", "2"], {"parent": True, "min_count": 2}),
        (["--parent", "tags", "--markov", "0"], {"parent": "tags", "markov": 0}),
        (["--parent", "off"], {}),
        (
            ["--parent", "tags", "--split", "penn", "--smoothing", "0.5"],
            {"parent": "tags", "split": "penn", "smoothing": 0.5},
        ),
    ],
)
def test_grammars_from_treebanks(bank: Path, options: list[str], parameters: dict[str, object]) -> None:
    wanted = tl.PCFG.from_treebank(BANK, **parameters)
    for name in ("g.json", "g.json.gz"):
        file = bank.with_name(name)
        result = succeed("parse", "--treebank", bank, *options, "--save-grammar", file)
        assert result.stdout == ""
        assert "grammar: " in result.stderr
        assert tl.PCFG.load(file) == wanted
        saved = succeed("parse", "--grammar", file, "--text", "the old Mary sleeps").stdout
        assert saved == succeed("parse", "--treebank", bank, *options, "--text", "the old Mary sleeps").stdout


def test_treebanks_in_other_formats(tmp_path: Path) -> None:
    file = tmp_path / "bank.data"
    file.write_text("x\t(S (NP-SBJ (-NONE- *)) (VP (V Go)))\n", encoding="utf-8")
    result = succeed(
        "parse", "--treebank", file, "--format", "tsv", "--drop-empty", "--drop-function-tags", "--text", "Go"
    )
    assert result.stdout == "(S (VP (V Go)))\n"


def test_saving_and_parsing_at_once(bank: Path) -> None:
    result = succeed(
        "parse", "--treebank", bank, "--save-grammar", bank.with_name("g.json"), "--text", "John sees Mary"
    )
    assert result.stdout.startswith("(S (NP (N John))")
    assert tl.PCFG.load(bank.with_name("g.json")) == tl.PCFG.from_treebank(BANK)


def test_notes_on_a_grammar(tmp_path: Path) -> None:
    file = tmp_path / "g.txt"
    file.write_text('S -> "a" [0.5]\n', encoding="utf-8")
    result = succeed("parse", "-g", file, "--text", "a")
    assert result.stdout == "(S a)\n"
    assert result.stderr.startswith(f"treelet: note: {file}: ")


# --- no parse -----------------------------------------------------------------------------------------------------


def test_no_parse_is_marked_and_keeps_its_place(grammar: Path, tmp_path: Path) -> None:
    texts = ["--text", "John saw Mary", "--text", SENTENCES[1]]
    expected = {
        "trees": lambda lines: lines[0] == "" and lines[1].startswith("(S "),
        "tsv": lambda lines: lines[0] == "1\t0\t-inf\t" and lines[1].startswith("2\t1\t"),
        "json": lambda lines: json.loads(lines[0])["nbest"] == [] and len(json.loads(lines[1])["nbest"]) == 1,
    }
    for to, check in expected.items():
        result = run("parse", "-g", grammar, *texts, "--to", to)
        assert result.exit_code == 1
        assert check(result.stdout.split("\n"))
        assert "1 without a parse (nothing returned)" in result.stderr
    output = tmp_path / "f.jsonl"
    assert run("parse", "-g", grammar, *texts, "--forest", "-o", output).exit_code == 1
    assert [bool(forest) for forest in tl.read_forests(output)] == [False, True]


def test_fallback(bank: Path) -> None:
    texts = ["--text", "sleeps the", "--text", "John sleeps"]
    result = succeed("parse", "--treebank", bank, *texts, "--to", "tsv")
    first, second = (line.split("\t") for line in result.stdout.splitlines())
    assert first[:3] == ["1", "1", "-inf"]
    assert first[3].startswith("(FALLBACK ")
    assert float(second[2]) > -math.inf
    assert "parse (pieces under the root FALLBACK" in result.stderr
    record = json.loads(succeed("parse", "--treebank", bank, *texts, "--to", "json").stdout.splitlines()[0])
    assert record["nbest"][0][0] is None
    assert "1 without a parse (pieces" in succeed("parse", "--treebank", bank, *texts, "--forest").stderr


@pytest.mark.parametrize("options", [(), ("--forest",)])
def test_a_sentence_outside_the_grammar_is_no_silent_parse(bank: Path, options: tuple[str, ...]) -> None:
    result = succeed("parse", "--treebank", bank, "--text", 'sleeps "Zog," the.', "--text", "John sleeps", *options)
    assert "Sentence 1 is outside this grammar, so the tree under FALLBACK is not a parse" in result.stderr
    assert """Unknown words: '"', 'Zog', ','.""" in result.stderr
    assert "Sentence 2" not in result.stderr
    result = succeed("parse", "--treebank", bank, "--text", "sleeps the", *options)
    assert "it joins the most probable pieces" in result.stderr


# --- errors -------------------------------------------------------------------------------------------------------


def test_empty_lines(grammar: Path, sentences: Path) -> None:
    sentences.write_text(f"{SENTENCES[0]}\n   \n{SENTENCES[1]}\n", encoding="utf-8")
    output = sentences.with_name("out.tsv")
    assert "sentences.txt:2" in fail("parse", "-g", grammar, sentences, "-o", output)
    assert not output.exists()
    result = succeed("parse", "-g", grammar, sentences, "--skip-empty", "--to", "tsv")
    assert [line.split("\t")[0] for line in result.stdout.splitlines()] == ["1", "3"]  # numbers of lines
    assert "0 sentences, 0 trees" in succeed("parse", "-g", grammar, input="").stderr
    assert "no words" in fail("parse", "-g", grammar, "--text", " ")


def test_brackets_in_words(grammar: Path, sentences: Path) -> None:
    sentences.write_text("John saw\na man ( here\n", encoding="utf-8")
    message = fail("parse", "-g", grammar, sentences)
    assert "sentences.txt:2: word 3 is '('" in message
    assert "-LRB-" in message
    assert "-LRB-" in fail("parse", "-g", grammar, "--text", "a) b")


def test_bytes_that_are_no_text(grammar: Path, sentences: Path) -> None:
    sentences.write_bytes(b"John saw\n\xff\n")
    assert "these bytes are not UTF-8" in fail("parse", "-g", grammar, sentences)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "treelet parse needs a grammar. Pass --grammar FILE or --treebank FILE.\n"),
        (["-g", "g.txt", "--treebank", "b.mrg"], "--grammar and --treebank exclude each other."),
        (["-g", "nothing.json"], "nothing.json: the file does not exist"),
        (["-g", "nothing.txt"], "nothing.txt: the file does not exist"),
        (["--treebank", "nothing.mrg"], "nothing.mrg: the file does not exist"),
        (["-g", "g.txt", "--k", "0"], "--k must be a whole number of at least 1. Got 0 instead."),
        (["-g", "g.txt", "--k", "2", "--forest"], "--k and --forest exclude each other"),
        (["-g", "g.txt", "--to", "xml"], "--to must be 'trees', 'tsv' or 'json'"),
        (
            ["-g", "g.txt", "--to", "trees", "--k", "2"],
            "--to trees writes one tree per sentence. For several trees per sentence, use --to tsv or json.",
        ),
        (
            ["-g", "g.txt", "--forest", "--to", "tsv"],
            "A forest cannot be written as tsv. Use --to json, or remove --forest.",
        ),
        (["-g", "g.txt", "--prune", "2"], "--prune applies to --forest only. Add --forest, or remove --prune."),
        (["-g", "g.txt", "--forest", "--prune", "-1"], "--prune must be a number of at least 0, or none"),
        (["-g", "g.txt", "--forest", "--prune", "nan"], "--prune must be a number of at least 0, or none"),
        (["-g", "g.txt", "--forest", "--prune", "no"], "--prune must be a number of at least 0, or none"),
        (["-g", "g.txt", "--picture", "x.gif"], "must end in .svg, .png, .pdf or .tex"),
        (["-g", "g.txt", "--markov", "1"], "--markov applies to --treebank, not to --grammar. Remove --markov."),
        (["-g", "g.txt", "--markov", "0"], "--markov applies to --treebank, not to --grammar."),
        (
            ["-g", "g.txt", "--format", "json"],
            "--format applies to --treebank only. Use --to for the output format.",
        ),
        (["--treebank", "b.mrg", "--parent", "yes"], "--parent must be 'off', 'phrases' or 'tags'"),
        (["--treebank", "b.mrg", "--markov", "-1"], "--markov must be"),
        (["--treebank", "b.mrg", "--split", "pen"], "--split must be"),
        (["--treebank", "b.mrg", "--smoothing", "-1"], "--smoothing must be"),
        (["-g", "g.txt", "--smoothing", "1"], "--smoothing applies to --treebank, not to --grammar."),
        (["-g", "g.txt", "--beam", "-1"], "--beam must be"),
        (["-g", "g.txt", "--jobs", "0"], "--jobs must be"),
        (["-g", "g.txt", "--text", "a", "s.txt"], "SENTENCES and --text exclude each other. Remove one of them."),
        (["-g", "-"], "SENTENCES and --grammar are both standard input (-)."),
        (["-g", "g.txt", "--save-grammar", "-"], "--save-grammar cannot be standard output"),
        (["-g", "g.txt", "--save-grammar", "h.txt"], "ends in .json"),
        (
            ["-g", "g.txt", "--save-grammar", "h.json", "--k", "3"],
            "No sentence to parse was given. Pass a file of sentences, - for standard input, or --text.",
        ),
    ],
)
def test_wrong_options(
    grammar: Path, bank: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(grammar.parent)
    bank.rename("b.mrg")
    before = sorted(os.listdir())
    assert message in fail("parse", *options, input="John saw John\n")
    assert sorted(os.listdir()) == before


def test_a_broken_grammar_says_where(tmp_path: Path) -> None:
    file = tmp_path / "g.txt"
    file.write_text('S -> "a" [0.5]\nS -> "b" [2]\n', encoding="utf-8")
    assert "g.txt:2:" in fail("parse", "-g", file, "--text", "a")
    file = tmp_path / "g.json"
    file.write_text("{", encoding="utf-8")
    assert "g.json:1:" in fail("parse", "-g", file, "--text", "a")


def test_an_output_is_replaced_only_by_a_whole_one(grammar: Path, sentences: Path) -> None:
    output = sentences.with_name("out.mrg")
    output.write_text("old", encoding="utf-8")
    sentences.write_text("John (", encoding="utf-8")
    fail("parse", "-g", grammar, sentences, "-o", output)
    assert output.read_text(encoding="utf-8") == "old"
    assert sorted(os.listdir(output.parent)) == ["g.txt", "out.mrg", "sentences.txt"]


@pytest.mark.usefixtures("impatient")
def test_progress_and_a_real_process(grammar: Path) -> None:
    command = "parse", "-g", grammar, "--text", SENTENCES[1]
    assert "sentences: 1 of 1, " in succeed(*command).stderr
    assert "sentences: " not in succeed(*command, "--no-progress").stderr
    result = process("parse", "-g", grammar, input=f"{SENTENCES[1]}\n")
    assert result.returncode == 0
    assert result.stdout == "(S (NP (D the) (N man)) (VP (V saw) (NP John)))\n"
    assert process("parse", "-g", grammar, input="Mary\n").returncode == 1
