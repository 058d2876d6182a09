"""Flower photos: the twin, photos that are packed for TensorFlow, and archives that are something else."""

import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archives import Change, adding, pack
from tests.child import told_by
from tests.workloads.datasets.refusals import refusing
from workloads.datasets import flowers
from workloads.datasets.flower_photos import Photos
from workloads.datasets.jpeg import jpeg_size
from workloads.datasets.source import HostileArchiveError, MissingDataError, UnfitError

START = b"\xff\xd8"
FRAMES = [0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF]
OTHERS = [number for number in range(0xC0, 0xFF) if number not in {*FRAMES, *range(0xD0, 0xDB)}]


def segment(marker: int, content: bytes) -> bytes:
    return bytes((0xFF, marker)) + (len(content) + 2).to_bytes(2, "big") + content


def frame(width: int, height: int, marker: int = 0xC0) -> bytes:
    return segment(marker, b"\x08" + height.to_bytes(2, "big") + width.to_bytes(2, "big") + b"\x01\x01\x11\x00")


sizes = st.integers(1, 65_535)
parts = st.lists(
    st.one_of(
        st.builds(segment, st.sampled_from(OTHERS), st.binary(max_size=30)),
        st.sampled_from([b"\xff\x01", b"\xff\xd0", b"\xff\xd7", b"\xff", b"\xff\xff"]),
        # A small picture of it, as cameras put in: a JPEG inside a segment.
        st.just(segment(0xE1, b"Exif" + START + frame(160, 120) + b"\xff\xd9")),
    ),
    max_size=5,
)


@given(parts, sizes, sizes, st.sampled_from(FRAMES), st.binary(max_size=20))
def test_the_size_is_found_whatever_precedes_it(
    before: list[bytes], width: int, height: int, marker: int, rest: bytes
) -> None:
    assert jpeg_size(START + b"".join(before) + frame(width, height, marker) + rest) == (width, height)


@given(parts, sizes, sizes, st.integers(0, 200))
def test_a_header_cut_before_the_size_is_refused(before: list[bytes], width: int, height: int, cut: int) -> None:
    whole = START + b"".join(before) + frame(width, height)[:9]
    with refusing(UnfitError, "^jpeg.(cut|bad_start)"):
        jpeg_size(whole[: max(0, len(whole) - 1 - cut)])


@given(st.binary(max_size=100), st.sampled_from([b"", START, START + b"\xff"]))
def test_no_contents_make_reading_fail_otherwise(noise: bytes, mark: bytes) -> None:
    try:
        width, height = jpeg_size(mark + noise)
    except ValueError:
        return
    assert (mark + noise).startswith(START)
    assert 0 < width <= 65_535
    assert 0 < height <= 65_535


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "jpeg.bad_start"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "jpeg.bad_start"),
        (START, "jpeg.cut"),
        (START + b"\xff\xd9", "jpeg.no_size"),
        (START + segment(0xDA, b"scan") + frame(4, 4), "jpeg.no_size"),
        (START + START + frame(4, 4), "jpeg.no_size"),
        (START + b"\xff\x00" + frame(4, 4), "jpeg.no_size"),
        (START + b"x" + frame(4, 4), "jpeg.bad_header position=2"),
        (START + frame(0, 4), "jpeg.no_pixels width=0 height=4"),
        (START + frame(4, 0), "jpeg.no_pixels width=4 height=0"),
        (START + b"\xff\xe0\x00\x00" * 3, "jpeg.(cut|bad_header)"),
    ],
)
def test_invalid_jpegs_are_refused(data: bytes, reason: str) -> None:
    with refusing(UnfitError, reason):
        jpeg_size(data)


@pytest.mark.slow
def test_a_long_run_of_filling_is_passed_over() -> None:
    assert jpeg_size(START + b"\xff" * 5_000_000 + frame(4, 3)) == (4, 3)


TWIN_SHA256 = "57fb15db99f1c035245a32803fa100335fad2a6a08590baf6835cd6c3db98798"
STUDYS_SHA256 = "00618654bea2b3b2f79d91a7a2f32ac37f622c56fbe8b2d617db0ef5135f2de7"
FILE = "flower_photos.tgz"
COUNTS = {"daisy": 3, "dandelion": 2, "roses": 1, "sunflowers": 2, "tulips": 2}


def jpeg(number: int, width: int = 8, height: int = 6) -> bytes:
    return START + segment(0xE0, b"JFIF" + bytes([number])) + frame(width, height) + b"picture"


MEMBERS = {
    f"flower_photos/{label}/{number}_ab{count}_n.jpg": jpeg(10 * count + number)
    for label, count in COUNTS.items()
    for number in range(count)
} | {"flower_photos/LICENSE.txt": b"CC-BY"}


@pytest.fixture(scope="module")
def twin() -> Photos:
    return flowers.load(None, size=64)


