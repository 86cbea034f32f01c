"""Pydantic models of a tool's arguments: the schema that a model of them makes, and the parser into it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from .errors import ToolArgumentError, ToolDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from .schema import ArgumentSchema

_SCHEMAS: Final[WeakKeyDictionary[type[BaseModel], str]] = WeakKeyDictionary()


def model_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The model's JSON Schema with the root closed, unless the model says ``extra="allow"``; each time one of its own.

    It is generated once for each model: that takes milliseconds, and a server makes the same tools for every session.
    """
    text = _SCHEMAS.get(model)
    if text is None:
        schema = model.model_json_schema(by_alias=True)
        schema.pop("title", None)
        schema.pop("description", None)  # the tool's description is the one text about it
        if model.model_config.get("extra") != "allow":
            schema["additionalProperties"] = False
        text = _SCHEMAS[model] = json.dumps(schema)
    return json.loads(text)


def model_parser(name: str, model: type[BaseModel]) -> Callable[[dict[str, Any]], BaseModel]:
    """A parser into ``model``; rules that the schema cannot express end as ToolArgumentError too."""

    def parse(arguments: dict[str, Any]) -> BaseModel:
        from pydantic import ValidationError  # noqa: PLC0415  only when a call comes

        try:
            return model.model_validate(arguments)
        except ValidationError as error:
            details = "; ".join(
                f"{'.'.join(str(step) for step in e['loc']) or 'arguments'}: {e['msg'].removeprefix('Value error, ')}"
                for e in error.errors(include_url=False, include_input=False, include_context=False)[:5]
            )
            raise ToolArgumentError(f"{name}: {details}") from None

    return parse


def refuse_no_model(name: str, model: object) -> None:
    """Raise ToolDefinitionError for what is no class of models."""
    from pydantic import BaseModel  # noqa: PLC0415  start-up time

    if isinstance(model, type) and issubclass(model, BaseModel):
        return
    what = f"an instance of {type(model).__name__}" if isinstance(model, BaseModel) else f"{model!r:.100}"
    raise ToolDefinitionError(
        f"{name}: expected is a pydantic model, which is a class derived from BaseModel, and not {what}; "
        "create_function_tool takes a JSON Schema"
    )


def check_model_schema(name: str, schema: ArgumentSchema) -> None:
    """The same as :meth:`ArgumentSchema.check`, for a schema that a model makes; one it cannot make is refused too."""
    from pydantic import PydanticUserError  # noqa: PLC0415  start-up time

    try:
        schema.check()
    except PydanticUserError as error:  # a field without a JSON Schema, an annotation that is not known yet
        raise ToolDefinitionError(f"{name}: the model has no JSON Schema: {error.message}") from None
