"""The Link Grammar parser: what it finds, and what becomes of odd sentences."""

from __future__ import annotations

import gc
import json
import lzma
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import run
from treelet import Dependencies, TreeletError
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.parsing import link_parser
from treelet.parsing.link_parser import (
    _STATUSES,
    LinkageCost,
    Linkages,
    LinkGrammarError,
    LinkParser,
    LinkResults,
    link_grammar_version,
)
from treelet.structures import DependencyBank
from treelet.structures.dependency import _split_linkage_word, from_linkage, main_types

VERSION = link_grammar_version()
installed = pytest.mark.skipif(VERSION is None, reason="needs Link Grammar: apt install link-grammar")
DOGS = "Dogs bark loudly."
EXPLODING = "the dog saw the cat and " * 10 + "the end."
"""So many linkages that, of a sample of one, none is valid: only panic mode finds any."""
FATAL = "1/2| …)_http://a.b/c"
"""Over this one Link Grammar 5.12.0 ends its process."""
SENTENCES = [
    DOGS,
    "The dog saw a man with a telescope in the park.",
    "For comparison, normal neurohistology is shown in an age-matched single transgenic (tTA only) animal.",
    "This sentence no verb has but words, many.",
    "John's dog isn't (said Mary) as big as the cat's.",
    "Dogs )(x bark.",
    "a)(b runs",
    "!file /etc/passwd",
    "% is a sign",
    "* dogs bark",
    ": dogs bark",
    "Zürich's naïve café — “très” good…",
    "Собака лает",
    "狗 叫",
    ",",
    "[ [see] \\ ]",
    "dogs.n bark.v",
    "LEFT-WALL dogs bark RIGHT-WALL",
    "I saw a man with a dog in the park and " * 3 + "left.",
]


@pytest.fixture(scope="module")
def parser() -> Iterator[LinkParser]:
    if VERSION is None:
        pytest.skip("needs Link Grammar: apt install link-grammar")
    with LinkParser() as made:
        yield made


# --- words and links ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "word", "tag"),
    [
        ("dogs.n", "dogs", "n"),
        ("comparison.n-u", "comparison", "n-u"),
        ("neurohistology[?].n", "neurohistology", "n"),
        ("age-matched[!<ED-WORDS>].v-d", "age-matched", "v-d"),
        ("Figure[!<CAPITALIZED-WORDS>]", "Figure", "_"),
        ("teh[~].x", "teh", "x"),
        ("run[&]", "run", "_"),
        ("word[!].n", "word", "n"),
        ("neither.#nor-j-n", "neither", "#nor-j-n"),
        ("[only]", "only", "_"),
        ("[0.3]", "0.3", "_"),
        ("[.]", ".", "_"),
        ("[[]", "[", "_"),
        ("[]]", "]", "_"),
        ("[?]", "?", "_"),
        ("[", "[", "_"),
        ("]", "]", "_"),
        ("[]", "[]", "_"),
        (".", ".", "_"),
        ("...", "...", "_"),
        ("....wh", "...", "wh"),
        ("..y", ".", "y"),
        ("Mr..x", "Mr.", "x"),
        ("e.g.", "e.g.", "_"),
        ("e.g[?].n", "e.g", "n"),
        ("0.0125[!<NUMBERS>]", "0.0125", "_"),
        ("//www.sas.com/[?].v", "//www.sas.com/", "v"),
        ("RIGHT-WALL", "RIGHT-WALL", "_"),
    ],
)
def test_words(shown: str, word: str, tag: str) -> None:
    assert _split_linkage_word(shown) == (word, tag)


def test_a_linkage_becomes_a_parse() -> None:
    words = ["LEFT-WALL", "dogs.n", "[oh]", "bark.v", "RIGHT-WALL"]
    links = [[0, 3, "WV"], [3, 1, "Sp"], [1, 3, "Sp"], (0, 4, "RW"), [0, 1, "Wd"]]
    assert from_linkage(words, links) == Dependencies(
        ["LEFT-WALL", "dogs", "oh", "bark", "RIGHT-WALL"],
        ["_", "n", "_", "v", "_"],
        [(0, 1, "Wd"), (0, 3, "WV"), (0, 4, "RW"), (1, 3, "Sp")],
    )
    assert from_linkage(words, links, walls=False) == Dependencies(
        ["dogs", "oh", "bark"], ["n", "_", "v"], [(0, 2, "Sp")]
    )
    # Walls are at the ends only, and one that is not used is a wall, too.
    assert from_linkage(["[LEFT-WALL]", "a", "LEFT-WALL", "b"], [], walls=False).words == ("a", "LEFT-WALL", "b")


