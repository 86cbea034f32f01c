"""What counts as a definition and as a reference in each language, as tree-sitter queries of our own.

In a definition pattern ``@name`` is its name, and the capture with another name is its whole range and its kind. In a
reference pattern ``@ref`` is a name that is used, ``@text`` a text in which every name counts as used, and ``@import``
a module, path or package that is imported, of which the last name counts. References that are no name of a definition
anywhere cost nothing but a little memory, so the patterns take whatever may be one: calls, types, attributes, names
that are handed over as arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """One language: where its grammar is to be had, what its files are called, and what is looked for in them."""

    module: str
    function: str = "language"
    suffixes: tuple[str, ...]
    names: tuple[str, ...] = ()
    definitions: str
    references: str


_PYTHON_DEFINITIONS: Final = """
(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(module (expression_statement (assignment left: (identifier) @name) @constant))
(module (expression_statement (assignment left: (pattern_list (identifier) @name)) @constant))
(type_alias_statement left: (type (identifier) @name)) @type
"""
_PYTHON_REFERENCES: Final = """
(call function: (identifier) @ref)
(attribute attribute: (identifier) @ref)
(argument_list (identifier) @ref)
(keyword_argument value: (identifier) @ref)
(decorator (identifier) @ref)
(type (identifier) @ref)
(type (generic_type (identifier) @ref))
(type (binary_operator (identifier) @ref))
(subscript (identifier) @ref)
(list (identifier) @ref)
(tuple (identifier) @ref)
(pair value: (identifier) @ref)
(assignment right: (identifier) @ref)
(return_statement (identifier) @ref)
(except_clause (identifier) @ref)
(except_clause (as_pattern (identifier) @ref))
(except_clause (tuple (identifier) @ref))
(import_from_statement name: (dotted_name (identifier) @ref))
(import_from_statement name: (aliased_import name: (dotted_name (identifier) @ref)))
(import_from_statement module_name: (_) @import)
(import_from_statement name: (dotted_name) @import)
(import_from_statement name: (aliased_import name: (dotted_name) @import))
(import_statement name: (dotted_name) @import)
(import_statement name: (aliased_import name: (dotted_name) @import))
"""

_SCRIPT_DEFINITIONS: Final = """
(class_declaration name: (_) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(function_expression name: (identifier) @name) @function
(class name: (_) @name) @class
(method_definition name: (_) @name) @method
(lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function)
(variable_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function)
(program (lexical_declaration (variable_declarator name: (identifier) @name) @constant))
(program (variable_declaration (variable_declarator name: (identifier) @name) @constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @constant)))
(assignment_expression left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function) (function_expression !name) (class !name)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method
"""
_SCRIPT_REFERENCES: Final = """
(call_expression function: (identifier) @ref)
(new_expression constructor: (identifier) @ref)
(member_expression property: (property_identifier) @ref)
(arguments (identifier) @ref)
(pair value: (identifier) @ref)
(shorthand_property_identifier) @ref
(array (identifier) @ref)
(variable_declarator value: (identifier) @ref)
(assignment_expression right: (identifier) @ref)
(return_statement (identifier) @ref)
(binary_expression (identifier) @ref)
(import_specifier name: (identifier) @ref)
(import_clause (identifier) @ref)
(export_specifier name: (identifier) @ref)
(import_statement source: (string (string_fragment) @import))
(export_statement source: (string (string_fragment) @import))
((call_expression function: (identifier) @_require arguments: (arguments (string (string_fragment) @import)))
  (#eq? @_require "require"))
"""
_JAVASCRIPT_REFERENCES: Final = (
    _SCRIPT_REFERENCES
    + """
(class_heritage (identifier) @ref)
(jsx_opening_element name: (identifier) @ref)
(jsx_self_closing_element name: (identifier) @ref)
"""
)
_TYPESCRIPT_DEFINITIONS: Final = (
    _SCRIPT_DEFINITIONS
    + """
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name) @enum
(internal_module name: (identifier) @name) @module
(function_signature name: (identifier) @name) @function
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
"""
)
_TYPESCRIPT_REFERENCES: Final = (
    _SCRIPT_REFERENCES
    + """
(type_identifier) @ref
(extends_clause value: (identifier) @ref)
(decorator (identifier) @ref)
"""
)
_TSX_REFERENCES: Final = (
    _TYPESCRIPT_REFERENCES
    + """
(jsx_opening_element name: (identifier) @ref)
(jsx_self_closing_element name: (identifier) @ref)
"""
)

_GO_DEFINITIONS: Final = """
(function_declaration name: (identifier) @name) @function
(method_declaration name: (field_identifier) @name) @method
(type_spec name: (type_identifier) @name) @type
(type_alias name: (type_identifier) @name) @type
(method_elem name: (field_identifier) @name) @method
(source_file (const_declaration (const_spec name: (identifier) @name) @constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @constant))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @constant)))
"""
_GO_REFERENCES: Final = """
(call_expression function: (identifier) @ref)
(selector_expression field: (field_identifier) @ref)
(type_identifier) @ref
(argument_list (identifier) @ref)
(literal_element (identifier) @ref)
(expression_list (identifier) @ref)
(unary_expression operand: (identifier) @ref)
(binary_expression (identifier) @ref)
(import_spec path: (interpreted_string_literal (interpreted_string_literal_content) @import))
"""

_RUST_DEFINITIONS: Final = """
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(union_item name: (type_identifier) @name) @struct
(trait_item name: (type_identifier) @name) @trait
(type_item name: (type_identifier) @name) @type
(mod_item name: (identifier) @name body: (_)) @module
(macro_definition name: (identifier) @name) @macro
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @constant
(impl_item type: (type_identifier) @name) @impl
(impl_item type: (generic_type type: (type_identifier) @name)) @impl
"""
_RUST_REFERENCES: Final = """
(call_expression function: (identifier) @ref)
(call_expression function: (scoped_identifier name: (identifier) @ref))
(call_expression function: (generic_function function: (identifier) @ref))
(field_expression field: (field_identifier) @ref)
(macro_invocation macro: (identifier) @ref)
(type_identifier) @ref
(scoped_identifier name: (identifier) @ref)
(scoped_identifier path: (identifier) @ref)
(arguments (identifier) @ref)
(use_list (identifier) @ref)
(use_as_clause path: (identifier) @ref)
(token_tree (identifier) @ref)
(binary_expression (identifier) @ref)
(use_declaration argument: (scoped_identifier path: (_) @import))
(use_declaration argument: (scoped_use_list path: (_) @import))
(mod_item name: (identifier) @import !body)
"""

_JAVA_DEFINITIONS: Final = """
(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(record_declaration name: (identifier) @name) @class
(annotation_type_declaration name: (identifier) @name) @interface
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(class_body (field_declaration declarator: (variable_declarator name: (identifier) @name)) @field)
(enum_constant name: (identifier) @name) @constant
"""
_JAVA_REFERENCES: Final = """
(method_invocation name: (identifier) @ref)
(method_invocation object: (identifier) @ref)
(field_access field: (identifier) @ref)
(field_access object: (identifier) @ref)
(method_reference (identifier) @ref)
(type_identifier) @ref
(marker_annotation name: (identifier) @ref)
(annotation name: (identifier) @ref)
(argument_list (identifier) @ref)
(import_declaration (scoped_identifier) @import)
"""

_C_DEFINITIONS: Final = """
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name))) @function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name)))) @function
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @struct
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(type_definition declarator: (type_identifier) @name) @type
(type_definition declarator: (function_declarator
  declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))) @type
