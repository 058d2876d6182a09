"""Installing from a small index with real pip: whole or not at all, and the old one works until then."""

import shutil
import sysconfig
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.core import locks
from app.core.engines.install import Phase, check_engine, install_engine, remove_engine
from app.core.engines.locations import engine_folder
from app.core.engines.proving import trial_failure, try_import
from app.core.engines.stamp import Stamp, this_python
from app.core.engines.variants import Variant
from app.core.errors import AppError, UsageError
from app.core.paths import Paths
from tests.core.engines.conftest import make_variant, put_engine
from tests.core.engines.index import Index, make_sources, make_wheel, serving, sha256
from tests.saying import said
from tests.sure import sure
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


def version_of(paths: Paths) -> str | None:
    seen = engine_folder(paths, "torch").look()
    if seen.state != "ready":
        return None
    code = (paths.engines / "torch" / "packages" / "torch" / "__init__.py").read_text(encoding="utf-8")
    assert repr(sure(seen.stamp).version) in code
    return sure(seen.stamp).version


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


@pytest.fixture
def old(paths: Paths) -> str:
    return put_engine(paths.engines / "torch").version


def test_an_installation_is_whole_says_what_it_is_and_leaves_nothing_else(
    paths: Paths, index: Index, variant: Variant
) -> None:
    phases: list[tuple[Phase, int, int]] = []
    stamp = install_engine(paths, variant, progress=lambda *each: phases.append(each))
    assert (stamp.engine, stamp.variant, stamp.version) == ("torch", "cpu", "2.0")
    assert (stamp.python, stamp.platform) == (this_python(), sysconfig.get_platform())
    assert {(f"{each.name}-{each.version}-py3-none-any.whl", each.sha256) for each in stamp.packages} == {
        (name, sha256(content)) for name, content in index.wheels.items()
    }
    assert all(each.is_locked for each in stamp.packages)
    assert version_of(paths) == "2.0"
    assert names_in(paths.engines) == {"torch"}
    assert names_in(paths.engines / "torch") == {"engine.json", "packages"}
    assert names_in(paths.downloads) == set()
    assert {phase for phase, _, _ in phases} == {"resolve", "download", "unpack", "check", "try"}
    whole_bytes = sum(map(len, index.wheels.values()))
    assert ("download", whole_bytes, whole_bytes) in phases
    assert check_engine(paths, "torch").problems == ()
    assert remove_engine(paths, "torch").freed_bytes == stamp.size_bytes
    assert not paths.engines.exists()


@pytest.mark.long
def test_an_update_replaces_the_old_one(paths: Paths, old: str, variant: Variant) -> None:
    assert version_of(paths) == old
    install_engine(paths, variant)
    assert version_of(paths) == "2.0"
    assert names_in(paths.engines) == {"torch"}


