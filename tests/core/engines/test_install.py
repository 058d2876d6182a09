"""Installing from a small index with real pip: whole or not at all, and the old one works until then."""

import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.core import locks
from app.core.engines.install import Phase, check_engine, install_engine, remove_engine
from app.core.engines.locations import engine_folder, installable, put_back
from app.core.engines.stamp import this_python
from app.core.engines.variants import Variant
from app.core.errors import AppError, UsageError
from app.core.paths import Paths
from tests.conftest import ROOT
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


def test_an_installation_replaces_the_old_one_says_what_it_is_and_leaves_nothing_else(
    paths: Paths, old: str, index: Index, variant: Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = shutil.disk_usage(paths.data)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: free._replace(free=10))
        with pytest.raises(AppError, match=said("engines.no_room", free_bytes="10 B").pattern) as refused:
            install_engine(paths, variant)
    assert refused.value.advice_text is not None
    with sure(locks.acquire(paths.locks / "engine-torch.lock")):
        for act in (
            lambda: install_engine(paths, variant),
            lambda: remove_engine(paths, "torch"),
            lambda: check_engine(paths, "torch"),
        ):
            with pytest.raises(AppError, match=said("engines.busy", title="PyTorch").pattern):
                act()
    assert version_of(paths) == old
    phases: list[tuple[Phase, int, int]] = []
    stamp = install_engine(paths, variant, progress=lambda *each: phases.append(each))
    assert (stamp.engine, stamp.variant, stamp.version) == ("torch", "cpu", "2.0")
    assert (stamp.python, stamp.platform) == (this_python(), sysconfig.get_platform())
    assert {(f"{each.name}-{each.version}-py3-none-any.whl", each.sha256) for each in stamp.packages} == {
        (name, sha256(content)) for name, content in index.wheels.items()
    }
    assert all(each.is_locked for each in stamp.packages)
    assert version_of(paths) == "2.0"
    assert (names_in(paths.engines), names_in(paths.downloads)) == ({"torch"}, set())
    assert names_in(paths.engines / "torch") == {"engine.json", "packages"}
    assert {phase for phase, _, _ in phases} == {"resolve", "download", "unpack", "check", "try"}
    whole_bytes = sum(map(len, index.wheels.values()))
    assert ("download", whole_bytes, whole_bytes) in phases
    packages = paths.engines / "torch" / "packages"
    (packages / "torch" / "__pycache__" / "own.pyc").write_bytes(b"Python's own")
    assert check_engine(paths, "torch").problems == ()
    (packages / "torch" / "data.bin").write_bytes(b"x")
    (packages / "keras" / "data.bin").unlink()
    checkup = check_engine(paths, "torch")
    assert (checkup.state, checkup.stamp) == ("damaged", stamp)
    assert [problem.arguments["names"] for problem in checkup.problems] == [["keras/data.bin", "torch/data.bin"]]
    (packages / "torch-2.0.dist-info" / "RECORD").write_text("not, a\nRECORD", encoding="utf-8")
    (problem,) = check_engine(paths, "torch").problems
    assert problem.arguments["names"] == ["keras/data.bin", "torch-2.0.dist-info/RECORD"]
    assert remove_engine(paths, "torch").freed_bytes == stamp.size_bytes
    assert not paths.engines.exists()


