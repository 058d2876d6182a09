"""Finds private text that must not be shared, and replaces it."""

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import app
from app.core.errors import UsageError
from app.core.paths import default_paths
from app.core.redaction.names import Pattern, private_names
from app.core.storage.database import Database
from app.core.storage.documents import json_field, read_spec
from workloads import CATALOGUE
from workloads.protocol.parameters import Folders, folders_of
from workloads.protocol.spec import RunSpec, spec_as_dict


def private_texts() -> dict[str, str]:
    """Return the private text of this user and computer, with its replacements."""
    folders = {Path(sys.base_prefix): "<python>", Path(sys.prefix): "<python>"}
    folders[Path(app.__file__).parents[1]] = "<program>"
    names: dict[str, str] = {}
    with contextlib.suppress(UsageError):
        own = default_paths()
        folders |= dict.fromkeys((own.data, own.config, own.cache), "<epochmark>")
    with contextlib.suppress(RuntimeError):  # no passwd entry and no HOME
        home = Path.home()
        folders[home] = "~"
        names = {f"/{home.name}": "/user", f"\\{home.name}": "\\user"} if home.name else {}
    texts: dict[str, str] = {}
    for folder, stand_in in folders.items():
        if folder.name:  # HOME is / in some containers
            texts |= dict.fromkeys((*_spellings(folder), *_spellings(folder.resolve())), stand_in)
    # Longest first, because folders may be nested.
    return {text: texts[text] for text in sorted(texts, key=len, reverse=True)} | names | private_names()


def chosen_folders(spec: RunSpec) -> list[str]:
    """Return the folders in a run's spec, in order."""
    return [str(folder) for text in _folder_parameters(spec).values() for folder in folders_of(text)]


def chosen_texts(specs: Iterable[RunSpec]) -> dict[str, str]:
    """Return the folders in run specs as private text with replacements, longest first."""
    texts: dict[str, str] = {}
    for spec in specs:
        for number, folder in enumerate(chosen_folders(spec), 1):
            if Path(folder).name:
                texts |= dict.fromkeys(_spellings(Path(folder)), f"<folder {number}>")
    return {text: texts[text] for text in sorted(texts, key=len, reverse=True)}


def _spellings(folder: Path) -> tuple[str, ...]:
    """Return the forms in which a folder may appear in a message."""
    # Windows accepts both separators, and repr doubles backslashes.
    return str(folder), folder.as_posix(), repr(str(folder))[1:-1]


def table_private_texts(database: Database) -> dict[str, str]:
    """Return the private text for exporting a table, including the folders chosen for failed runs."""
    choosing = [
        workload.id
        for workload in CATALOGUE.values()
        if any(isinstance(parameter.kind, Folders) for parameter in workload.parameters)
    ]
    spec, error = json_field("record", "spec"), json_field("summary", "error_code")
    chosen = "workload IN (SELECT value FROM json_each(?))"
    sql = f"SELECT {spec} FROM runs WHERE {error} IS NOT NULL AND {chosen}"  # noqa: S608 - our own column names
    with database.complaints():
        rows = database.connection.execute(sql, (json.dumps(choosing),)).fetchall()
    return chosen_texts(read_spec(row[0], []) for row in rows) | private_texts()


def _folder_parameters(spec: RunSpec) -> dict[str, str]:
    """Return the values of a spec's parameters that are folders, by name."""
    workload = CATALOGUE.get(spec.workload)
    parameters = workload.parameters if workload else ()
    names = [parameter.name for parameter in parameters if isinstance(parameter.kind, Folders)]
    values = spec.parameters
    return {name: str(values[name]) for name in names if name in values}


def without_folders(spec: RunSpec) -> dict[str, Any]:
    """Return a spec as plain JSON types, with placeholders for its folders."""
    hidden = {
        name: os.pathsep.join(f"<folder {number}>" for number, _ in enumerate(folders_of(text), 1))
        for name, text in _folder_parameters(spec).items()
    }
    return spec_as_dict(spec) | {"parameters": spec.parameters | hidden}


def expressions(private: Mapping[str, str]) -> dict[str, str]:
    """Return private strings as regular expressions, with their replacements."""
    hidden = {}
    for secret, stand_in in private.items():
        expression = secret if isinstance(secret, Pattern) else re.escape(secret) + r"(?!\w)"
        # Names on Windows are case-insensitive.
        hidden[f"(?i:{expression})" if os.name == "nt" else str(expression)] = stand_in.replace("\\", r"\\")
    return hidden


def own_names(spec: RunSpec) -> dict[str, str]:
    """Return expressions for what the other computers of a run mustn't see of this one."""
    return expressions(chosen_texts([spec]) | private_texts())


def hidden(value: Any, private: Mapping[str, str]) -> Any:
    """Replace private strings in all texts of plain JSON types."""
    if isinstance(value, dict):
        return {name: hidden(part, private) for name, part in value.items()}
    if isinstance(value, list):
        return [hidden(part, private) for part in value]
    return hide(value, private) if isinstance(value, str) else value


def hide(text: str | None, private: Mapping[str, str]) -> str | None:
    """Replace private strings in text, except at the beginning of a longer word. None stays None."""
    if text is not None:
        for expression, stand_in in expressions(private).items():
            text = re.sub(expression, stand_in, text)
    return text
