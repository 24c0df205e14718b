"""Link Grammar's C library, called through ctypes in a separate process.

A separate process is needed because the library exits or corrupts memory on some texts. This file is
the script that the process runs for `link_parser`. It imports only the standard library, so the
process starts quickly. The script reads requests from standard input and writes answers to standard
output, as one JSON document per line.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any

_POINTER, _INT, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
_TEXT, _FLOAT, _BOOL = ctypes.c_char_p, ctypes.c_float, ctypes.c_bool
_HANDLER = ctypes.CFUNCTYPE(None, _POINTER, _POINTER)

# Type of the result and of the arguments of each function.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "linkgrammar_get_version": (_TEXT,),
    "linkgrammar_get_dict_version": (_TEXT, _POINTER),
    "linkgrammar_get_dict_max_disjunct_cost": (_FLOAT, _POINTER),
    "linkgrammar_get_dict_define": (_TEXT, _POINTER, _TEXT),
    "lg_error_set_handler": (_POINTER, _POINTER, _POINTER),
    "lg_error_printall": (_INT, _HANDLER, _POINTER),
    "dictionary_create_lang": (_POINTER, _TEXT),
    "parse_options_create": (_POINTER,),
    "parse_options_delete": (_INT, _POINTER),
    "parse_options_set_verbosity": (None, _POINTER, _INT),
    "parse_options_set_linkage_limit": (None, _POINTER, _INT),
    "parse_options_set_disjunct_cost": (None, _POINTER, _FLOAT),
    "parse_options_set_min_null_count": (None, _POINTER, _INT),
    "parse_options_set_max_null_count": (None, _POINTER, _INT),
    "parse_options_set_islands_ok": (None, _POINTER, _BOOL),
    "parse_options_set_spell_guess": (None, _POINTER, _INT),
    "parse_options_set_short_length": (None, _POINTER, _INT),
    "parse_options_set_all_short_connectors": (None, _POINTER, _BOOL),
    "parse_options_set_repeatable_rand": (None, _POINTER, _BOOL),
    "parse_options_set_display_morphology": (None, _POINTER, _INT),
    "parse_options_set_max_parse_time": (None, _POINTER, _INT),
    "parse_options_reset_resources": (None, _POINTER),
    "parse_options_timer_expired": (_BOOL, _POINTER),
    "parse_options_memory_exhausted": (_BOOL, _POINTER),
    "sentence_create": (_POINTER, _TEXT, _POINTER),
    "sentence_delete": (None, _POINTER),
    "sentence_split": (_INT, _POINTER, _POINTER),
    "sentence_parse": (_INT, _POINTER, _POINTER),
    "sentence_null_count": (_INT, _POINTER),
    "sentence_num_linkages_found": (_INT, _POINTER),
    "sentence_num_valid_linkages": (_INT, _POINTER),
    "sentence_num_linkages_post_processed": (_INT, _POINTER),
    "sentence_num_violations": (_INT, _POINTER, _SIZE),
    "linkage_create": (_POINTER, _SIZE, _POINTER, _POINTER),
    "linkage_delete": (None, _POINTER),
    "linkage_get_num_words": (_SIZE, _POINTER),
    "linkage_get_num_links": (_SIZE, _POINTER),
    "linkage_get_word": (_TEXT, _POINTER, _SIZE),
    "linkage_get_link_lword": (_SIZE, _POINTER, _SIZE),
    "linkage_get_link_rword": (_SIZE, _POINTER, _SIZE),
    "linkage_get_link_label": (_TEXT, _POINTER, _SIZE),
    "linkage_unused_word_cost": (_INT, _POINTER),
    "linkage_disjunct_cost": (_FLOAT, _POINTER),
    "linkage_link_cost": (_INT, _POINTER),
}


class _Message(ctypes.Structure):
    _fields_ = (("severity", _INT), ("label", _TEXT), ("text", _TEXT))


class _Library:
    """The library, loaded from a path, with one dictionary. `settings` are those of `LinkParser`."""

    def __init__(self, path: str, settings: dict[str, Any]) -> None:
        self._lib = ctypes.CDLL(path)
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(self._lib, name)
            function.restype, function.argtypes = result, arguments
        self.settings = settings
        self._lib.lg_error_set_handler(None, None)  # stores messages until `messages` collects them
        quiet = self._lib.parse_options_create()
        self._lib.parse_options_set_verbosity(quiet, 0)  # applies to the whole library, despite its name
        self._lib.parse_options_delete(quiet)
        self._dictionary = self._lib.dictionary_create_lang(settings["language"].encode())
        errors = self.messages()
        if not self._dictionary:
            raise OSError("; ".join(errors) or "the dictionary cannot be opened")

    def versions(self) -> tuple[str, str]:
        """Return the versions of the library and of the dictionary."""
        library = self._lib.linkgrammar_get_version().decode()
        return library.removeprefix("link-grammar-"), (
            self._lib.linkgrammar_get_dict_version(self._dictionary) or b"?"
        ).decode()

    def messages(self) -> list[str]:
        """Return the errors that the library has reported since the last call. Warnings are dropped."""
        messages: list[str] = []

        def take(address: int, _: int) -> None:
            message = ctypes.cast(address, ctypes.POINTER(_Message)).contents
            if message.severity <= 2:  # an error
                messages.append((message.text or b"").decode("utf-8", "replace").strip())

        self._lib.lg_error_printall(_HANDLER(take), None)
        return messages

    def _options(self, panic: bool) -> int:
        lib, settings = self._lib, self.settings
        options: int = lib.parse_options_create()
        cost = settings["max_cost"]
        if cost is None:
            cost = lib.linkgrammar_get_dict_max_disjunct_cost(self._dictionary)
        nulls, short = settings["max_null"], 16
        if panic:  # the same settings as in the link-parser program
            define = lib.linkgrammar_get_dict_define(self._dictionary, b"panic-max-disjunct-cost")
            try:
                cost = max(cost, float(define or 4.0))
            except ValueError:  # the dictionary does not define a number
                cost = max(cost, 4.0)
            nulls, short = 10 if nulls else 0, 12
        lib.parse_options_set_verbosity(options, 0)
        lib.parse_options_set_linkage_limit(options, settings["limit"])
        lib.parse_options_set_disjunct_cost(options, cost)
        lib.parse_options_set_min_null_count(options, 0)
        lib.parse_options_set_max_null_count(options, nulls)
        lib.parse_options_set_islands_ok(options, False)
        lib.parse_options_set_spell_guess(options, 0)
        lib.parse_options_set_short_length(options, short)
        lib.parse_options_set_all_short_connectors(options, panic)
        lib.parse_options_set_repeatable_rand(options, True)
        lib.parse_options_set_display_morphology(options, 1)
        lib.parse_options_set_max_parse_time(options, settings["max_seconds"])
        lib.parse_options_reset_resources(options)
        return options

    def parse(self, text: str, k: int | None, panic: bool) -> dict[str, Any]:
        """Parse a text. Return the linkages, a problem or None, and other fields of `Linkages`."""
        lib = self._lib
        options = self._options(panic)
        sentence = lib.sentence_create(text.encode(), self._dictionary)
        try:
            split = lib.sentence_split(sentence, options)
            valid = lib.sentence_parse(sentence, options) if split >= 0 else split
            errors = self.messages()
            linkages = self._linkages(sentence, options, k) if valid > 0 else []
            return {
                "linkages": linkages,
                "found": lib.sentence_num_linkages_found(sentence),
                "valid": max(valid, 0),
                "null_count": lib.sentence_null_count(sentence),
                "timed_out": lib.parse_options_timer_expired(options),
                "out_of_memory": lib.parse_options_memory_exhausted(options),
                "problem": "; ".join(errors) if valid < 0 else None,
            }
        finally:
            lib.sentence_delete(sentence)
            lib.parse_options_delete(options)

    def _linkages(self, sentence: int, options: int, k: int | None) -> list[Any]:
        lib = self._lib
        linkages: list[Any] = []
        for number in range(lib.sentence_num_linkages_post_processed(sentence)):
            if k is not None and len(linkages) >= k:
                break
            if lib.sentence_num_violations(sentence, number):
                continue
            linkage = lib.linkage_create(number, sentence, options)
            if not linkage:  # after a timeout, there can be fewer linkages than were counted
                break
            words = [lib.linkage_get_word(linkage, w).decode() for w in range(lib.linkage_get_num_words(linkage))]
            links = [
                (
                    lib.linkage_get_link_lword(linkage, index),
                    lib.linkage_get_link_rword(linkage, index),
                    lib.linkage_get_link_label(linkage, index).decode(),
                )
                for index in range(lib.linkage_get_num_links(linkage))
            ]
            cost = lib.linkage_disjunct_cost(linkage)
            costs = (lib.linkage_unused_word_cost(linkage), round(cost, 4), lib.linkage_link_cost(linkage))
            linkages.append((words, links, costs))
            lib.linkage_delete(linkage)
        return linkages


def _main(path: str, settings: str) -> None:
    """Answer requests until the end of the input. The arguments are the path of the library and the settings as JSON."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # text printed by the library must not mix with the answers
    requests = os.fdopen(0, encoding="utf-8", closefd=False)

    def answer(value: object) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    try:
        library = _Library(path, json.loads(settings))
    except (OSError, AttributeError) as error:  # AttributeError: a function is missing, so this is another library
        answer({"error": str(error)})
        return
    answer({"versions": library.versions()})
    for line in requests:
        request = json.loads(line)
        answer(library.parse(request["text"], request["k"], request["panic"]))


if __name__ == "__main__":
    _main(*sys.argv[1:])
