"""What tests of pages share: an archive that passes for the official one of CIFAR-10, and a server of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archives import FILE, make_archive, passing
from tests.core.datasets.server import Server, serving
from workloads.datasets import cifar10


@pytest.fixture
def official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    archive = make_archive(tmp_path / "official.tar.gz")
    monkeypatch.setattr(cifar10, "SOURCE", passing(cifar10.SOURCE, {FILE: archive.read_bytes()}))
    return archive


@pytest.fixture
def server(official: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving() as server:
        server.content = official.read_bytes()
        monkeypatch.setattr(cifar10, "SOURCE", passing(cifar10.SOURCE, {FILE: server.content}, server.url))
        yield server