def test_wrong_linkages_are_refused() -> None:
    for words, links, text in (
        ("dogs bark", [], "split it"),
        ([1], [], "word 1: A word must be a string"),
        (["a", "b"], [[0, 2, "S"]], "position must be an int from 0.*Got 2 instead"),
        (["a", "b"], [[0, -1, "S"]], "position must be an int from 0.*Got -1 instead"),
        (["a", "b"], [[0, 1]], r"link must be \(position, position, type\)"),
        (["a", "b"], [[1, 1, "S"]], "A link must join two different words"),
        (["a", "b"], [[0, 1, ""]], "The type of a link must"),
        ([], [], "at least one word"),
    ):
        with pytest.raises(TreeError, match=text):
            from_linkage(words, links)
    with pytest.raises(TreeError, match="at least one word"):
        from_linkage(["LEFT-WALL", "RIGHT-WALL"], [[0, 1, "RW"]], walls=False)
    with pytest.raises(InputTypeError):
        from_linkage(["a"], None)  # type: ignore[arg-type]


# --- parsing ------------------------------------------------------------------------------------------------------


@installed
def test_a_sentence() -> None:
    with LinkParser() as parser:
        assert parser.version == VERSION
        assert parser.version in repr(parser)
        result = parser.parse(DOGS)
        assert (result.status, result.problem, result.null_count, result.panic) == ("ok", None, 0, False)
        assert not result.timed_out
        assert not result.out_of_memory
        assert len(result) == result.valid <= result.found
        first = result[0]
        assert first.words == ("LEFT-WALL", "dogs.n", "bark.v", "loudly", ".", "RIGHT-WALL")
        assert (1, 2, "Sp") in first.links
        assert first.parse == from_linkage(first.words, first.links)
        assert first.parse.tags == ("_", "n", "v", "_", "_", "_")
        assert first.cost == LinkageCost(unused=0, disjunct=0.0, length=4)
        assert [linkage.rank for linkage in result] == list(range(len(result)))
        assert [linkage.cost for linkage in result] == sorted(linkage.cost for linkage in result)
        assert isinstance(result.parses, DependencyBank)
        assert len(result.parses) == len(result)
        assert result[:2] == parser.parse(DOGS, k=2)[:]
        assert len(parser.parse(DOGS, k=10_000)) == len(result)
    with pytest.raises(LinkGrammarError, match="This LinkParser is closed"):
        parser.parse(DOGS)
    parser.close()


@installed
def test_walls_may_be_left_out() -> None:
    with LinkParser(walls=False) as parser:
        linkage = parser.parse(DOGS)[0]
    assert linkage.parse == Dependencies(
        ["dogs", "bark", "loudly", "."], ["n", "v", "_", "_"], [(0, 1, "Sp"), (1, 2, "MVa")]
    )
    assert linkage.words[0] == "LEFT-WALL"


def test_words_may_be_left_unused(parser: LinkParser) -> None:
    sentence = "Dogs bark the loudly."
    result = parser.parse(sentence)
    assert result.status == "null words"
    assert result.null_count == 1
    for linkage in result:
        assert linkage.cost.unused == 1
        assert any(word.startswith("[") for word in linkage.words)
    with LinkParser(max_null=0) as strict:
        result = strict.parse(sentence)
    assert (result.status, len(result), result.null_count) == ("no linkage", 0, 0)
    assert "none with at most 0 skipped words" in str(result.problem)


@installed
def test_the_limit_is_a_sample_that_stays_the_same(parser: LinkParser) -> None:
    sentence = SENTENCES[-1]
    assert parser.parse(sentence).found > 1000
    with LinkParser(limit=20) as few:
        one = few.parse(sentence)
        assert one == few.parse(sentence)
        assert 0 < len(one) <= 20 < one.found


def test_words_that_look_like_markup_or_commands(parser: LinkParser) -> None:
    statuses = set()
    for sentence in SENTENCES:
        result = parser.parse(sentence)
        statuses.add(result.status)
        for linkage in result:  # the words are those of the sentence: split, or in lower case, but never lost
            shown = "".join(word for word in linkage.parse.words if word not in ("LEFT-WALL", "RIGHT-WALL"))
            own = "".join(sentence.split()).replace("LEFT-WALL", "").replace("RIGHT-WALL", "")
            assert shown.lower() == own.lower(), sentence
    assert {"ok", "null words"} <= statuses


