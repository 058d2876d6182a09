"""CIFAR-10 as arrays: the synthetic twin is always the same, and real files are read pixel by pixel right."""

import errno
import io
import os
from pathlib import Path

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest
from numpy.typing import NDArray  # noqa: TID253 - as above

from tests.workloads.datasets.refusals import refusing
from workloads import CATALOGUE
from workloads.datasets import DATASETS, cifar10
from workloads.datasets.source import Arrays, MissingDataError, aligned_floats, is_aligned
from workloads.protocol.reporter import Emitter, Reporter
from workloads.protocol.spec import Job
from workloads.training import training

TWIN_SHA256 = "be0f7d31128d698843809ef200720c155916fd41da79e6f85c2dd7f0425b4507"


@pytest.fixture(scope="module")
def twin() -> Arrays:
    return cifar10.load(None)


@pytest.fixture(scope="module")
def records() -> NDArray[np.uint8]:
    """A file's worth of records whose every byte shows its place: record, plane, row and column."""
    number, plane, row, column = np.ogrid[:10_000, :3, :32, :32]
    pixels = (number * 7 + plane * 100 + row * 32 + column).astype(np.uint8)
    labels = (np.arange(10_000) % 10).astype(np.uint8)
    return np.concatenate([labels[:, None], pixels.reshape(10_000, 3072)], axis=1)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, records: NDArray[np.uint8]) -> Path:
    """Six full-size files; each is turned on by one record more, so that no two are the same."""
    folder = tmp_path_factory.mktemp("cifar10")
    for number, name in enumerate(cifar10.FILES):
        np.roll(records, number, axis=0).tofile(folder / name)
    cifar10.write_checksum(folder)
    return folder


@pytest.mark.slow
def test_the_twin_is_the_same_everywhere(twin: Arrays) -> None:
    assert (twin.source, twin.checksum) == ("synthetic", TWIN_SHA256)


@pytest.mark.slow
def test_the_twin_has_the_shapes_types_and_range_of_the_real_data(twin: Arrays) -> None:
    assert (twin.x_train.shape, twin.y_train.shape) == ((50_000, 32, 32, 3), (50_000, 1))
    assert (twin.x_test.shape, twin.y_test.shape) == ((10_000, 32, 32, 3), (10_000, 1))
    for images, labels in ((twin.x_train, twin.y_train), (twin.x_test, twin.y_test)):
        assert (images.dtype.name, labels.dtype.name) == ("float32", "int32")
        assert is_aligned(images)
        assert images.min() >= 0
        assert 0.9 < images.max() <= 1


@pytest.mark.slow
def test_all_ten_classes_are_about_equally_frequent(twin: Arrays) -> None:
    for labels in (twin.y_train, twin.y_test):
        shares = np.bincount(labels[:, 0], minlength=10) / len(labels)
        assert shares.shape == (10,)
        assert shares.min() > 0.09
        assert shares.max() < 0.11


