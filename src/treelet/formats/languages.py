"""Programming languages that are read with tree-sitter: grammars, units and rules for names.

A grammar is a package with one language. The kinds of nodes of a grammar are classified by their names;
the few exceptions are listed per language. Names that a unit binds are described by patterns in the language of
tree-sitter's queries, in which ``@bound`` marks a name that is declared. The native core matches the patterns while it
reads the nodes, so a pattern must be a path: one node inside the other, each with an optional field. ``.`` before a node
stands for the first child, and ``(_)`` for earlier children. Names of members and types are not replaced, even if a
variable has the same name.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from treelet import _core
from treelet.checks import in_words, suggestion, wrong
from treelet.errors import FormatError, ParameterError, TreeletError
from treelet.formats.files import unpacked_name

UNITS = ("function", "class", "file")
"""Units of source code that every language has."""

# Treatments of the kinds of nodes, in the order of `Treatment` in native/bindings_syntax.cpp, and flags.
DROPPED, DELIMITER, TOKEN, KEPT_TOKEN, INNER, IDENTIFIER, LITERAL, CONTENT = range(8)
MEMBER_HOLDER, HOLDER, UNIT, SCOPE, MEMBER = 8, 16, 32, 64, 128
ANYWHERE, FIRST, LATER = range(3)  # positions among the children, as in the enum `Position`

_COMMENT = re.compile(r"comment|hash_bang|shebang")
_DELIMITER = re.compile(r"""[()\[\]{},;:."'`\s]+|=|=>|->|::|\?\.|end|\$\{|\#\{|\\\(|//|/\*|\*/""")
_IDENTIFIER = re.compile(r"(?!qualified_|scoped_|nested_|dotted_|operator_)(\w+_)?identifier(_pattern)?")
_MEMBER = re.compile(r"(property|field)_identifier")
_MEMBER_HOLDER = re.compile(
    r"attribute|field_access|method_invocation|member_access_expression|member_call_expression|call|navigation_expression"
    r"|navigation_suffix|field_expression|dot_index_expression"
)
"""Nodes whose identifiers, other than the first child, are members."""
_CONTENT = re.compile(r"\w*(content|fragment|escape_sequence|str_text|regex_pattern|regex_flags)|string_(start|end)")
_CONTENT_TOO = frozenset(("character", "escaped_identifier", "heredoc_start", "heredoc_end", "heredoc_beginning"))
_LITERAL = re.compile(
    r"(\w+_)?(string|number|integer|int|float|char|character|rune|regex|literal|heredoc|symbol|imaginary|real)"
    r"(_literal|_body|_array)?"
)
_HOLDER = re.compile(
    r"\w*(binary|unary|update|operator|comparison|assignment|modifier|lexical_declaration|infix|prefix|postfix|additive"
    r"|multiplicative|equality|bitwise|range|logical|conjunction|disjunction|pointer_expression|method_definition"
    r"|function_declaration|function_expression|arrow_function|for_in_statement)\w*"
)

_JAVASCRIPT_FUNCTIONS = (
    "function_declaration function_expression generator_function_declaration generator_function arrow_function "
    "method_definition"
)
_JAVASCRIPT = """
(variable_declarator name: (identifier) @bound)
(arrow_function parameter: (identifier) @bound) (assignment_pattern left: (identifier) @bound)
(array_pattern (identifier) @bound) (rest_pattern (identifier) @bound) (catch_clause parameter: (identifier) @bound)
(object_pattern (shorthand_property_identifier_pattern) @bound) (pair_pattern value: (identifier) @bound)
(object_assignment_pattern left: (shorthand_property_identifier_pattern) @bound)
(for_in_statement left: (identifier) @bound) (function_declaration name: (identifier) @bound)
(generator_function_declaration name: (identifier) @bound) (function_expression name: (identifier) @bound)
(method_definition name: (property_identifier) @bound)"""
_TYPESCRIPT = (
    _JAVASCRIPT
    + """(required_parameter pattern: (identifier) @bound) (optional_parameter pattern: (identifier) @bound)
(class_declaration name: (type_identifier) @bound)"""
)
_C = """
(init_declarator declarator: (identifier) @bound) (declaration declarator: (identifier) @bound)
(parameter_declaration declarator: (identifier) @bound) (pointer_declarator declarator: (identifier) @bound)
(array_declarator declarator: (identifier) @bound) (function_declarator declarator: (identifier) @bound)
(labeled_statement label: (statement_identifier) @bound)"""


