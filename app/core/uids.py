"""Names of runs and plans, the same in the database, result files, QR codes and pictures. They tell nothing."""

import hashlib
import secrets
import string
from typing import Annotated

import msgspec

LENGTH = 10
Uid = Annotated[str, msgspec.Meta(pattern=rf"^[a-z]{{{LENGTH}}}$")]


def new_uid() -> str:
    return "".join(secrets.choice(string.ascii_lowercase) for _ in range(LENGTH))


def derived_uid(*parts: object) -> str:
    """Return the name that follows from other facts, for results of versions without names."""
    number = int.from_bytes(hashlib.sha256(" ".join(map(str, parts)).encode()).digest())
    letters = []
    for _ in range(LENGTH):
        number, letter = divmod(number, len(string.ascii_lowercase))
        letters.append(string.ascii_lowercase[letter])
    return "".join(letters)