@pytest.fixture
def folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for ten photos."""
    monkeypatch.setattr(flowers, "COUNTS", COUNTS)
    monkeypatch.setattr(flowers, "TRAIN_COUNT", 7)
    monkeypatch.setattr(flowers, "TEST_COUNT", 3)
    return folder


def install(archive: Path, folder: Path) -> None:
    flowers.install({FILE: archive}, folder)


def test_the_twin_is_the_same_everywhere(twin: Photos) -> None:
    assert (twin.source, twin.checksum) == ("synthetic", TWIN_SHA256)
    assert flowers.load(None, size=331).checksum == STUDYS_SHA256


def test_the_twin_has_as_many_photos_as_the_real_data(twin: Photos) -> None:
    assert twin.pictures is not None
    assert (twin.pictures.shape, twin.pictures.dtype.name) == ((80, 64, 64, 3), "uint8")
    for which, labels, count in ((twin.train, twin.train_labels, 2_990), (twin.test, twin.test_labels, 680)):
        assert (len(which), len(labels), labels.dtype.name) == (count, count, "int32")
        assert len(np.unique(which)) == 80
        assert np.array_equal(labels, which // 16)
        assert np.bincount(labels).min() > count / 5 * 0.8


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_a_twin_can_have_any_size(size: int) -> None:
    pictures = flowers.load(None, size=size).pictures
    assert pictures is not None
    assert pictures.shape == (80, size, size, 3)


def test_the_twins_pictures_differ_and_their_colours_tell_the_class(twin: Photos) -> None:
    assert twin.pictures is not None
    assert len({picture.tobytes() for picture in twin.pictures}) == 80
    colours = twin.pictures.astype(float).mean(axis=(1, 2)).reshape(5, 16, 3)
    means = colours[:, :8].mean(axis=1)
    nearest = ((colours[:, 8:, None] - means) ** 2).sum(axis=-1).argmin(axis=-1)
    assert (nearest == np.arange(5)[:, None]).mean() > 0.6


def test_photos_are_stored_by_class_with_their_licence_and_nothing_else(tmp_path: Path, folder: Path) -> None:
    others = (
        "weeds/1.jpg",
        "roses/1.png",
        "roses/._1.jpg",
        "1.jpg",
        "roses/../../escaped.jpg",
        "../../escaped.jpg",
    )
    extras = [adding(f"flower_photos/{name}", jpeg(1)) for name in others]
    folders = [adding(f"flower_photos/{label}", kind=tarfile.DIRTYPE) for label in COUNTS]
    install(pack(tmp_path / "a.tgz", MEMBERS, *extras, *folders), folder)
    stored = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    assert stored.keys() == {
        *(name.removeprefix("flower_photos/") for name in MEMBERS),
        "photos.txt",
        "contents.sha256",
    }
    for name, content in MEMBERS.items():
        assert stored[name.removeprefix("flower_photos/")].read_bytes() == content
    assert flowers.is_installed(folder)


def test_real_photos_are_split_always_the_same_way(tmp_path: Path, folder: Path) -> None:
    members = dict(reversed(MEMBERS.items()))
    install(pack(tmp_path / "a.tgz", members), folder)
    found, again = (flowers.load(folder, size=size) for size in (32, 64))
    assert (found.source, found.pictures, found.size, again.size) == ("real", None, 32, 64)
    assert (len(found.train), len(found.test)) == (7, 3)
    assert sorted([*found.train.tolist(), *found.test.tolist()]) == list(range(10))
    assert found.train.tolist() != sorted(found.train.tolist())
    assert np.array_equal(found.train, again.train)
    labels = [*found.train_labels.tolist(), *found.test_labels.tolist()]
    for place, label in zip([*found.train.tolist(), *found.test.tolist()], labels, strict=True):
        assert found.paths[place].parent.name == list(COUNTS)[label]
    assert (found.train_labels.dtype.name, found.test_labels.dtype.name) == ("int32", "int32")


NEW, LICENCE = "flower_photos/tulips/9_n.jpg", "flower_photos/LICENSE.txt"
HOSTILE: dict[str, tuple[Change, str]] = {
    "doubled": (adding("flower_photos/daisy/0_ab3_n.jpg", jpeg(1)), "archive.twice file=daisy/0_ab3_n.jpg"),
    "doubled but for case": (
        adding("flower_photos/daisy/0_AB3_n.jpg", jpeg(1)),
        "archive.twice .*0_AB3_n.jpg",
    ),
    "one too many": (adding(NEW, jpeg(1)), "archive.photos found=3 kind=tulips expected=2"),
    "symlink": (adding(NEW, kind=tarfile.SYMTYPE, link="/etc/passwd"), f"archive.not_regular file={NEW}"),
    "licence as a link": (adding(LICENCE, kind=tarfile.SYMTYPE, link="x"), f"archive.not_regular file={LICENCE}"),
    "too large": (
        adding(NEW, START + bytes(5_000_000)),
        "too_large .* size_bytes=5000002 limit_bytes=5000000",
    ),
    "no jpeg": (adding(NEW, b"GIF89a"), f"archive.bad_jpeg file={NEW} reason=jpeg.bad_start"),
    "no size": (adding(NEW, START + b"\xff\xd9"), f"archive.bad_jpeg file={NEW} reason=jpeg.no_size"),
    "bomb": (
        adding(NEW, jpeg(1, 10_001, 10_000)),
        "too_many_pixels .* width=10001 height=10000 limit=100000000",
    ),
}


@pytest.mark.parametrize(("change", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_archive_is_refused(tmp_path: Path, folder: Path, change: Change, reason: str) -> None:
    with refusing(HostileArchiveError, reason):
        install(pack(tmp_path / "hostile.tgz", MEMBERS, change), folder)
    assert not flowers.is_installed(folder)
    assert not any(path.is_symlink() for path in folder.rglob("*"))


def test_a_missing_photo_is_refused(tmp_path: Path, folder: Path) -> None:
    few = {name: content for name, content in MEMBERS.items() if "roses" not in name}
    with refusing(HostileArchiveError, "archive.photos found=0 kind=roses expected=1"):
        install(pack(tmp_path / "few.tgz", few), folder)


def test_photos_that_were_changed_are_not_called_real(tmp_path: Path, folder: Path) -> None:
    install(pack(tmp_path / "a.tgz", MEMBERS), folder)
    photo = folder / "roses" / "0_ab1_n.jpg"
    photo.write_bytes(jpeg(99))
    with refusing(MissingDataError, "installed.changed title=Flower photos"):
        flowers.load(folder, size=32)
    photo.unlink()
    assert not flowers.is_installed(folder)
    with refusing(MissingDataError, "installed.unreadable file=roses/0_ab1_n.jpg"):
        flowers.load(folder, size=32)


@pytest.mark.parametrize("line", ["../../secret.jpg", "weeds/1.jpg", "/etc/passwd", "roses/1.png"])
def test_a_list_that_names_other_files_is_not_followed(tmp_path: Path, folder: Path, line: str) -> None:
    install(pack(tmp_path / "a.tgz", MEMBERS), folder)
    names = (folder / "photos.txt").read_text().splitlines()
    (folder / "photos.txt").write_text("\n".join([*names[:-1], line]))
    assert not flowers.is_installed(folder)
    with refusing(MissingDataError, "installed.file_changed file=photos.txt"):
        flowers.load(folder, size=32)


# Takes its time: TensorFlow is loaded, and packs photos in two ways, once for all tests.
@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process with TensorFlow found; "default" is what other engines do."""
    home = str(tmp_path_factory.mktemp("flowers"))
    found: dict[str, Any] = json.loads(told_by("-m", "tests.workloads.datasets.flower_child", home))
    return found