(preproc_def name: (identifier) @name) @macro
(preproc_function_def name: (identifier) @name) @macro
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable)
(translation_unit (declaration declarator: (init_declarator
  declarator: (array_declarator declarator: (identifier) @name))) @variable)
(translation_unit (declaration declarator: (init_declarator
  declarator: (pointer_declarator declarator: (array_declarator declarator: (identifier) @name)))) @variable)
(translation_unit (declaration declarator: (init_declarator
  declarator: (pointer_declarator declarator: (identifier) @name))) @variable)
(enumerator name: (identifier) @name) @constant
"""
_C_REFERENCES: Final = """
(call_expression function: (identifier) @ref)
(field_expression field: (field_identifier) @ref)
(type_identifier) @ref
(argument_list (identifier) @ref)
(initializer_list (identifier) @ref)
(assignment_expression right: (identifier) @ref)
(init_declarator value: (identifier) @ref)
(return_statement (identifier) @ref)
(binary_expression (identifier) @ref)
(pointer_expression argument: (identifier) @ref)
(case_statement value: (identifier) @ref)
(preproc_arg) @text
(preproc_include path: (string_literal (string_content) @import))
(preproc_include path: (system_lib_string) @import)
"""

_CPP_DEFINITIONS: Final = (
    _C_DEFINITIONS
    + """