@pytest.mark.slow
def test_the_twin_can_be_learnt_but_not_without_error(twin: Arrays) -> None:
    """Per class, the spectrum's magnitude (blind to shifts) of 5,000 images is enough to tell others apart."""

    def spectrum(images: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.abs(np.fft.fft2(images, axes=(1, 2)))[:, :6, :6].reshape(len(images), -1)[:, 3:]

    known, labels = spectrum(twin.x_train[:5_000]), twin.y_train[:5_000, 0]
    means = np.stack([known[labels == kind].mean(axis=0) for kind in range(10)])
    asked = spectrum(twin.x_test[:1_000])
    nearest = ((asked[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    assert 0.5 < (nearest == twin.y_test[:1_000, 0]).mean() < 0.95


@pytest.mark.slow
def test_real_files_are_read_plane_by_plane_and_row_by_row(installed: Path, records: NDArray[np.uint8]) -> None:
    found = cifar10.load(installed)
    assert found.source == "real"
    assert found.checksum != TWIN_SHA256
    assert (found.x_train.shape, found.x_train.dtype.name) == ((50_000, 32, 32, 3), "float32")
    for file in range(6):
        images, labels = (found.x_train, found.y_train) if file < 5 else (found.x_test, found.y_test)
        start = file * 10_000 if file < 5 else 0
        for record, row, column in ((0, 0, 0), (1, 31, 0), (4_999, 5, 17), (9_999, 31, 31)):
            raw = records[(record - file) % 10_000]
            red, green, blue = (raw[1 + plane * 1024 + row * 32 + column] for plane in range(3))
            expected = np.array([red, green, blue], np.float32) / np.float32(255)
            assert images[start + record, row, column].tolist() == expected.tolist()
            assert labels[start + record, 0] == raw[0]


@pytest.mark.slow
def test_all_values_of_the_real_files_arrive(installed: Path, records: NDArray[np.uint8]) -> None:
    found = cifar10.load(installed)
    planes = np.rint(found.x_test.transpose(0, 3, 1, 2) * 255).astype(np.uint8).reshape(10_000, 3072)
    assert np.array_equal(planes, np.roll(records, 5, axis=0)[:, 1:])
    assert found.x_test.min() == 0
    assert found.x_test.max() == 1


@pytest.mark.slow
def test_a_data_set_is_installed_only_with_all_its_files(installed: Path, tmp_path: Path) -> None:
    assert cifar10.is_installed(installed)
    assert not cifar10.is_installed(tmp_path)
    for name in cifar10.FILES:
        (tmp_path / name).hardlink_to(installed / name)
    assert not cifar10.is_installed(tmp_path), "the checksum is missing"
    cifar10.write_checksum(tmp_path)
    assert cifar10.is_installed(tmp_path)
    (tmp_path / "test_batch.bin").unlink()
    assert not cifar10.is_installed(tmp_path)
    (tmp_path / "test_batch.bin").write_bytes(b"short")
    assert not cifar10.is_installed(tmp_path)


@pytest.mark.parametrize("label", [10, 255])
def test_an_impossible_label_is_refused_with_the_files_name(
    tmp_path: Path, records: NDArray[np.uint8], label: int
) -> None:
    wrong = records.copy()
    wrong[9_999, 0] = label
    wrong.tofile(tmp_path / "data_batch_1.bin")
    with refusing(MissingDataError, "file=data_batch_1.bin .*idx.bad_label highest=9"):
        cifar10.load(tmp_path)


@pytest.mark.parametrize("change", [-1, 1, -30_730_000])
def test_a_file_of_another_size_is_refused_with_its_name(
    tmp_path: Path, records: NDArray[np.uint8], change: int
) -> None:
    raw = records.tobytes()
    (tmp_path / "data_batch_1.bin").write_bytes(raw[:change] if change < 0 else raw + b"x")
    with refusing(MissingDataError, f"other_size file=data_batch_1.bin .*size_bytes={len(raw) + change} "):
        cifar10.load(tmp_path)


def test_a_missing_file_is_refused_with_its_name(tmp_path: Path) -> None:
    with refusing(MissingDataError, f"unreadable file=data_batch_1.bin .*reason={os.strerror(errno.ENOENT)}"):
        cifar10.load(tmp_path)


@pytest.mark.parametrize("shape", [(1,), (3, 5), (10, 32, 32, 3)])
def test_float_arrays_can_be_shared_with_an_engine(shape: tuple[int, ...]) -> None:
    for _ in range(20):
        found = aligned_floats(*shape)
        assert (found.shape, found.dtype.name) == (shape, "float32")
        assert is_aligned(found)
    assert not is_aligned(aligned_floats(4, 4).T)


def test_the_official_source_is_stated_in_full() -> None:
    source = DATASETS["cifar10"].SOURCE
    (file,) = source.files
    assert (source.id, source.size_bytes, len(file.sha256 or "")) == ("cifar10", 170_052_171, 64)
    assert file.url == "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
    assert cifar10.FILE_BYTES == 30_730_000


def test_every_data_set_says_where_it_comes_from_and_under_which_licence() -> None:
    for dataset_id, module in DATASETS.items():
        source = module.SOURCE
        assert source.id == dataset_id
        assert source.title
        assert source.citation
        assert source.licence
        assert source.fetchable == (dataset_id != "ptb")
        for file in source.files:
            assert (file.url is not None) == source.fetchable
            assert file.url is None or file.url.endswith(f"/{file.name}")
            assert file.size_bytes is not None or not source.fetchable


@pytest.mark.long
def test_pixels_are_divided_by_what_is_asked_for(installed: Path) -> None:
    raw = cifar10.load(installed, scale=1)
    assert (raw.x_test.max(), raw.x_test.dtype.name) == (255, "float32")
    usual = cifar10.load(installed)
    assert np.array_equal(raw.x_test[:100] / np.float32(255), usual.x_test[:100])
    assert raw.checksum == usual.checksum


@pytest.mark.slow
def test_files_that_were_changed_are_not_called_real(installed: Path, tmp_path: Path) -> None:
    for name in (*cifar10.FILES, "contents.sha256"):
        (tmp_path / name).hardlink_to(installed / name)
    assert cifar10.load(tmp_path).source == "real"
    changed = bytearray((installed / "data_batch_3.bin").read_bytes())
    changed[5_000_000] ^= 1
    (tmp_path / "data_batch_3.bin").unlink()
    (tmp_path / "data_batch_3.bin").write_bytes(changed)
    assert cifar10.is_installed(tmp_path)
    with refusing(MissingDataError, "installed.changed title=CIFAR-10"):
        cifar10.load(tmp_path)


def test_an_inaccessible_folder_holds_no_data() -> None:
    workload = CATALOGUE["cifar10_keras_cnn"]
    stream = io.BytesIO()
    job = Job(spec=workload.default_spec(), datasets_folder=b"/" + b"x" * 300)
    assert training.real_folder(workload, job, Reporter(Emitter(stream))) is None
    assert stream.getvalue() == b""