@installed
def test_panic_mode() -> None:
    with LinkParser(limit=1, max_null=0, panic=False) as calm:
        result = calm.parse(EXPLODING)
        assert (result.status, result.panic, len(result)) == ("no linkage", False, 0)
        assert "none of the examined linkages is valid" in str(result.problem)
        before = calm.parse(SENTENCES[1])
    with LinkParser(limit=1, max_null=0) as parser:
        result = parser.parse(EXPLODING)
        assert (result.status, result.panic, len(result)) == ("panic", True, 1)
        lengths = [right - left for left, right, _ in result[0].links]
        assert max(lengths) <= 12
        assert parser.parse(SENTENCES[1]) == before  # the panic is over


def test_the_staged_linkages(parser: LinkParser, data_dir: Path) -> None:
    file = data_dir / "lg_parse_ranking" / "craft1100_lg20.jsonl.xz"
    if not file.is_file():
        pytest.skip("needs the linkages of lg_parse_ranking")
    if parser.version != "5.12.0":
        pytest.skip("the linkages are those of Link Grammar 5.12.0")
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(next(lines)) for _ in range(12)]
    for row in rows:
        result = parser.parse(row["text"])
        assert (result.found, result.valid, result.null_count) == (row["n_found"], row["n_valid"], row["null_count"])
        for staged in row["parses"]:
            linkage = result[staged["rank"]]
            assert list(linkage.words) == staged["words"]
            assert [list(link) for link in linkage.links] == sorted(staged["links"])
            assert list(linkage.cost) == pytest.approx(staged["cost"], abs=1e-3)
            assert linkage.parse == from_linkage(staged["words"], staged["links"])


# --- odd sentences ------------------------------------------------------------------------------------------------

ODD: list[tuple[Any, str]] = [
    ("", "empty"),
    (" \t\r\n\v\f\x85\u2028 ", "empty"),
    ("\u200b", "empty"),
    ("dogs\0bark", "not text"),
    ("dogs\x03n bark", "not text"),
    ("dogs \x1b[31mbark", "not text"),
    ("dogs \ud800 bark", "not text"),
    ("x " * 300, "too long"),
    ("x1 " * 252 + ".", "too long"),
    ("a" * 251, "too long"),
    ("a" * 100_000, "too long"),
    ("é" * 126, "too long"),
    ("a" * 240 + (" " + "b" * 240) * 200, "too long"),
    ("word " * 1_000_000, "too long"),
]


@pytest.mark.parametrize(("sentence", "status"), ODD, ids=range(len(ODD)))
def test_odd_sentences(parser: LinkParser, sentence: str, status: str) -> None:
    result = parser.parse(sentence)
    assert (result.status, len(result)) == (status, 0)
    assert result.sentence == sentence
    assert result.problem or status == "empty"
    assert len(str(result)) < 250


def test_what_link_grammar_itself_finds_too_long(parser: LinkParser) -> None:
    result = parser.parse(("a, " * 200)[:-2])
    assert result.status == "too long"
    assert "254 words" in str(result.problem)
    assert parser.parse(DOGS).status == "ok"


def test_white_space_separates_words(parser: LinkParser) -> None:
    result = parser.parse("\tDogs\n\nbark \u00a0 loudly.\r\n")
    assert [linkage.words for linkage in result] == [linkage.words for linkage in parser.parse(DOGS)]
    assert result.sentence == "\tDogs\n\nbark \u00a0 loudly.\r\n"


@installed
def test_a_breakdown_is_told_and_survived() -> None:
    with LinkParser() as parser:
        if parser.version != "5.12.0":
            pytest.skip("the sentence is one for Link Grammar 5.12.0")
        results = parser.parse_all([DOGS, FATAL, DOGS])
    assert [result.status for result in results] == ["ok", "failed", "ok"]
    assert "Assertion" in str(results[1].problem)
    assert list(results[0]) == list(results[2])


@installed
def test_a_process_that_was_ended_is_replaced() -> None:
    with LinkParser() as parser:
        before = parser.parse(DOGS)
        assert parser._child is not None
        parser._child._process.kill()
        parser._child._process.wait()
        assert parser.parse(DOGS) == before