@pytest.mark.long
def test_what_no_lock_vouches_for_is_pinned_by_build_and_noted(paths: Paths, index: Index, tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(f"keras==1.0 --hash=sha256:{index.add('keras', '1.0')}\n", encoding="utf-8")
    index.states = None  # as PyTorch's own index often does
    index.add("torch", "2.0")
    index.add("torch", "2.0+cu1")
    index.add("torch", "2.0+cpu")
    variant = Variant(
        engine="torch", name="cpu", system="Linux", lock=str(lock), pins=("torch==2.0+cpu",), index=index.url
    )
    stamp = install_engine(paths, variant)
    noted = {each.name: (each.version, each.is_locked) for each in stamp.packages}
    assert noted == {"keras": ("1.0", True), "torch": ("2.0+cpu", False)}
    assert check_engine(paths, "torch").state == "ready"


def make_untried(index: Index, amd: Index, lock: Path) -> Variant:
    """Offer a build whose own index has a package only as source code, and others have the same names."""
    lock.write_text(f"keras==1.0 --hash=sha256:{index.add('keras', '1.0')}\n", encoding="utf-8")
    index.add("torch", "2.0+rocm1")
    index.add("rocm", "1.0")
    amd.states = None
    amd.add("torch", "2.0+rocm1", "# AMD's")
    name, content = make_sources("rocm", "1.0")
    amd.wheels[name] = content
    return Variant(
        engine="torch",
        name="rocm1",
        system="Linux",
        lock=str(lock),
        pins=("torch==2.0+rocm1",),
        index=amd.url,
        asks_for_more=True,
        is_alone=True,
        sources=("rocm==1.0",),
    )


def test_sources_are_built_and_only_their_own_index_is_asked(paths: Paths, index: Index, tmp_path: Path) -> None:
    with serving() as amd:
        variant = make_untried(index, amd, tmp_path / "lock.txt")
        stamp = install_engine(paths, variant)
    noted = {each.name: (each.version, each.is_locked) for each in stamp.packages}
    assert noted == {"keras": ("1.0", True), "torch": ("2.0+rocm1", False), "rocm": ("1.0", False)}
    packages = paths.engines / "torch" / "packages"
    assert "# AMD's" in (packages / "torch" / "__init__.py").read_text(encoding="utf-8")
    assert (packages / "rocm.py").is_file()
    assert not {name for _, name, _ in index.asked} & {"torch", "rocm"}


@pytest.mark.long
def test_sources_are_built_from_a_folder_too(paths: Paths, index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "all packages"
    folder.mkdir()
    with serving() as amd:
        variant = make_untried(index, amd, tmp_path / "lock.txt")
        for name, content in {**index.wheels, **amd.wheels}.items():
            if not name.startswith("rocm-1.0-"):
                (folder / name).write_bytes(content)
        asked = len(index.asked), len(amd.asked)
        install_engine(paths, variant, folder)
        assert (len(index.asked), len(amd.asked)) == asked
    assert (paths.engines / "torch" / "packages" / "rocm.py").is_file()


def test_an_untried_build_is_installed_only_if_its_card_computes(
    paths: Paths, old: str, index: Index, tmp_path: Path
) -> None:
    with serving() as amd:
        variant = replace(make_untried(index, amd, tmp_path / "lock.txt"), is_untried=True)
        with pytest.raises(AppError, match=said("engines.card_failed", title="PyTorch", variant="rocm1").pattern):
            install_engine(paths, variant)
    assert version_of(paths) == old


@pytest.mark.parametrize(
    ("output", "failure"),
    [
        ('{"type": "import", "error": null, "duration_s": 1}\nnoise\n{"type": "end", "good": true}', None),
        (
            '{"type": "step", "name": "matmul", "error": "hipErrorInvalidImage"}\n{"type": "end", "good": false}',
            "hip",
        ),
        ('{"type": "import", "error": "ImportError: no rocm_sdk", "duration_s": null}', "ImportError"),
        ('{"type": "step", "name": "matmul", "error": null}\nSegmentation fault', ""),
        ('{"type": "end", "good": false}', ""),
        ("", ""),
    ],
)
def test_a_trial_counts_only_if_it_ended_well(output: str, failure: str | None) -> None:
    found = trial_failure(output)
    assert found is None if failure is None else sure(found).startswith(failure)
    assert bool(found) == bool(failure)


def lying_index(index: Index) -> None:
    index.states = lambda content: sha256(content + b"x")


def changed_files(index: Index) -> None:
    stated = {content: sha256(content) for content in index.wheels.values()}
    index.wheels = {
        name: make_wheel("torch", "2.0", "# other")[1] if "torch-2" in name else content
        for name, content in index.wheels.items()
    }
    expected = dict(zip(index.wheels.values(), stated.values(), strict=True))
    index.states = lambda content: expected[content]


def other_torch(version: str) -> Callable[[Index], object]:
    def offer(index: Index) -> None:
        index.wheels = {name: content for name, content in index.wheels.items() if "torch-2" not in name}
        index.add("torch", version)

    return offer


def old_torch_only(index: Index) -> None:
    name = next(name for name in index.wheels if name.startswith("torch-"))
    index.wheels[name.replace("2.0", "1.0")] = index.wheels.pop(name)


def stop(index: Index) -> None:
    index.shutdown()
    index.server_close()


def answering(**attributes: object) -> Callable[[Index], None]:
    """Return a function that makes an index answer with what `Index` describes."""
    return lambda index: index.__dict__.update(attributes)


JSON = "application/vnd.pypi.simple.v1+json"
_STATUSES = {
    401: ("engines.login_needed", "engines.check_pip_login"),
    403: ("engines.login_needed", "engines.check_pip_login"),
    404: ("engines.index_lacks_it", "engines.check_connection"),
    418: ("engines.index_answered", "engines.check_connection"),
    503: ("engines.index_answered", "engines.check_connection"),
}
_NO_INDEX = ("engines.index_unreachable", "engines.check_connection")
_NOT_ON_OFFER = ("engines.not_on_offer", "engines.check_connection")
_OTHER_FILE = ("engines.other_file", "engines.check_connection")
# What is wrong with an index, and the message and advice.
BAD_INDEXES: dict[str, tuple[Callable[[Index], object], tuple[str, str]]] = {
    "stating wrong checksums": (lying_index, _OTHER_FILE),
    "changed files": (changed_files, _OTHER_FILE),
    "other version": (other_torch("2.0.1"), _NOT_ON_OFFER),
    "other build": (other_torch("2.0+other"), _NOT_ON_OFFER),
    "old version": (old_torch_only, _NOT_ON_OFFER),
    "unreachable": (stop, ("engines.index_unreachable", "engines.check_connection")),
    "login page": (answering(other_page=(b"<html>Please sign in</html>", "text/html")), _NO_INDEX),
    "text": (answering(other_page=(b"hello", "text/plain")), _NO_INDEX),
    "no JSON": (answering(other_page=(b"{nope", JSON)), _NO_INDEX),
    "nested": (answering(other_page=(b"[" * 100_000, JSON)), _NO_INDEX),
    **{f"pages {status}": (answering(page_status=status), texts) for status, texts in _STATUSES.items()},
    **{f"files {status}": (answering(file_status=status), texts) for status, texts in _STATUSES.items()},
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if "files" in name else []) for name in BAD_INDEXES]
)
def test_a_bad_index_changes_nothing_and_is_explained(
    paths: Paths, old: str, index: Index, variant: Variant, name: str
) -> None:
    spoil, (reason, advice) = BAD_INDEXES[name]
    spoil(index)
    with pytest.raises(AppError) as refused:
        install_engine(paths, variant)
    assert said(reason).is_all_of(refused.value.message_text)
    assert said(advice).is_all_of(refused.value.advice_text)
    assert version_of(paths) == old
    assert names_in(paths.engines) == {"torch"}


