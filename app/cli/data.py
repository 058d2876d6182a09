"""The `data` command: lists, downloads, imports and removes data sets. Only `fetch` uses the network."""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path

from app.cli.grammar import JSON, command, option
from app.cli.layout import Column
from app.cli.text import LiveLine, complain, say, say_json, say_table
from app.core.datasets.install import (
    InstalledDataset,
    fetch_dataset,
    import_dataset,
    list_datasets,
    remove_dataset,
)
from app.core.formats import format_file_size
from app.core.messages import sentence
from app.core.paths import Paths

_COLUMNS = (
    Column("heading.name"),
    Column("column.title", least=16),
    Column("column.state"),
    Column("button.download", is_right=True, order=3),
    Column("column.licence", least=16, order=2),
    Column("heading.source", order=1),
)


DATASET = option("dataset", "help.data_name", metavar="NAME")


@command("data list", JSON)
def show(options: argparse.Namespace, paths: Paths) -> int:
    datasets = list_datasets(paths)
    if options.json:
        say_json(json.dumps([asdict(dataset) for dataset in datasets], indent=2))
        return 0
    rows = [
        (
            dataset.id,
            dataset.title,
            _state(dataset),
            format_file_size(dataset.size_bytes) if dataset.size_bytes is not None else "",
            dataset.licence,
            _origin(dataset),
        )
        for dataset in datasets
    ]
    say_table(_COLUMNS, rows)
    return 0


def _state(dataset: InstalledDataset) -> str:
    if dataset.installed:
        return sentence("cli.data_installed")
    return sentence("cli.data_synthetic" if dataset.fetchable else "cli.data_yours")


def _origin(dataset: InstalledDataset) -> str:
    """Return the download address of the file or folder, or the names of the files the user must supply."""
    url = dataset.files[0].url
    if url is None:
        return sentence("cli.data_own_files", files=[file.name for file in dataset.files])
    return url if len(dataset.files) == 1 else url.removesuffix(dataset.files[0].name)


@command("data fetch", DATASET, option("--url"))
def fetch(options: argparse.Namespace, paths: Paths) -> int:
    fetch_dataset(paths, options.dataset, options.url, _Percent(), _waiting(options.dataset))
    say(sentence("cli.dataset_installed", dataset=options.dataset))
    return 0


@command("data import", DATASET, option("files", metavar="FILE", type=Path, nargs="+"))
def import_(options: argparse.Namespace, paths: Paths) -> int:
    import_dataset(paths, options.dataset, *options.files, waits=_waiting(options.dataset))
    say(sentence("cli.dataset_installed", dataset=options.dataset))
    return 0


@command("data remove", DATASET)
def remove(options: argparse.Namespace, paths: Paths) -> int:
    was_there = remove_dataset(paths, options.dataset, _waiting(options.dataset))
    code = "cli.dataset_removed" if was_there else "cli.dataset_was_not_installed"
    say(sentence(code, dataset=options.dataset))
    return 0


def _waiting(dataset_id: str) -> Callable[[], None]:
    """Return a function that reports once that another instance of Epochmark is using the data set."""
    return cache(lambda: complain(sentence("cli.waiting_for_other", dataset=dataset_id)))


class _Percent:
    """Shows the progress of a download: in place on a terminal, otherwise every 10 %."""

    def __init__(self) -> None:
        self._line = LiveLine(sys.stderr)
        self._last_pct = -1

    def __call__(self, done_bytes: int, total_bytes: int) -> None:
        percent = 100 * done_bytes // total_bytes
        if percent == self._last_pct or (not self._line.is_live and percent % 10):
            return
        self._last_pct = percent
        text = sentence("cli.download_progress", share_pct=percent, total_bytes=total_bytes)
        if self._line.is_live and done_bytes < total_bytes:
            self._line.draw(text)
        else:
            self._line.erase()
            complain(text)