@dataclass(frozen=True)
class _Language:
    """A language: its package, suffixes, kinds of units, and rules for names.

    Attributes
    ----------
    name : str
        Name to pass as ``language``.
    title : str
        Name for messages.
    suffixes : tuple of str
        Suffixes of file names.
    functions, classes : str
        Kinds of nodes that are functions and classes, separated by spaces.
    bindings : str
        Patterns for bound names.
    scopes : str, default ""
        Further kinds of nodes that are part of qualified names, such as namespaces.
    identifiers : str, default ""
        Kinds of nodes that are identifiers although their names do not end in "identifier".
    never_bound : str, default ""
        Name that is kept although a pattern matches.
    macros : bool, default False
        Whether a syntax error before the body of a unit is a macro, so that the unit is read.
    package : str, default ""
        Package, if it is not ``tree-sitter-NAME``.
    function : str, default "language"
        Function of the package that returns the grammar.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    functions: str
    classes: str
    bindings: str
    scopes: str = ""
    identifiers: str = ""
    never_bound: str = ""
    macros: bool = False
    package: str = ""
    function: str = "language"

    @cached_property
    def grammar(self) -> Any:
        """The grammar, as a `tree_sitter.Language`."""
        package = self.package or f"tree-sitter-{self.name}"
        try:
            tree_sitter, module = import_module("tree_sitter"), import_module(package.replace("-", "_"))
        except ImportError as error:
            missing = "tree-sitter" if error.name == "tree_sitter" else package
            raise TreeletError(
                f"Reading {self.title} needs the package {missing}: pip install 'treelet[code]'."
            ) from None
        return tree_sitter.Language(getattr(module, self.function)())

    def binding_paths(self) -> list[list[tuple[int, int, int]]]:
        """Return the paths from bound names upwards: kind, field (0: any) and position of each node."""
        numbers = {"_": 0, "": 0}
        for name in {*re.findall(r"\((\w+)", self.bindings)} - {"_"}:
            numbers[name] = self.grammar.id_for_node_kind(name, True)
        for name in {*re.findall(r"\w+:", self.bindings)}:
            numbers[name] = self.grammar.field_id_for_name(name[:-1])
        if unknown := [name for name, number in numbers.items() if number is None]:
            package = self.package or f"tree-sitter-{self.name}"
            raise TreeletError(
                f"The rules for names in {self.title} do not fit {package} {version(package)}, which has no "
                f"{unknown[0].rstrip(':')}. Install the version that treelet was tested with, or keep identifiers."
            )
        return [
            [(numbers[kind], numbers[field], position) for kind, field, position in path]
            for path in _paths(self.bindings)
        ]

    @cached_property
    def kinds(self) -> list[tuple[str, bool]]:
        """Name of each kind of nodes, and whether it is named."""
        grammar = self.grammar
        return [
            (grammar.node_kind_for_id(number) or "", grammar.node_kind_is_named(number))
            for number in range(grammar.node_kind_count)
        ]

    def has_kind(self, name: str) -> bool:
        """Return whether the grammar has named nodes of this kind."""
        return (name, True) in self.kinds

    @lru_cache(256)  # noqa: B019  # languages live as long as the program
    def node_rules(self, each: str, concrete: bool, anonymous: bool) -> _core.NodeRules:
        """Return what becomes of the nodes of this language. ``each`` selects the kinds of nodes that are units."""
        chosen: dict[str, Collection[str]] = {
            "function": self.functions.split(),
            "class": self.classes.split(),
            "file": (),
        }
        identifiers, units = frozenset(self.identifiers.split()), frozenset(chosen.get(each, (each,)))
        scopes = frozenset(f"{self.functions} {self.classes} {self.scopes}".split())
        types = "type_identifier) @bound" in self.bindings
        codes = []
        for name, named in self.kinds:
            if not named:
                codes.append(KEPT_TOKEN if concrete else DELIMITER if _DELIMITER.fullmatch(name) else TOKEN)
                continue
            if _COMMENT.search(name):
                code = DROPPED
            elif name in identifiers or (_IDENTIFIER.fullmatch(name) and name not in _CONTENT_TOO):
                code = IDENTIFIER | (
                    MEMBER if _MEMBER.fullmatch(name) or (name == "type_identifier" and not types) else 0
                )
            elif _CONTENT.fullmatch(name) or name in _CONTENT_TOO:
                code = CONTENT
            elif _LITERAL.fullmatch(name):
                code = LITERAL
            else:
                code = INNER | (HOLDER if _HOLDER.fullmatch(name) else 0)
                code |= MEMBER_HOLDER if _MEMBER_HOLDER.fullmatch(name) else 0
            codes.append(code | (UNIT if name in units else 0) | (SCOPE if name in scopes else 0))
        bindings = self.binding_paths() if anonymous else []
        labels = [name for name, _ in self.kinds]
        return _core.NodeRules(np.array(codes, np.uint8), labels, bindings, self.never_bound, self.macros)


def _paths(patterns: str) -> list[list[tuple[str, str, int]]]:
    """Return the paths that patterns describe, from bound names upwards: kind, field and position.

    >>> _paths("(a left: (b (_) (c) @bound))")
    [[('c', '', 2), ('b', 'left:', 0), ('a', '', 0)]]
    """
    paths, path, field, position = [], [], "", ANYWHERE
    for mark in re.findall(r"\((?:\w+)|\)|\.|\w+:|@bound", patterns):
        if mark.startswith("("):
            path.append((mark[1:], field, position))
            field, position = "", ANYWHERE
        elif mark == ")":
            closed = path.pop()
            position = LATER if closed[0] == "_" else ANYWHERE
        elif mark == "@bound":
            paths.append([closed, *reversed(path)])
        elif mark == ".":
            position = FIRST
        else:
            field = mark
    return paths


_LANGUAGES = (
    _Language(
        "python",
        "Python",
        (".py",),
        "function_definition",
        "class_definition",
        """(parameters (identifier) @bound) (lambda_parameters (identifier) @bound) (default_parameter name: (identifier) @bound)