def test_a_wrong_checksum_is_refused_before_the_download(paths: Paths, index: Index, variant: Variant) -> None:
    lying_index(index)
    with pytest.raises(AppError, match=said("engines.other_file").pattern):
        install_engine(paths, variant)
    assert not {("GET", name, None) for name in index.wheels} & {*index.asked}


@pytest.mark.long
@pytest.mark.parametrize("phase", ["resolve", "download", "unpack", "check", "try"])
def test_cancelling_changes_nothing(paths: Paths, old: str, variant: Variant, phase: Phase) -> None:
    def cancel(now: Phase, *_: int) -> None:
        if now == phase:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install_engine(paths, variant, progress=cancel)
    assert version_of(paths) == old
    assert names_in(paths.engines) == {"torch"}


@pytest.mark.long
def test_a_download_that_broke_off_is_resumed(paths: Paths, index: Index, variant: Variant) -> None:
    index.breaks_after_bytes = 500
    with pytest.raises(AppError, match=r"interrupted after 500 of [\d,]+ bytes"):
        install_engine(paths, variant)
    index.breaks_after_bytes = None
    install_engine(paths, variant)
    assert ("GET", "keras-1.0-py3-none-any.whl", "bytes=500-") in index.asked
    assert version_of(paths) == "2.0"


@pytest.mark.long
def test_a_silent_server_keeps_nobody_from_cancelling(paths: Paths, index: Index, variant: Variant) -> None:
    index.breaks_after_bytes = 500
    index.go_on.clear()
    index.sends_rest = True

    def cancel(phase: Phase, *_: int) -> None:
        if index.broke_off.is_set():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install_engine(paths, variant, progress=cancel)
    assert engine_folder(paths, "torch").look().state == "absent"
    index.go_on.set()
    wait_until(lambda: not any(thread.name == "engine download" for thread in threading.enumerate()))
    (part,) = (paths.downloads / "engines" / "torch").iterdir()
    assert part.name.endswith(".part")
    assert part.stat().st_size <= 500  # what came later was dropped


@pytest.mark.long
@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import no_such_library", "PyTorch can't be imported .*no_such_library"),
        ("import os; os.abort()", "PyTorch can't be used: importing it ended the process .exit code"),
        ("raise SystemExit(0)", "PyTorch can't be used: importing it ended the process .exit code 0."),
    ],
)
def test_an_engine_that_crashes_at_import_is_not_installed(
    paths: Paths, old: str, index: Index, tmp_path: Path, code: str, sentence: str
) -> None:
    broken = make_variant(index, tmp_path / "lock.txt", "2.0", code)
    with pytest.raises(AppError, match=sentence):
        install_engine(paths, broken)
    assert version_of(paths) == old