(class_specifier name: (type_identifier) @name body: (_)) @class
(namespace_definition name: (namespace_identifier) @name) @module
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @method
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier name: (identifier) @name))) @method
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier name: (qualified_identifier name: (identifier) @name)))) @method
(function_definition declarator: (reference_declarator
  (function_declarator declarator: (identifier) @name))) @function
(function_definition declarator: (reference_declarator
  (function_declarator declarator: (field_identifier) @name))) @method
(function_definition declarator: (reference_declarator (function_declarator
  declarator: (qualified_identifier name: (identifier) @name)))) @method
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator declarator: (field_identifier) @name))) @method
(function_definition declarator: (pointer_declarator declarator: (function_declarator
  declarator: (qualified_identifier name: (identifier) @name)))) @method
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @method
(alias_declaration name: (type_identifier) @name) @type
(concept_definition name: (identifier) @name) @type
"""
)
_CPP_REFERENCES: Final = (
    _C_REFERENCES
    + """
(call_expression function: (qualified_identifier name: (identifier) @ref))
(call_expression function: (template_function name: (identifier) @ref))
(qualified_identifier scope: (namespace_identifier) @ref)
"""
)

_RUBY_DEFINITIONS: Final = """
(class name: (constant) @name) @class
(class name: (scope_resolution name: (constant) @name)) @class
(module name: (constant) @name) @module
(module name: (scope_resolution name: (constant) @name)) @module
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(assignment left: (constant) @name) @constant
(alias name: (_) @name) @method
"""
_RUBY_REFERENCES: Final = """
(call method: (identifier) @ref)
(call method: (constant) @ref)
(constant) @ref
(argument_list (identifier) @ref)
(argument_list (simple_symbol) @text)
(body_statement (identifier) @ref)
((call method: (identifier) @_require arguments: (argument_list (string (string_content) @import)))
  (#any-of? @_require "require" "require_relative" "load" "autoload"))
"""

_C_SHARP_DEFINITIONS: Final = """
(class_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @struct
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(delegate_declaration name: (identifier) @name) @type
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(property_declaration name: (identifier) @name) @property
(local_function_statement name: (identifier) @name) @function
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @field
"""
_C_SHARP_REFERENCES: Final = """
(invocation_expression function: (identifier) @ref)
(invocation_expression function: (generic_name (identifier) @ref))
(member_access_expression name: (identifier) @ref)
(member_access_expression name: (generic_name (identifier) @ref))
(member_access_expression expression: (identifier) @ref)
(object_creation_expression type: (identifier) @ref)
(object_creation_expression type: (generic_name (identifier) @ref))
(base_list (identifier) @ref)
(base_list (generic_name (identifier) @ref))
(parameter type: (identifier) @ref)
(parameter type: (generic_name (identifier) @ref))
(variable_declaration type: (identifier) @ref)
(variable_declaration type: (generic_name (identifier) @ref))
(method_declaration returns: (identifier) @ref)
(method_declaration returns: (generic_name (identifier) @ref))
(property_declaration type: (identifier) @ref)
(type_argument_list (identifier) @ref)
(attribute name: (identifier) @ref)
(argument (identifier) @ref)
(using_directive (identifier) @import)
(using_directive (qualified_name) @import)
"""

_PHP_DEFINITIONS: Final = """
(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @interface
(trait_declaration name: (name) @name) @trait
(enum_declaration name: (name) @name) @enum
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @method
(const_declaration (const_element (name) @name)) @constant
(property_declaration (property_element (variable_name (name) @name))) @property
"""
_PHP_REFERENCES: Final = """
(function_call_expression function: (name) @ref)
(function_call_expression function: (qualified_name (name) @ref))
(member_call_expression name: (name) @ref)
(nullsafe_member_call_expression name: (name) @ref)
(scoped_call_expression name: (name) @ref)
(scoped_call_expression scope: (name) @ref)
(member_access_expression name: (name) @ref)
(class_constant_access_expression (name) @ref)
(object_creation_expression (name) @ref)
(base_clause (name) @ref)
(class_interface_clause (name) @ref)
(named_type (name) @ref)
(use_declaration (name) @ref)
(attribute (name) @ref)
(namespace_use_clause (qualified_name) @import)
(namespace_use_clause (qualified_name (name) @ref))
(include_expression (string (string_content) @import))
(require_once_expression (string (string_content) @import))
(require_expression (string (string_content) @import))
"""

_BASH_DEFINITIONS: Final = """
(function_definition name: (word) @name) @function
(program (variable_assignment name: (variable_name) @name) @variable)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @variable)
"""
_BASH_REFERENCES: Final = """
(command_name (word) @ref)
(command argument: (word) @ref)
(simple_expansion (variable_name) @ref)
(expansion (variable_name) @ref)
((command name: (command_name (word) @_source) argument: (_) @import) (#any-of? @_source "source" "."))
"""

_LUA_DEFINITIONS: Final = """
(function_declaration name: (identifier) @name) @function
(function_declaration name: (dot_index_expression field: (identifier) @name)) @function
(function_declaration name: (method_index_expression method: (identifier) @name)) @method
(assignment_statement (variable_list name: (dot_index_expression field: (identifier) @name))
  (expression_list value: (function_definition))) @function
(assignment_statement (variable_list name: (identifier) @name)
  (expression_list value: (function_definition))) @function
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @variable)
(field name: (identifier) @name value: (function_definition)) @method
"""
_LUA_REFERENCES: Final = """
(function_call name: (identifier) @ref)
(dot_index_expression field: (identifier) @ref)
(method_index_expression method: (identifier) @ref)
(arguments (identifier) @ref)
(expression_list value: (identifier) @ref)
(field value: (identifier) @ref)
((function_call name: (identifier) @_require arguments: (arguments (string content: (string_content) @import)))
  (#any-of? @_require "require" "dofile"))
"""

GRAMMARS: Final = {
    "python": Grammar(
        module="tree_sitter_python",
        suffixes=(".py", ".pyi", ".pyw"),
        definitions=_PYTHON_DEFINITIONS,
        references=_PYTHON_REFERENCES,
    ),
    "javascript": Grammar(
        module="tree_sitter_javascript",
        suffixes=(".js", ".mjs", ".cjs", ".jsx"),
        definitions=_SCRIPT_DEFINITIONS,
        references=_JAVASCRIPT_REFERENCES,
    ),
    "typescript": Grammar(
        module="tree_sitter_typescript",
        function="language_typescript",
        suffixes=(".ts", ".mts", ".cts"),
        definitions=_TYPESCRIPT_DEFINITIONS,
        references=_TYPESCRIPT_REFERENCES,
    ),
    "tsx": Grammar(
        module="tree_sitter_typescript",
        function="language_tsx",
        suffixes=(".tsx",),
        definitions=_TYPESCRIPT_DEFINITIONS,
        references=_TSX_REFERENCES,
    ),
    "go": Grammar(module="tree_sitter_go", suffixes=(".go",), definitions=_GO_DEFINITIONS, references=_GO_REFERENCES),
    "rust": Grammar(
        module="tree_sitter_rust", suffixes=(".rs",), definitions=_RUST_DEFINITIONS, references=_RUST_REFERENCES
    ),
    "java": Grammar(
        module="tree_sitter_java", suffixes=(".java",), definitions=_JAVA_DEFINITIONS, references=_JAVA_REFERENCES
    ),
    "c": Grammar(module="tree_sitter_c", suffixes=(".c",), definitions=_C_DEFINITIONS, references=_C_REFERENCES),
    "cpp": Grammar(
        module="tree_sitter_cpp",
        # A header is C or C++; the grammar of C++ reads nearly all C.
        suffixes=(".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp"),
        definitions=_CPP_DEFINITIONS,
        references=_CPP_REFERENCES,
    ),
    "ruby": Grammar(
        module="tree_sitter_ruby",
        suffixes=(".rb", ".rake", ".gemspec"),
        names=("Rakefile", "Gemfile"),
        definitions=_RUBY_DEFINITIONS,
        references=_RUBY_REFERENCES,
    ),
    "c_sharp": Grammar(
        module="tree_sitter_c_sharp",
        suffixes=(".cs",),
        definitions=_C_SHARP_DEFINITIONS,
        references=_C_SHARP_REFERENCES,
    ),
    "php": Grammar(
        module="tree_sitter_php",
        function="language_php",
        suffixes=(".php", ".phtml"),
        definitions=_PHP_DEFINITIONS,
        references=_PHP_REFERENCES,
    ),
    "bash": Grammar(
        module="tree_sitter_bash",
        suffixes=(".sh", ".bash"),
        definitions=_BASH_DEFINITIONS,
        references=_BASH_REFERENCES,
    ),
    "lua": Grammar(
        module="tree_sitter_lua", suffixes=(".lua",), definitions=_LUA_DEFINITIONS, references=_LUA_REFERENCES
    ),
}
"""The languages, by the names that the index has for them."""

TAGS_VERSION: Final = 1
"""Raised with every change of what is found in a file; indexes of another version are made anew."""