(typed_parameter (identifier) @bound) (typed_default_parameter name: (identifier) @bound) (list_splat_pattern (identifier) @bound)
(dictionary_splat_pattern (identifier) @bound) (assignment left: (identifier) @bound) (pattern_list (identifier) @bound)
(tuple_pattern (identifier) @bound) (augmented_assignment left: (identifier) @bound) (for_statement left: (identifier) @bound)
(for_in_clause left: (identifier) @bound) (as_pattern_target (identifier) @bound) (named_expression name: (identifier) @bound)
(function_definition name: (identifier) @bound) (class_definition name: (identifier) @bound)""",
    ),
    _Language(
        "javascript",
        "JavaScript",
        (".js", ".jsx", ".mjs", ".cjs"),
        _JAVASCRIPT_FUNCTIONS,
        "class_declaration class",
        _JAVASCRIPT + "(formal_parameters (identifier) @bound) (class_declaration name: (identifier) @bound)",
    ),
    _Language(
        "typescript",
        "TypeScript",
        (".ts", ".mts", ".cts"),
        _JAVASCRIPT_FUNCTIONS,
        "class_declaration class abstract_class_declaration interface_declaration",
        _TYPESCRIPT,
        function="language_typescript",
    ),
    _Language(
        "tsx",
        "TSX",
        (".tsx",),
        _JAVASCRIPT_FUNCTIONS,
        "class_declaration class abstract_class_declaration interface_declaration",
        _TYPESCRIPT,
        package="tree-sitter-typescript",
        function="language_tsx",
    ),
    _Language(
        "java",
        "Java",
        (".java",),
        "method_declaration constructor_declaration compact_constructor_declaration",
        "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration",
        """(formal_parameter name: (identifier) @bound) (spread_parameter (variable_declarator name: (identifier) @bound))
