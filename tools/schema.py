"""Argument validation by JSON Schema (draft 2020-12): what the model sees is exactly what is enforced (T3).

The validator is jsonschema-rs, with retrieval switched off: a schema can never make the process fetch something.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from .errors import ToolArgumentError, ToolDefinitionError
from .limits import ARGUMENTS_MAX_DEPTH, ARGUMENTS_MAX_VALUES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jsonschema_rs import Draft202012Validator, ValidationError

_MESSAGE_MAX_CHARS = 300
_ERRORS_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """What a model sees of a tool."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


class ArgumentSchema:
    """A tool's input schema and its validator; both are made at first use, from ``build``."""

    def __init__(self, tool: str, build: Callable[[], Mapping[str, Any]]) -> None:
        self._tool = tool
        self._build = build

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The schema as the model sees it."""
        return self._build()

    def check(self) -> None:
        """Refuse a schema that strict clients or the validator refuse.

        Raises:
            ToolDefinitionError: not an object at the top, a dangling ``$ref``, an array without ``items``, or
                not draft 2020-12.
        """
        if self.schema.get("type") != "object":
            raise ToolDefinitionError(f'{self._tool}: the input schema must have "type": "object" at the top')
        for keyword in ("oneOf", "anyOf", "allOf", "not", "enum"):
            if keyword in self.schema:
                raise ToolDefinitionError(
                    f"{self._tool}: {keyword} at the top of an input schema is refused by strict clients; "
                    "put it into a property"
                )
        _refuse_arrays_without_items(self._tool, self.schema)
        _ = self._validator

    def validate(self, arguments: object) -> dict[str, Any]:
        """Return ``arguments`` when they fit.

        Raises:
            ToolArgumentError: naming each place that does not fit, and the known arguments for an unknown one.
        """
        if not isinstance(arguments, dict):
            raise ToolArgumentError(f"{self._tool}: the arguments must be an object")
        given = cast("dict[str, Any]", arguments)
        if (excess := _excess(given)) is not None:
            raise ToolArgumentError(f"{self._tool}: the arguments {excess}")
        if not _is_unicode(given):
            raise ToolArgumentError(f"{self._tool}: an argument holds a lone surrogate, which is not Unicode text")
        try:
            if self._validator.is_valid(given):
                return given
            found: list[str] = []
            for error in self._validator.iter_errors(given):
                if len(found) == _ERRORS_SHOWN:
                    found.append("and more")
                    break
                found.append(self._sentence(error))
        except (ValueError, TypeError) as error:
            raise ToolArgumentError(f"{self._tool}: not JSON: {_short(str(error))}") from None
        raise ToolArgumentError(f"{self._tool}: " + "; ".join(found))

    @cached_property
    def _validator(self) -> Draft202012Validator:
        from jsonschema_rs import Draft202012Validator, ValidationError  # noqa: PLC0415  start-up time

        try:
            return Draft202012Validator(dict(self.schema), offline=True)
        except (ValidationError, ValueError) as error:
            first_line = str(error).partition("\n")[0]
            raise ToolDefinitionError(f"{self._tool}: not a usable input schema: {first_line}") from None

    def _sentence(self, error: ValidationError) -> str:
        where = ".".join(str(step) for step in error.instance_path)
        unexpected = cast("list[str] | None", getattr(error.kind, "unexpected", None))
        if unexpected is not None and not where:
            known = ", ".join(cast("dict[str, Any]", self.schema.get("properties", {}))) or "none"
            names = ", ".join(_short(name) for name in unexpected[:_ERRORS_SHOWN])
            return f"unknown argument {names} (known: {known})"
        missing = cast("str | None", getattr(error.kind, "property", None))
        if missing is not None:
            return f"missing argument {f'{where}.{missing}' if where else missing}"
        return f"{where or 'arguments'}: {_short(error.message)}"


def _short(text: str) -> str:
    if len(text) <= _MESSAGE_MAX_CHARS:
        return text
    half = _MESSAGE_MAX_CHARS // 2
    return f"{text[:half]} … {text[-half:]} ({len(text)} characters)"


def _excess(arguments: dict[str, Any]) -> str | None:
    """What there is too much of; walks level by level, so that the depth cannot exhaust the stack."""
    level: list[object] = [arguments]
    values = 0
    for _ in range(ARGUMENTS_MAX_DEPTH):
        below: list[object] = []
        for node in level:
            children = _children(node)
            values += len(children)
            if values > ARGUMENTS_MAX_VALUES:
                return f"hold more than {ARGUMENTS_MAX_VALUES} values"
            below += [child for child in children if isinstance(child, (dict, list))]
        if not below:
            return None
        level = below
    return f"are nested deeper than {ARGUMENTS_MAX_DEPTH} levels"


def _is_unicode(node: object) -> bool:
    """False for text that no encoding can hold, such as half a surrogate pair. Depth was bounded before."""
    if isinstance(node, str):
        if node.isascii():
            return True
        try:
            node.encode()
        except UnicodeEncodeError:
            return False
        return True
    if isinstance(node, dict):
        entries = cast("dict[object, object]", node)
        return all(_is_unicode(key) and _is_unicode(value) for key, value in entries.items())
    if isinstance(node, (list, tuple)):
        return all(_is_unicode(child) for child in cast("list[object]", node))
    return True


def _children(node: object) -> list[object]:
    if isinstance(node, dict):
        return list(cast("dict[str, object]", node).values())
    return cast("list[object]", node)


def _refuse_arrays_without_items(tool: str, node: object) -> None:
    if isinstance(node, dict):
        mapping = cast("dict[str, Any]", node)
        kinds = mapping.get("type")
        holds_array = kinds == "array" or (isinstance(kinds, list) and "array" in kinds)
        if holds_array and "items" not in mapping and "prefixItems" not in mapping:
            raise ToolDefinitionError(f"{tool}: an array in the input schema has no items; say what it holds")
        for child in mapping.values():
            _refuse_arrays_without_items(tool, child)
    elif isinstance(node, list):
        for child in cast("list[object]", node):
            _refuse_arrays_without_items(tool, child)