@pytest.mark.slow
def test_an_engine_whose_import_hangs_is_given_up(paths: Paths, tmp_path: Path) -> None:
    (tmp_path / "keras.py").write_text("import time; time.sleep(600)", encoding="utf-8")
    problem = sure(try_import("torch", tmp_path, paths, lambda: None, limit_s=1.0))
    assert problem.code == "engines.import_hangs"


@pytest.mark.long
def test_foreign_variables_lead_nowhere(
    paths: Paths, variant: Variant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own" / "torch").mkdir(parents=True)
    (tmp_path / "own" / "torch" / "__init__.py").write_text("raise SystemExit(9)", encoding="utf-8")
    limits, settings = tmp_path / "limits.txt", tmp_path / "pip.conf"
    limits.write_text("torch<2\n", encoding="utf-8")
    places = {"PYTHONPATH": tmp_path / "own", "PIP_TARGET": tmp_path / "elsewhere", "PIP_CONSTRAINT": limits}
    pip = {"PIP_REQUIRE_HASHES": 1, "PIP_REQUIRE_VIRTUALENV": 1, "PIP_USER": 1, "PIP_QUIET": 3}
    for name, value in {**places, **pip, "KERAS_BACKEND": "jax"}.items():
        monkeypatch.setenv(name, str(value))
    install_engine(paths, variant)
    assert version_of(paths) == "2.0"
    lines = ["[global]", "require-virtualenv = true", "user = true", "require-hashes = true"]
    settings.write_text("\n".join([*lines, f"constraint = {limits}"]), encoding="utf-8")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    install_engine(paths, variant)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.long
@pytest.mark.parametrize("head", [403, 405, 500, None])
@pytest.mark.parametrize("states_sizes", [True, False])
def test_an_index_need_not_say_how_large_its_files_are(
    paths: Paths, index: Index, variant: Variant, head: int | None, states_sizes: bool
) -> None:
    index.head_status, index.states_sizes = head, states_sizes
    install_engine(paths, variant)
    assert version_of(paths) == "2.0"


def test_a_folder_of_wheels_is_enough(
    paths: Paths, index: Index, variant: Variant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "my wheels"
    source.mkdir()
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/")
    with pytest.raises(AppError, match=said("engines.not_on_offer").pattern):
        install_engine(paths, variant, source)
    for name, content in index.wheels.items():
        (source / name).write_bytes(content)
    install_engine(paths, variant, source)
    assert version_of(paths) == "2.0"
    assert names_in(source) == set(index.wheels)
    assert index.asked == []
    with pytest.raises(UsageError, match=said("engines.no_such_folder").pattern):
        install_engine(paths, variant, source / "no")


def test_a_second_one_at_the_same_time_is_refused(paths: Paths, variant: Variant) -> None:
    hold = sure(locks.acquire(paths.locks / "engine-torch.lock"))
    with hold:
        for act in (
            lambda: install_engine(paths, variant),
            lambda: remove_engine(paths, "torch"),
            lambda: check_engine(paths, "torch"),
        ):
            with pytest.raises(AppError, match=said("engines.busy", title="PyTorch").pattern):
                act()


def test_a_full_disk_is_noticed_before_and_while(
    paths: Paths, old: str, variant: Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    total, used, _ = shutil.disk_usage(paths.data)
    full = type(shutil.disk_usage(paths.data))(total, used, 10)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: full)
        with pytest.raises(AppError, match=said("engines.no_room", free_bytes="10 B").pattern) as refused:
            install_engine(paths, variant)
    assert refused.value.advice_text is not None
    assert version_of(paths) == old


def test_a_check_finds_what_has_changed(paths: Paths, variant: Variant) -> None:
    stamp: Stamp = install_engine(paths, variant)
    packages = paths.engines / "torch" / "packages"
    (packages / "torch" / "__pycache__" / "own.pyc").write_bytes(b"Python's own")
    assert check_engine(paths, "torch").problems == ()
    (packages / "torch" / "data.bin").write_bytes(b"x")
    (packages / "keras" / "data.bin").unlink()
    checkup = check_engine(paths, "torch")
    assert checkup.state == "damaged"
    (problem,) = checkup.problems
    assert problem.arguments["names"] == ["keras/data.bin", "torch/data.bin"]
    assert (packages / "torch-2.0.dist-info" / "RECORD").write_text("not, a\nRECORD", encoding="utf-8")
    assert check_engine(paths, "torch").stamp == stamp