@installed
def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    with LinkParser(panic=False) as parser:
        monkeypatch.setattr(link_parser, "_GRACE", 0.001 - 3 * parser.settings["max_seconds"])
        result = parser.parse(SENTENCES[-1] * 5)
        assert (result.status, result.timed_out) == ("timed out", True)
        monkeypatch.undo()
        assert parser.parse(DOGS).status == "ok"


def test_a_part_of_an_answer_is_no_answer() -> None:
    child = link_parser._Child([sys.executable, "-c", "print('{\"found\": 1', end='')"])
    with pytest.raises(ChildProcessError, match="exit code 0"):
        child.ask("", 60)


def test_sentences_must_be_strings(parser: LinkParser) -> None:
    for wrong, hint in (
        (b"Dogs bark.", "sentence must be a string"),
        (["Dogs", "bark"], "sentence must be a string"),
        (None, "Got None instead"),
        (3, "int"),
    ):
        with pytest.raises(InputTypeError, match=hint):
            parser.parse(wrong)  # type: ignore[arg-type]
    for k in (0, -1, 1.5, True, "2"):
        with pytest.raises(ParameterError, match="'k' parameter"):
            parser.parse(DOGS, k=k)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="'k' parameter"):
            parser.parse_all([DOGS], k=k)  # type: ignore[arg-type]


# --- many sentences -----------------------------------------------------------------------------------------------


def test_no_sentence_is_lost(parser: LinkParser, capfd: pytest.CaptureFixture[str]) -> None:
    odd = [sentence for sentence, _ in ODD]
    sentences: list[Any] = [DOGS, *odd, b"\xff\xfe", None, "Dogs bark the loudly.", DOGS]
    results = parser.parse_all(sentences, k=3)
    assert isinstance(results, LinkResults)
    assert [result.sentence for result in results] == sentences
    assert [result.status for result in results] == [
        "ok",
        *(status for _, status in ODD),
        "not text",
        "not text",
        "null words",
        "ok",
    ]
    assert all(len(result) <= 3 for result in results)
    assert results.failed == list(range(1, len(odd) + 3))
    assert sum(results.counts.values()) == len(sentences)
    assert set(results.counts) <= set(_STATUSES)
    text = results.summary()
    assert f"{len(sentences)} sentences, 9 linkages" in text
    assert "  ok: 2" in text
    assert "  null words: 1" in text
    for number in results.failed:
        assert f"sentence {number}: " in text
    assert f"and {len(results.failed) - 2} more" in results.summary(shown=2)
    assert "2 ok" in repr(results)
    assert len(results.parses) == len(results.qid) == len(results.costs) == len(results.ranks) == 9
    assert sorted(set(results.qid.tolist())) == [0, len(sentences) - 2, len(sentences) - 1]
    assert results.costs.shape == (9, 3)
    assert results.ranks.tolist() == [0, 1, 2] * 3
    assert results.failed[0] == 1
    assert results[1:].failed[0] == 0
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_no_sentences(parser: LinkParser) -> None:
    results = parser.parse_all([])
    assert len(results) == 0
    assert results.summary() == "0 sentences, 0 linkages"
    assert results.costs.shape == (0, 3)
    assert results.qid.dtype == np.int64
    for wrong in (DOGS, b"Dogs", 5):
        with pytest.raises(InputTypeError, match="list of sentences is needed"):
            parser.parse_all(wrong)  # type: ignore[arg-type]


@pytest.mark.usefixtures("impatient")
def test_progress_is_shown(parser: LinkParser, capfd: pytest.CaptureFixture[str]) -> None:
    parser.parse_all(iter([DOGS, DOGS]), progress=True)
    assert "sentences" in capfd.readouterr().err


def test_results_are_values() -> None:
    with pytest.raises(InputTypeError, match="Item 0 is an int"):
        LinkResults([3])  # type: ignore[list-item]
    result = Linkages("x", "empty")
    assert pickle.loads(pickle.dumps(result)) == result


# --- threads, processes, leaving ----------------------------------------------------------------------------------


