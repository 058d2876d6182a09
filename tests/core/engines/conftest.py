"""A small index with an engine of two tiny packages, and a variant that installs it."""

import io
import os
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.engines.contents import check_contents
from app.core.engines.stamp import FORMAT, Package, Stamp, this_python, write_stamp
from app.core.engines.variants import LINUX, Variant
from tests.core.engines.index import Index, make_wheel, serving, sha256

KERAS = "import os\nassert os.environ['KERAS_BACKEND'] == 'torch'"


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Index]:
    for name in list(os.environ):
        if name.upper().startswith("PIP_"):
            monkeypatch.delenv(name)
    with serving() as index:
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        yield index


@pytest.fixture
def variant(index: Index, tmp_path: Path) -> Variant:
    return make_variant(index, tmp_path / "lock.txt")


def make_variant(index: Index, lock: Path, version: str = "2.0", code: str = "") -> Variant:
    """Offer Keras 1.0 and a torch; return the variant whose lock names them."""
    pins = {"keras==1.0": index.add("keras", "1.0", KERAS), f"torch=={version}": index.add("torch", version, code)}
    lock.write_text(
        "".join(f"{pin} \\\n    --hash=sha256:{each}\n" for pin, each in pins.items()), encoding="utf-8"
    )
    return Variant(engine="torch", name="cpu", system=LINUX, lock=str(lock))


def put_engine(folder: Path, version: str = "1.0", python: str | None = None) -> Stamp:
    """Make the folder that an installation of torch leaves, without installing; return its stamp."""
    packages = []
    for name, each in (("keras", "1.0"), ("torch", version)):
        raw = make_wheel(name, each)[1]
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            archive.extractall(folder / "packages")
        packages.append(Package(name, each, sha256(raw), is_locked=True))
    contents = check_contents(folder / "packages", lambda: None)
    stamp = Stamp(
        format=FORMAT,
        engine="torch",
        variant="cpu",
        version=version,
        python=python or this_python(),
        platform=sysconfig.get_platform(),
        packages=tuple(packages),
        records_sha256=contents.records_sha256,
        size_bytes=contents.size_bytes,
        installed_at="2026-11-22T17:00:00Z",
    )
    write_stamp(folder, stamp)
    return stamp