(local_variable_declaration (variable_declarator name: (identifier) @bound)) (catch_formal_parameter name: (identifier) @bound)
(enhanced_for_statement name: (identifier) @bound) (inferred_parameters (identifier) @bound)
(lambda_expression parameters: (identifier) @bound) (resource name: (identifier) @bound)
(method_declaration name: (identifier) @bound) (constructor_declaration name: (identifier) @bound)
(class_declaration name: (identifier) @bound)""",
    ),
    _Language(
        "c",
        "C",
        (".c", ".h"),
        "function_definition",
        "struct_specifier union_specifier enum_specifier",
        _C,
        macros=True,
    ),
    _Language(
        "cpp",
        "C++",
        (".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++"),
        "function_definition",
        "class_specifier struct_specifier union_specifier enum_specifier",
        _C
        + """(reference_declarator (identifier) @bound) (structured_binding_declarator (identifier) @bound)
(optional_parameter_declaration declarator: (identifier) @bound) (for_range_loop declarator: (identifier) @bound)
(variadic_declarator (identifier) @bound) (function_declarator declarator: (field_identifier) @bound)""",
        scopes="namespace_definition",
        macros=True,
    ),
    _Language(
        "go",
        "Go",
        (".go",),
        "function_declaration method_declaration",
        "type_spec",
        """(parameter_declaration name: (identifier) @bound) (variadic_parameter_declaration name: (identifier) @bound)
(short_var_declaration left: (expression_list (identifier) @bound)) (var_spec name: (identifier) @bound)
(const_spec name: (identifier) @bound) (range_clause left: (expression_list (identifier) @bound))
(function_declaration name: (identifier) @bound) (method_declaration name: (field_identifier) @bound)
(receive_statement left: (expression_list (identifier) @bound))""",
    ),
    _Language(
        "rust",
        "Rust",
        (".rs",),
        "function_item",
        "struct_item enum_item union_item trait_item impl_item",
        """(parameter pattern: (identifier) @bound) (let_declaration pattern: (identifier) @bound)
(closure_parameters (identifier) @bound) (for_expression pattern: (identifier) @bound) (tuple_pattern (identifier) @bound)
(ref_pattern (identifier) @bound) (mut_pattern (identifier) @bound) (reference_pattern (identifier) @bound)
(let_condition pattern: (identifier) @bound) (captured_pattern . (identifier) @bound)
(tuple_struct_pattern type: (_) (identifier) @bound) (function_item name: (identifier) @bound)""",
        scopes="mod_item",
    ),
    _Language(
        "c-sharp",
        "C#",
        (".cs",),
        "method_declaration constructor_declaration destructor_declaration operator_declaration local_function_statement",
        "class_declaration struct_declaration interface_declaration enum_declaration record_declaration",
        """(parameter name: (identifier) @bound) (variable_declarator name: (identifier) @bound)
(foreach_statement left: (identifier) @bound) (catch_declaration name: (identifier) @bound)
(declaration_pattern name: (identifier) @bound) (declaration_expression name: (identifier) @bound)
(lambda_expression parameters: (implicit_parameter) @bound) (method_declaration name: (identifier) @bound)
(local_function_statement name: (identifier) @bound) (constructor_declaration name: (identifier) @bound)
(class_declaration name: (identifier) @bound)""",
        scopes="namespace_declaration file_scoped_namespace_declaration",
        identifiers="implicit_parameter",
    ),
    _Language(
        "php",
        "PHP",
        (".php",),
        "function_definition method_declaration",
        "class_declaration interface_declaration trait_declaration enum_declaration",
        """(variable_name) @bound (function_definition name: (name) @bound)
