"""What can be done with a data set: all of it is refused or waits where one of it does."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from app.core.datasets.install import fetch_dataset, import_dataset, remove_dataset
from app.core.paths import Paths

NOBODY = "http://127.0.0.1:1/"  # listens there


def acts_on(
    paths: Paths, name: str, file: Path, url: str = NOBODY, waits: Callable[[], None] = lambda: None
) -> list[Callable[[], object]]:
    return [
        partial(import_dataset, paths, name, file, waits=waits),
        partial(fetch_dataset, paths, name, url, waits=waits),
        partial(remove_dataset, paths, name, waits),
    ]