def test_threads_share_a_parser(parser: LinkParser) -> None:
    expected = {sentence: list(parser.parse(sentence, 5)) for sentence in SENTENCES[:6]}
    wrong: list[str] = []

    def work(order: int) -> None:
        mine = list(expected)[::order]
        wrong.extend(sentence for sentence in mine if list(parser.parse(sentence, 5)) != expected[sentence])

    threads = [threading.Thread(target=work, args=(order,)) for order in (1, -1, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@installed
def test_a_parser_can_be_pickled() -> None:
    with LinkParser(limit=7, walls=False) as parser:
        result = parser.parse(DOGS)
        with pickle.loads(pickle.dumps(parser)) as copy:
            assert (copy.settings, copy.walls) == (parser.settings, False)
            assert copy.parse(DOGS) == result
        assert parser.parse(DOGS) == result
        assert pickle.loads(pickle.dumps(result)) == result


@installed
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_gets_its_own_process() -> None:
    code = f"""
import os, sys
from treelet.parsing.link_parser import LinkParser
parser = LinkParser()
first = parser.parse({DOGS!r})
parser._lock.acquire()  # as by a thread that does not live on in the child
child = os.fork()
if not child:
    same = parser.parse({DOGS!r}) == first
    os._exit(0 if same else 1)
status = os.waitpid(child, 0)[1]
parser._lock.release()
assert parser.parse({DOGS!r}) == first
sys.exit(os.waitstatus_to_exitcode(status))
"""
    # From Python 3.12 on, a fork with several threads warns.
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@installed
def test_the_process_ends_with_the_parser() -> None:
    parser = LinkParser()
    assert parser._child is not None
    process = parser._child._process
    assert process.poll() is None
    del parser
    gc.collect()
    assert process.poll() is not None


@installed
def test_neither_locale_nor_folder_matter(tmp_path: Path) -> None:
    trap = tmp_path / "data" / "en"
    trap.mkdir(parents=True)
    (trap / "4.0.dict").write_text("dogs: A+;\n", encoding="utf-8")
    code = (
        "from treelet.parsing.link_parser import LinkParser\n"
        "result = LinkParser().parse('Zürich barks.')\n"
        "print(result.status, ascii(result[0].words))\n"
    )
    outputs = set()
    for locale in ("C", "C.UTF-8", "POSIX"):
        environment = {**os.environ, "LC_ALL": locale, "PYTHONCOERCECLOCALE": "0"}
        done = subprocess.run(
            [sys.executable, "-X", "utf8", "-c", code],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        outputs |= set(done.stdout.splitlines())
    assert len(outputs) == 1
    assert "Z\\xfcrich" in outputs.pop()


# --- where it cannot be -------------------------------------------------------------------------------------------


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_parser, "_find_library", lambda: None)
    with pytest.raises(LinkGrammarError, match="apt install link-grammar") as caught:
        LinkParser()
    assert isinstance(caught.value, TreeletError)
    assert "Only LinkParser needs Link Grammar" in str(caught.value)
    assert link_grammar_version() is None
    assert "Link Grammar not installed: apt install link-grammar" in " ".join(run("doctor").stdout.split())


@installed
def test_a_library_that_is_another_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_parser, "_find_library", lambda: "libc.so.6")
    with pytest.raises(LinkGrammarError, match="cannot be started"):
        LinkParser()


@installed
def test_a_language_that_is_not_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for language in ("xx", str(tmp_path)):
        with pytest.raises(LinkGrammarError, match="ould not open dictionary"):
            LinkParser(language)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("language", ["", None, 3, "-e", "e\nn", "e\0n"]),
        ("limit", [0, 1.5, True, "5", 2**31]),
        ("max_null", [-1, None, False]),
        ("max_cost", [-1, "2", float("nan"), True]),
        ("max_seconds", [0, 0.5, None]),
        ("panic", [1, None]),
        ("walls", [0, "no"]),
    ],
)
def test_wrong_parameters(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ParameterError, match=f"'{name}' parameter of LinkParser"):
            LinkParser(**{name: value})


@installed
def test_the_largest_cost() -> None:
    with LinkParser(max_cost=0.5, max_null=0) as cheap, LinkParser(max_cost=4, max_null=0) as dear:
        few, many = cheap.parse(SENTENCES[1]), dear.parse(SENTENCES[1])
    assert 0 < len(few) < len(many)


def test_main_types() -> None:
    parse = Dependencies(
        ["a", "b", "c"], None, [(0, 1, "Ds**x"), (0, 1, "Dm"), (1, 2, "MVp"), (0, 2, "ID4ab"), (0, 2, "x")]
    )
    assert [tuple(link) for link in main_types(parse).links] == [(0, 1, "D"), (0, 2, "ID"), (0, 2, "x"), (1, 2, "MV")]
    with pytest.raises(TreeError, match="heads"):
        main_types(Dependencies.from_heads(["a"], None, [0]))
    with pytest.raises(InputTypeError, match=r"main_types needs Dependencies. Got a str instead"):
        main_types("a")
