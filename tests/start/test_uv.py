"""How start.py finds uv, pip, an index and a Python."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

from tests.start import starting
from tests.start.starting import environment, make_wheel, on_posix, put_program, run_start, served_folder

# uv and pip


@pytest.mark.slow
@on_posix
def test_uv_comes_from_pip_where_there_is_none(bare: ModuleType, tmp_path: Path) -> None:
    project = bare.ROOT
    uv = Path(sys.executable).with_name("uv")
    pin = make_wheel(project / "wheels", "uv", "9.9", {"uv-9.9.data/scripts/uv": f'#!/bin/sh\nexec "{uv}" "$@"\n'})
    (project / "packaging" / "requirements" / "uv.txt").write_text(f"#\n{pin}", encoding="utf-8")
    elsewhere = str(tmp_path / "elsewhere")
    done = run_start(
        project, "0", PATH="/usr/bin:/bin", PIP_USER="1", PIP_REQUIRE_VIRTUALENV="1", PIP_TARGET=elsewhere
    )
    assert done.returncode == 0, done.stderr
    assert (project / ".uv" / "uv-9.9" / "bin" / "uv").exists()
    assert not (tmp_path / "elsewhere").exists()


@on_posix
@pytest.mark.parametrize(("version", "is_used"), [("uv 0.9.0 (x)", True), ("uv 0.4.30", False), ("", False)])
def test_only_a_recent_uv_of_the_user_is_used(
    bare: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, is_used: bool
) -> None:
    put_program(tmp_path / "bin", "uv", f"echo '{version}'")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    made = bare.OWN / "draft"
    monkeypatch.setattr(bare, "run", lambda *_, **__: made.mkdir())
    found = bare.find_uv(dict(os.environ), 0)
    assert (found == str(tmp_path / "bin" / "uv")) is is_used
    assert made.exists() is False


def hide(module: ModuleType, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    find = module.find_module
    monkeypatch.setattr(module, "find_module", lambda name: None if name in names else find(name))
    monkeypatch.setattr(module.sysconfig, "get_config_var", lambda name: "/nowhere")


@pytest.mark.slow
def test_pip_comes_from_the_bundled_wheel_where_it_is_not_installed(
    bare: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    if bare.find_module("ensurepip") is None:
        pytest.skip("this Python has no ensurepip")
    assert bare.find_pip("") == [sys.executable, "-m", "pip"]
    find = bare.find_module
    monkeypatch.setattr(bare, "find_module", lambda name: None if name == "pip" else find(name))
    command = bare.find_pip("")
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("pip ")


@pytest.mark.parametrize(
    ("manager", "user_id", "words"),
    [
        ("apt-get", 1000, rf"type: sudo apt-get install python{sysconfig.get_python_version()}-venv, and start"),
        ("apt-get", 0, "type: apt-get install"),
        ("dnf", 1000, "sudo dnf install python3-pip"),
        ("pacman", 1000, "sudo pacman -S python-pip"),
        ("none", 1000, "install uv or pip"),
    ],
)
def test_without_pip_one_command_is_named(
    bare: ModuleType, monkeypatch: pytest.MonkeyPatch, manager: str, user_id: int, words: str
) -> None:
    hide(bare, monkeypatch, "pip", "ensurepip")
    monkeypatch.setattr(bare.shutil, "which", lambda name: name if name == manager else None)
    monkeypatch.setattr(bare.os, "geteuid", lambda: user_id, raising=False)
    with pytest.raises(bare.Fault, match=words):
        bare.find_pip("")


def test_pip_comes_from_the_users_index_where_there_is_none(
    bare: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(bare, monkeypatch, "pip", "ensurepip")
    pin = make_wheel(tmp_path / "files", "pip", "99.0", {"pip.py": ""})
    lock = bare.LOCKS / "cpu.txt"
    lock.write_text("# cpu\n" + pin.replace(" --hash", " \\\n    --hash"), encoding="utf-8")
    (tmp_path / "simple" / "pip").mkdir(parents=True)
    wheel = "pip-99.0-py3-none-any.whl"
    page = f'<a href="../../files/{wheel}#sha256=0">{wheel}</a>'
    (tmp_path / "simple" / "pip" / "index.html").write_text(page, encoding="utf-8")
    with served_folder(tmp_path) as address:
        assert bare.find_pip(f"{address}/simple/") == [sys.executable, str(bare.OWN / wheel / "pip")]
        lock.write_text(re.sub("sha256:[0-9a-f]{8}", "sha256:00000000", lock.read_text("utf-8")), encoding="utf-8")
        with pytest.raises(bare.Fault, match="differs from the one that was tested"):
            bare.find_pip(f"{address}/simple")
    with pytest.raises(bare.Fault, match="check the index"):
        bare.find_pip(f"{address}/simple")


# Settings


def test_uv_has_the_settings_of_pip(bare: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pip").mkdir()
    for name in ("PROGRAMDATA", "APPDATA", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    settings = "[global]\nindex-url = https://global/simple\nproxy = http://proxy:1\n"
    links = f"[install]\nfind-links =\n  https://a\n  {tmp_path}\n  /nowhere\n"
    (tmp_path / "pip" / "pip.conf").write_text(settings + links, encoding="utf-8")
    found = bare.uv_environment()
    assert found["UV_DEFAULT_INDEX"] == "https://global/simple"
    assert found["ALL_PROXY"] == "http://proxy:1"
    assert found["UV_FIND_LINKS"] == f"https://a,{tmp_path}"
    monkeypatch.setenv("PIP_INDEX_URL", "https://variable/simple")
    assert bare.uv_environment()["UV_DEFAULT_INDEX"] == "https://variable/simple"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://uv/simple")
    assert bare.uv_environment()["UV_DEFAULT_INDEX"] == "https://uv/simple"
    (tmp_path / "pip" / "pip.conf").write_text("no section", encoding="utf-8")
    assert "ALL_PROXY" not in bare.uv_environment()


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("error: Request failed after 3 retries\n  cause: error sending request for url", "be reached"),
        ("error: Failed to fetch: https://mirror/simple/absl-py/\n  cause: operation timed out", "be reached"),
        ("  cause: HTTP status client error (401 Unauthorized) for url (https://m/)", "answered 401 Unauthorized"),
        (
            "  cause: HTTP status server error (503 Service Unavailable) for url",
            "answered 503 Service Unavailable;",
        ),
        ("ERROR: HTTP error 403 while getting uv.whl", "answered HTTP error 403;"),
        ("  cause: invalid peer certificate: UnknownIssuer", "No trusted connection"),
        ("Caused by SSLError(SSLCertVerificationError(1, 'self-signed", "No trusted connection"),
        ("  cause: Hash mismatch for `tensorflow==2.21.0`", "differs from the one that was tested"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "differs from the one that was tested"),
        ("  cause: No space left on device (os error 28)", "disk became full"),
        ("  cause: Access is denied. (os error 5)", "cannot be written"),
        ("  cause: Read-only file system (os error 30)", "cannot be written"),
        ("tensorflow==2.21.0 has no wheels with a matching Python ABI tag (`cp315`)", r"Python \d\.\d+ on \w+"),
        ("ERROR: No matching distribution found for uv==0.13.9", r"no build for Python \d\.\d+ on \w+"),
        ("cause: Because there is no version of absl-py==2.5.1 and you require absl-py==2.5.1", "lacks a package"),
        ("error: Received some unexpected JSON from `http://127.0.0.1/simple/absl-py/`", "or is none"),
        ('error: Unsupported `Content-Type` "text/plain" for `http://127.0.0.1/simple/absl-py/`.', "or is none"),
        ("error: Something new", "^$"),
    ],
)
def test_faults_of_uv_and_pip_become_sentences(bare: ModuleType, output: str, words: str) -> None:
    assert re.search(words, bare.explain(output))


# Python


@pytest.mark.parametrize(
    ("implementation", "version", "has_gil", "is_suitable"),
    [
        ("CPython", (3, 11), True, True),
        ("CPython", (3, 14), True, True),
        ("CPython", (3, 15), True, True),
        ("CPython", (3, 14), False, False),
        ("CPython", (3, 10), True, False),
        ("PyPy", (3, 11), True, False),
    ],
)
def test_pythons_that_suit(
    bare: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    implementation: str,
    version: tuple[int, int],
    has_gil: bool,
    is_suitable: bool,
) -> None:
    monkeypatch.setattr(bare.platform, "python_implementation", lambda: implementation)
    monkeypatch.setattr(bare.sys, "version_info", (*version, 0))
    monkeypatch.setattr(bare.sysconfig, "get_config_var", lambda _: None if has_gil else 1)
    assert bare.is_suitable() is is_suitable


@on_posix
def test_another_python_of_this_computer_is_found_without_a_question(
    bare: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bare, "is_suitable", lambda: False)
    base = Path(sys._base_executable).parent  # type: ignore[attr-defined]
    variables = environment(bare.ROOT, PATH=str(base))
    uv = str(Path(sys.executable).with_name("uv"))
    assert Path(bare.find_python(uv, variables, 0, may_download=False)).name.startswith("python")


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="packs a Python as it lies on Linux")
@pytest.mark.parametrize(("answer", "may_download"), [("y", False), ("n", False), ("", False), (None, True)])
def test_a_python_is_downloaded_only_with_consent(
    bare: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str | None,
    may_download: bool,
) -> None:
    monkeypatch.setattr(bare, "is_suitable", lambda: False)
    monkeypatch.setattr(bare, "DOWNLOADED", sysconfig.get_python_version())
    monkeypatch.setattr("builtins.input", lambda: answer)
    monkeypatch.setattr(bare.sys.stdin, "isatty", lambda: answer is not None, raising=False)
    uv, variables = str(Path(sys.executable).with_name("uv")), bare.uv_environment() | {"PATH": ""}
    if answer in ("n", ""):
        with pytest.raises(bare.Fault, match="Install Python"):
            bare.find_python(uv, variables, 0, may_download)
    else:
        listed = starting.pack_python(tmp_path)
        with served_folder(tmp_path) as address:
            listed.write_text(listed.read_text("utf-8").replace("ADDRESS", address), encoding="utf-8")
            variables["UV_PYTHON_DOWNLOADS_JSON_URL"] = listed.as_uri()
            found = bare.find_python(uv, variables, 0, may_download)
        assert Path(found).is_relative_to(bare.OWN / "python")
    question = capsys.readouterr().err
    assert ("github.com" in question and str(bare.OWN) in question) is (answer is not None)


def test_without_a_terminal_a_command_is_named(bare: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "py install 3.13" if os.name == "nt" else "start.py --download-python"
    monkeypatch.setattr(bare, "is_suitable", lambda: False)
    monkeypatch.setattr(bare.sys.stdin, "isatty", lambda: False, raising=False)
    with pytest.raises(bare.Fault, match=words):
        bare.find_python("/nowhere/uv", {}, 0, may_download=False)