@pytest.mark.long
def test_what_no_lock_vouches_for_is_pinned_by_build_and_noted(paths: Paths, index: Index, tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(f"keras==1.0 --hash=sha256:{index.add('keras', '1.0')}\n", encoding="utf-8")
    index.states = None  # as PyTorch's own index often does
    for version in ("2.0", "2.0+cu1", "2.0+cpu"):
        index.add("torch", version)
    pins = ("torch==2.0+cpu",)
    built = Variant(engine="torch", name="cpu", system="Linux", lock=str(lock), pins=pins, index=index.url)
    noted = {each.name: (each.version, each.is_locked) for each in install_engine(paths, built).packages}
    assert noted == {"keras": ("1.0", True), "torch": ("2.0+cpu", False)}


def test_sources_are_built_and_only_their_own_index_is_asked(
    paths: Paths, old: str, index: Index, tmp_path: Path
) -> None:
    """As of AMD's build, whose own index has a package only as source code, while others have the same names."""
    lock = tmp_path / "lock.txt"
    lock.write_text(f"keras==1.0 --hash=sha256:{index.add('keras', '1.0')}\n", encoding="utf-8")
    index.add("torch", "2.0+rocm1")
    index.add("rocm", "1.0")
    pins, sources = ("torch==2.0+rocm1",), ("rocm==1.0",)
    with serving() as amd:
        amd.states = None
        amd.add("torch", "2.0+rocm1", "# AMD's")
        name, content = make_sources("rocm", "1.0")
        amd.wheels[name] = content
        built = Variant(engine="torch", name="rocm1", system="Linux", lock=str(lock), pins=pins, index=amd.url)
        variant = replace(built, asks_for_more=True, is_alone=True, sources=sources)
        with pytest.raises(AppError, match=said("engines.card_failed", title="PyTorch", variant="rocm1").pattern):
            install_engine(paths, replace(variant, is_untried=True))
        assert version_of(paths) == old, "one that nobody tried is installed only if its card computes"
        stamp = install_engine(paths, variant)
    noted = {each.name: (each.version, each.is_locked) for each in stamp.packages}
    assert noted == {"keras": ("1.0", True), "torch": ("2.0+rocm1", False), "rocm": ("1.0", False)}
    packages = paths.engines / "torch" / "packages"
    assert "# AMD's" in (packages / "torch" / "__init__.py").read_text(encoding="utf-8")
    assert (packages / "rocm.py").is_file()
    assert not {name for _, name, _ in index.asked} & {"torch", "rocm"}


def other_torch(index: Index) -> None:
    index.wheels = {name: content for name, content in index.wheels.items() if "torch-2" not in name}
    index.add("torch", "2.0+other")


def changed_torch(index: Index) -> None:
    name, other = make_wheel("torch", "2.0", "# other")
    stated, index.wheels[name] = sha256(index.wheels[name]), other
    index.states = lambda content: stated if content == other else sha256(content)


def stop(index: Index) -> None:
    index.shutdown()
    index.server_close()


# What is wrong with an index, and the message and advice.
BAD_INDEXES: dict[str, tuple[dict[str, object] | Callable[[Index], object], str, str]] = {
    "wrong checksums": ({"states": lambda content: sha256(content + b"x")}, "other_file", "check_connection"),
    "changed file": (changed_torch, "other_file", "check_connection"),
    "other build": (other_torch, "not_on_offer", "check_connection"),
    "unreachable": (stop, "index_unreachable", "check_connection"),
    "login page": ({"other_page": (b"Please sign in", "text/html")}, "index_unreachable", "check_connection"),
    "pages 401": ({"page_status": 401}, "login_needed", "check_pip_login"),
    "pages 404": ({"page_status": 404}, "index_lacks_it", "check_connection"),
    "pages 503": ({"page_status": 503}, "index_answered", "check_connection"),
    "files 403": ({"file_status": 403}, "login_needed", "check_pip_login"),
    "files 404": ({"file_status": 404}, "index_lacks_it", "check_connection"),
}


@pytest.mark.parametrize("name", BAD_INDEXES)
def test_a_bad_index_changes_nothing_and_is_explained(
    paths: Paths, old: str, index: Index, variant: Variant, name: str
) -> None:
    spoil, reason, advice = BAD_INDEXES[name]
    spoil(index) if callable(spoil) else index.__dict__.update(spoil)
    with pytest.raises(AppError) as refused:
        install_engine(paths, variant)
    assert said(f"engines.{reason}").is_all_of(refused.value.message_text)
    assert said(f"engines.{advice}").is_all_of(refused.value.advice_text)
    assert version_of(paths) == old
    assert names_in(paths.engines) == {"torch"}
    if name == "wrong checksums":
        assert not {("GET", name, None) for name in index.wheels} & {*index.asked}, "it is refused before"


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


@pytest.mark.long
@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import no_such_library", "PyTorch can't be imported .*no_such_library"),
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


@pytest.mark.long
@pytest.mark.parametrize(("head", "states_sizes"), [(403, True), (500, False), (None, False)])
def test_foreign_variables_lead_nowhere_and_an_index_need_not_tell_sizes(
    paths: Paths,
    index: Index,
    variant: Variant,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    head: int | None,
    states_sizes: bool,
) -> None:
    index.head_status, index.states_sizes = head, states_sizes
    (tmp_path / "own" / "torch").mkdir(parents=True)
    (tmp_path / "own" / "torch" / "__init__.py").write_text("raise SystemExit(9)", encoding="utf-8")
    limits, settings = tmp_path / "limits.txt", tmp_path / "pip.conf"
    limits.write_text("torch<2\n", encoding="utf-8")
    lines = ["[global]", "require-virtualenv = true", "user = true", "require-hashes = true"]
    settings.write_text("\n".join([*lines, f"constraint = {limits}"]), encoding="utf-8")
    places = {"PYTHONPATH": tmp_path / "own", "PIP_TARGET": tmp_path / "elsewhere", "PIP_CONSTRAINT": limits}
    pip = {"PIP_REQUIRE_HASHES": 1, "PIP_REQUIRE_VIRTUALENV": 1, "PIP_USER": 1, "PIP_QUIET": 3}
    for name, value in {**places, **pip, "PIP_CONFIG_FILE": settings, "KERAS_BACKEND": "jax"}.items():
        monkeypatch.setenv(name, str(value))
    install_engine(paths, variant)
    assert version_of(paths) == "2.0"
    assert not (tmp_path / "elsewhere").exists()


def start(where: str, paths: Paths, variant: Variant) -> "subprocess.Popen[str]":
    arguments = ["-m", "tests.core.engines.engine_child", where, str(paths.data.parent), variant.lock]
    return subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def kill_in(where: str, paths: Paths, variant: Variant) -> None:
    with start(where, paths, variant) as process:
        if where != "rename":
            assert sure(process.stdout).readline() == "stopped\n"
            process.kill()
        assert process.wait() != 0


@pytest.mark.long
@pytest.mark.parametrize("where", ["download", "unpack", "try"])
def test_killed_while_it_is_made(paths: Paths, variant: Variant, where: str) -> None:
    stamp = put_engine(paths.engines / "torch")
    kill_in(where, paths, variant)
    assert len(names_in(paths.engines)) == 2
    assert engine_folder(paths, "torch").look().stamp == stamp
    assert check_engine(paths, "torch").state == "ready"
    assert names_in(paths.engines) == {"torch"}


@pytest.mark.long
def test_killed_between_the_renames_the_old_one_is_put_back(paths: Paths, variant: Variant) -> None:
    stamp = put_engine(paths.engines / "torch")
    kill_in("rename", paths, variant)
    assert engine_folder(paths, "torch").look().state == "absent"
    put_back(paths, "torch")
    assert engine_folder(paths, "torch").look().stamp == stamp
    install_engine(paths, variant)
    assert names_in(paths.engines) == {"torch"}


@pytest.mark.long
def test_a_removal_takes_what_a_killed_installation_left(paths: Paths, variant: Variant) -> None:
    kill_in("unpack", paths, variant)
    assert names_in(paths.engines)
    assert names_in(paths.downloads)
    assert remove_engine(paths, "torch").was_there
    assert not paths.engines.exists()
    assert names_in(paths.downloads) == set()
    assert not remove_engine(paths, "torch").was_there


def test_both_are_installed_whole_and_can_be_imported(installed_engines: Paths) -> None:
    for engine in installable():
        checkup = check_engine(installed_engines, engine)
        assert (checkup.state, checkup.problems) == ("ready", ())
        noted = [package.name for package in sure(checkup.stamp).packages if not package.is_locked]
        assert noted in ([], ["torch"])