@pytest.fixture(params=["tensorflow", "default"])
def child(results: dict[str, Any], request: pytest.FixtureRequest) -> dict[str, Any]:
    """What it found of photos that one of the two packed."""
    found: dict[str, Any] = results[request.param]
    return found


@pytest.mark.engine
@pytest.mark.parametrize("reader", ["tensorflow", "default"])
def test_photos_are_packed_in_one_size_and_read_back_in_order(child: dict[str, Any], reader: str) -> None:
    real = child["real"]
    train, test = real["read"][reader]
    for examples, labels in zip((train, test), real["labels"], strict=True):
        assert [example["label"] for example in examples] == labels
        for example in examples:
            assert (example["size"], example["type"]) == ([32, 32], "float32 float32")
            wanted = ((250, 250, 250), (10, 10, 10), (250, 10, 10), (10, 250, 10), (10, 10, 250))[example["label"]]
            for name in ("middle", "edge"):  # the stripes at the sides are cut off
                assert max(abs(found - value) for found, value in zip(example[name], wanted, strict=True)) < 25
    assert [len(train), len(test)] == [15, 6]


@pytest.mark.engine
def test_photos_are_packed_once_for_each_size_and_leave_nothing_behind(child: dict[str, Any]) -> None:
    real = child["real"]
    assert real["shards"] == [f"tfrecords-32/photos-{number:02}.tfrec" for number in range(7)]
    assert real["told"] == [[done, 21] for done in range(3, 22, 3)]
    assert real["again"]
    assert real["other"] == 7
    own = {"contents.sha256", "photos.txt", "daisy", "dandelion", "roses", "sunflowers", "tulips"}
    assert set(real["names"]) == {*own, "tfrecords-16", "tfrecords-32", ".tfrecords-32-backup"}
    assert real["kept"] == [*(f"photos-{number:02}.tfrec" for number in range(7)), "thesis.tex"]
    assert real["installed"]


@pytest.mark.engine
def test_a_broken_photo_is_named_and_leaves_nothing_behind(child: dict[str, Any]) -> None:
    sentence, name = child["real"]["broken"]
    assert sentence == f"the flower photo {name} can't be decoded"
    assert child["real"]["left"] == child["real"]["names"]


@pytest.mark.engine
def test_the_twin_is_read_as_jpegs(child: dict[str, Any]) -> None:
    assert child["twin"] == {"same": True, "labels": True, "counts": [2_990, 680], "sizes": [[64, 64]]}
