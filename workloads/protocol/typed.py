"""Decodes and converts values to declared types, in any thread.

msgspec 0.22 crashes the process if two threads use a type for the first time simultaneously, because the second
thread finds an incomplete description of the type. Therefore, this module describes types one at a time.
"""

import threading
from typing import Any, TypeVar, overload

import msgspec

Kind = TypeVar("Kind")


class NotUtf8Error(msgspec.DecodeError):
    """The text isn't valid UTF-8."""


class TooDeepError(msgspec.DecodeError):
    """The JSON is nested too deeply."""


_describing = threading.RLock()
_described: set[Any] = set()


@overload
def convert(value: Any, kind: type[Kind]) -> Kind: ...
@overload
def convert(value: Any, kind: Any) -> Any: ...
def convert(value: Any, kind: Any) -> Any:
    """Convert plain values to a type, as `msgspec.convert` does, with the same errors."""
    _describe(kind)
    return msgspec.convert(value, kind)


@overload
def decode(content: bytes | str, kind: type[Kind]) -> Kind: ...
@overload
def decode(content: bytes | str, kind: Any) -> Any: ...
def decode(content: bytes | str, kind: Any) -> Any:
    """Parse JSON as a type, as `msgspec.json.decode` does. Raises msgspec.DecodeError for any invalid content."""
    _describe(kind)
    try:
        return msgspec.json.decode(content, type=kind)
    except UnicodeDecodeError as error:
        raise NotUtf8Error(str(error)) from error
    except RecursionError as error:
        raise TooDeepError(str(error)) from error


@overload
def decoder(kind: type[Kind]) -> msgspec.json.Decoder[Kind]: ...
@overload
def decoder(kind: Any) -> msgspec.json.Decoder[Any]: ...
def decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    with _describing:
        return msgspec.json.Decoder(kind)


def _describe(kind: Any) -> None:
    if kind not in _described:
        decoder(kind)
        _described.add(kind)