(method_declaration name: (name) @bound) (class_declaration name: (name) @bound)""",
        identifiers="name variable_name",
        never_bound="$this",
        function="language_php",
    ),
    _Language(
        "ruby",
        "Ruby",
        (".rb",),
        "method singleton_method",
        "class module singleton_class",
        """(method_parameters (identifier) @bound) (block_parameters (identifier) @bound) (lambda_parameters (identifier) @bound)
(optional_parameter name: (identifier) @bound) (keyword_parameter name: (identifier) @bound)
(splat_parameter name: (identifier) @bound) (hash_splat_parameter name: (identifier) @bound)
(block_parameter name: (identifier) @bound) (assignment left: (identifier) @bound)
(operator_assignment left: (identifier) @bound) (left_assignment_list (identifier) @bound)
(for pattern: (identifier) @bound) (exception_variable (identifier) @bound) (method name: (identifier) @bound)""",
        identifiers="constant instance_variable class_variable global_variable",
    ),
    _Language(
        "kotlin",
        "Kotlin",
        (".kt", ".kts"),
        "function_declaration secondary_constructor",
        "class_declaration object_declaration",
        """(parameter . (identifier) @bound) (class_parameter (identifier) @bound) (variable_declaration . (identifier) @bound)
(function_declaration name: (identifier) @bound) (class_declaration name: (identifier) @bound)""",
    ),
    _Language(
        "swift",
        "Swift",
        (".swift",),
        "function_declaration init_declaration",
        "class_declaration protocol_declaration",
        """(parameter name: (simple_identifier) @bound) (lambda_parameter name: (simple_identifier) @bound)
(pattern bound_identifier: (simple_identifier) @bound) (function_declaration name: (simple_identifier) @bound)""",
    ),
    _Language(
        "bash",
        "Bash",
        (".sh", ".bash"),
        "function_definition",
        "",
        """(variable_assignment name: (variable_name) @bound) (for_statement variable: (variable_name) @bound)
(declaration_command (variable_name) @bound)""",
        identifiers="variable_name",
    ),
    _Language(
        "scala",
        "Scala",
        (".scala", ".sc"),
        "function_definition",
        "class_definition object_definition trait_definition enum_definition",
        """(parameter name: (identifier) @bound) (class_parameter name: (identifier) @bound) (binding name: (identifier) @bound)
(val_definition pattern: (identifier) @bound) (var_definition pattern: (identifier) @bound)
(lambda_expression parameters: (identifier) @bound) (enumerator . (identifier) @bound)
(function_definition name: (identifier) @bound) (class_definition name: (identifier) @bound)""",
    ),
    _Language(
        "lua",
        "Lua",
        (".lua",),
        "function_declaration function_definition",
        "",
        """(parameters name: (identifier) @bound) (variable_declaration (variable_list name: (identifier) @bound))
(variable_declaration (assignment_statement (variable_list name: (identifier) @bound)))
(for_generic_clause (variable_list name: (identifier) @bound)) (for_numeric_clause name: (identifier) @bound)
(function_declaration name: (identifier) @bound)""",
    ),
)

LANGUAGES = {language.name: language for language in _LANGUAGES}
"""All languages by name."""
BY_SUFFIX = {suffix: language for language in _LANGUAGES for suffix in language.suffixes}
"""All languages by the suffixes of their files."""


def find_language(name: str | None, file: str) -> _Language:
    """Return the language called `name`, or the language that a file name suggests."""
    if name is not None:
        known = LANGUAGES.get(str(name).lower())
        if known is None:
            raise ParameterError(
                f"{wrong('language', in_words(map(repr, LANGUAGES)), name)}{suggestion(str(name), LANGUAGES)}"
            )
        return known
    suffix = unpacked_name(file).suffix.lower()
    if suffix not in BY_SUFFIX:
        fact = f"the suffix {suffix} does not belong to a known language" if suffix else "the name has no suffix"
        raise FormatError(f"{fact}. Name the language, such as 'java'.", file)
    return BY_SUFFIX[suffix]
