"""What a fresh sandbox workspace should hold before a session starts (S11): the models and their rules. Pure.

Nothing here looks at a file or at a host; reading a manifest from a file is the command line's job. Every rule that can
be judged without a client is judged when the manifest is made, so that a manifest which exists breaks none of them.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic.alias_generators import to_camel

from ..errors import ManifestRefusedError
from .git import check_place_beside_clones, check_ref, check_url, check_variable
from .paths import PathTable, check_path, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

ENTRIES_MAX: Final = 10_000
INLINE_MAX_BYTES: Final = 16 * 1024 * 1024
"""The content of one inline file."""

INLINE_TOTAL_MAX_BYTES: Final = 64 * 1024 * 1024
"""The content of all inline files."""

ENVIRONMENT_MAX: Final = 1_000
VALUE_MAX_BYTES: Final = 32 * 1024


class _Model(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        strict=True,
        validate_by_name=True,
        validate_by_alias=True,
    )


def _permission_bits(value: object) -> object:
    """Octal digits as text: as numbers, 644 and 0o644 would look alike and mean different things."""
    if isinstance(value, str):
        if _OCTAL.fullmatch(value) is None:
            raise ValueError('permissions are octal digits from "000" to "777" as text, such as "644"')
        return int(value, 8)
    raise ValueError('permissions are octal digits as text, such as "644"')


class _WithPermissions(_Model):
    permissions: int | None = Field(default=None, ge=0, le=0o777)
    """Permission bits; None leaves them to the sandbox. In a document octal digits as text, ``"755"``."""

    @field_validator("permissions", mode="before")
    @classmethod
    def _octal(cls, value: object) -> object:
        return value if value is None else _permission_bits(value)


class InlineFile(_WithPermissions):
    """A file whose content stands in the manifest, as text or in base64."""

    type: Literal["file"] = "file"
    content: str
    encoding: Literal["utf-8", "base64"] = "utf-8"

    @model_validator(mode="after")
    def _bounded(self) -> InlineFile:
        if len(self.data) > INLINE_MAX_BYTES:
            raise ValueError(
                f"the content has {len(self.data):,} bytes; {INLINE_MAX_BYTES:,} are the most. Use a localFile instead"
            )
        return self

    @property
    def data(self) -> bytes:
        """The content as bytes."""
        try:
            if self.encoding == "utf-8":
                return self.content.encode()
            return base64.b64decode("".join(self.content.split()), validate=True)
        except binascii.Error as error:
            raise ValueError(f"the content is not base64 ({error})") from None
        except UnicodeEncodeError:
            raise ValueError("the content has half of a surrogate pair, which UTF-8 does not") from None


class Directory(_WithPermissions):
    """A directory; entries may lie below it."""

    type: Literal["dir"] = "dir"


class LocalFile(_WithPermissions):
    """A file of the host, read through the injected host files."""

    type: Literal["localFile"] = "localFile"
    source: str = Field(min_length=1)


class LocalDirectory(_Model):
    """A directory of the host with all that it holds, read through the injected host files.

    Files and directories that have one of the names in ``exclude`` are left out, at any depth; ``.git`` always is.
    """

    type: Literal["localDir"] = "localDir"
    source: str = Field(min_length=1)
    exclude: list[str] = Field(default_factory=list, max_length=1_000)


class GitRepository(_Model):
    """A repository that git clones in the sandbox, without its submodules. ``ref``: branch, tag or commit id."""

    type: Literal["gitRepo"] = "gitRepo"
    url: str
    ref: str | None = None
    shallow: bool = False

    @field_validator("url")
    @classmethod
    def _usable_url(cls, url: str) -> str:
        return check_url(url)

    @field_validator("ref")
    @classmethod
    def _usable_ref(cls, ref: str | None) -> str | None:
        return None if ref is None else check_ref(ref)


class _Mount(_Model):
    read_only: bool = True
    prefix: str = ""


class S3Mount(_Mount):
    """A bucket of S3, or of a store that speaks its protocol at ``endpoint``."""

    type: Literal["s3Mount"] = "s3Mount"
    bucket: str = Field(min_length=1)
    region: str | None = None
    endpoint: str | None = None


class GCSMount(_Mount):
    """A bucket of Google Cloud Storage."""

    type: Literal["gcsMount"] = "gcsMount"
    bucket: str = Field(min_length=1)


class R2Mount(_Mount):
    """A bucket of Cloudflare R2."""

    type: Literal["r2Mount"] = "r2Mount"
    account_id: str = Field(min_length=1)
    bucket: str = Field(min_length=1)


class AzureBlobMount(_Mount):
    """A container of Azure Blob Storage."""

    type: Literal["azureBlobMount"] = "azureBlobMount"
    account: str = Field(min_length=1)
    container: str = Field(min_length=1)


StorageMount: TypeAlias = S3Mount | GCSMount | R2Mount | AzureBlobMount
MOUNTS: Final = (S3Mount, GCSMount, R2Mount, AzureBlobMount)
Entry: TypeAlias = InlineFile | Directory | LocalFile | LocalDirectory | GitRepository | StorageMount
EntryType: TypeAlias = Literal[
    "file", "dir", "localFile", "localDir", "gitRepo", "s3Mount", "gcsMount", "r2Mount", "azureBlobMount"
]


class WorkspaceManifest(_Model):
    """The entries by their paths, relative to the workspace and below it; and variables for its commands.

    Directories are made first, then repositories are cloned, and the rest comes in the order given. Only below a
    ``dir`` or a ``localDir`` may other entries lie.
    """

    entries: dict[str, Annotated[Entry, Field(discriminator="type")]] = Field(max_length=ENTRIES_MAX)
    environment: dict[str, str] = Field(default_factory=dict, max_length=ENVIRONMENT_MAX)

    @field_validator("environment")
    @classmethod
    def _usable_environment(cls, environment: dict[str, str]) -> dict[str, str]:
        for name, value in environment.items():
            if _VARIABLE.fullmatch(name) is None:
                raise ValueError(f"{shown(name)} is no name of a variable; use letters, digits and _, 100 at most")
            if _UNUSABLE.search(value):
                raise ValueError(f"the value of {name} holds a line end, a NUL or half a character; leave that out")
            if len(value.encode()) > VALUE_MAX_BYTES:
                raise ValueError(f"the value of {name} has more than {VALUE_MAX_BYTES:,} bytes")
        return environment

    @model_validator(mode="after")
    def _clones_run_nothing(self) -> WorkspaceManifest:
        repositories = [path for path, entry in self.entries.items() if isinstance(entry, GitRepository)]
        if repositories:
            for name in self.environment:
                _check_beside_clones(name)
        if len(repositories) > 1:
            for path in repositories:
                check_place_beside_clones(path)
        return self

    @model_validator(mode="after")
    def _paths_fit(self) -> WorkspaceManifest:
        paths = PathTable()
        total = 0
        for path, entry in self.entries.items():
            paths.add(check_path(path), place_of(entry))
            total += len(entry.content) if isinstance(entry, InlineFile) else 0
        if total > INLINE_TOTAL_MAX_BYTES:
            raise ValueError(
                f"the inline files hold {total:,} characters; {INLINE_TOTAL_MAX_BYTES:,} are the most. Use localFile "
                "or localDir entries instead"
            )
        return self


def _check_beside_clones(name: str) -> None:
    try:
        check_variable(name)
    except ValueError as error:
        raise ValueError(f"environment: {error}") from None


def place_of(entry: Entry) -> Literal["leaf", "implied", "directory"]:
    """What other entries may be at or below the entry's path."""
    return "directory" if isinstance(entry, Directory | LocalDirectory) else "leaf"


def parse_manifest(document: Mapping[str, Any]) -> WorkspaceManifest:
    """The manifest that a document (JSON, or YAML of the same shape) describes.

    Raises:
        ManifestRefusedError: it describes none; the text says where and why.
    """
    try:
        return WorkspaceManifest.model_validate(document)
    except ValidationError as error:
        raise ManifestRefusedError(_told(error)) from None


def _told(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    told = [_problem(problem["loc"], problem["msg"]) for problem in problems[:_TOLD_MAX]]
    more = len(problems) - len(told)
    return "; ".join([*told, *([f"and {more} more"] if more else [])])


def _problem(place: tuple[int | str, ...], message: str) -> str:
    names = [shown(part) if _PLAIN.fullmatch(part) is None else part for part in map(str, place)]
    where = ".".join(names)
    text = message.removeprefix("Value error, ")
    return f"{where}: {text}" if where else text


_TOLD_MAX: Final = 5
_OCTAL: Final = re.compile(r"0?[0-7]{3}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_UNUSABLE: Final = re.compile("[\0\r\n\ud800-\udfff]")
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
