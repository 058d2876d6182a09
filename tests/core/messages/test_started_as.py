"""Hints name the command as it was started, so that it can be typed again."""

import os
import sys
from pathlib import Path

import pytest

from app.core.messages import ENGLISH, sentence
from app.core.messages.started_as import START_PY_HERE, VARIABLE, as_started
from tests.saying import said

posix_only = pytest.mark.skipif(os.name != "posix", reason="how a POSIX shell quotes")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with the script that pip installs; nothing typed yet."""
    script = tmp_path / "bin" / ("epochmark.exe" if os.name == "nt" else "epochmark")
    script.parent.mkdir()
    script.write_text("", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent))
    monkeypatch.delenv(VARIABLE, raising=False)
    return script


def type_in(monkeypatch: pytest.MonkeyPatch, whole: list[str], arguments: list[str]) -> None:
    monkeypatch.setattr(sys, "orig_argv", whole)
    monkeypatch.setattr(sys, "argv", arguments)


@posix_only
@pytest.mark.parametrize(
    ("whole", "arguments", "hint"),
    [
        (["python3", "-m", "app", "results"], ["/x/app/__main__.py", "results"], "python3 -m app"),
        (["my python", "-P", "-m", "app"], ["/x/app/__main__.py"], "'my python' -P -m app"),
        (["python", "-m", "pytest", "-q"], ["/x/pytest/__main__.py", "-q"], "epochmark"),
        (["python"], [""], "epochmark"),
        (["python"], [], "epochmark"),
    ],
)
def test_a_module_is_named_as_it_was_typed(
    typed: Path, monkeypatch: pytest.MonkeyPatch, whole: list[str], arguments: list[str], hint: str
) -> None:
    type_in(monkeypatch, whole, arguments)
    assert said("workload.see_list").is_all_of(sentence("workload.see_list"))


def test_the_installed_script_is_named_alone_only_where_the_shell_finds_it(
    typed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    type_in(monkeypatch, [sys.executable, str(typed), "run"], [str(typed), "run"])
    assert said("workload.see_list").is_all_of(sentence("workload.see_list"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert said("workload.see_list").is_all_of(sentence("workload.see_list"))


def test_the_installed_program_of_windows_names_its_launcher(
    typed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    type_in(monkeypatch, [str(tmp_path / "python" / "pythonw.exe"), "-I", "-m", "epochmark"], ["__main__.py"])
    assert "pythonw.exe" in as_started("python3 start.py engine list")
    launcher = tmp_path / "epochmark.cmd"
    launcher.touch()
    assert as_started("python3 start.py engine list") == f"{launcher} engine list"


def test_what_start_py_says_comes_first_and_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "py start.py")
    assert said("workload.see_list").is_all_of(sentence("workload.see_list"))
    assert said("cli.use_start_py").is_all_of(sentence("cli.use_start_py"))
    monkeypatch.setenv(VARIABLE, "a {b} %s\x1b[31m\n" + "c" * 1000)
    hint = sentence("workload.see_list")
    assert len(hint) < 400
    assert "a {b} %s\\x1b[31m ccc" in hint
    monkeypatch.setenv(VARIABLE, "")
    assert said("cli.use_start_py").is_all_of(sentence("cli.use_start_py"))


def test_the_doctors_commands_can_be_typed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "py ../start.py")
    assert (
        as_started("sudo dmesg | python3 start.py doctor --log -") == "sudo dmesg | py ../start.py doctor --log -"
    )
    assert as_started("X=1 python3 start.py --repair") == "X=1 py ../start.py --repair"
    monkeypatch.delenv(VARIABLE)
    assert as_started("python3 start.py --repair") == f"{START_PY_HERE} --repair"
    assert as_started("python3 start.py engine list") == "epochmark engine list"
    assert as_started("nvidia-smi") == "nvidia-smi"
    assert as_started("python3 start.py") == "python3 start.py"


def test_no_sentence_names_a_command_without_its_program() -> None:
    verbs = ("run ", "ab ", "compare", "results ", "data ", "engine ", "logs ", "workloads", "hardware", "doctor")
    plain = [
        code
        for code, both in ENGLISH.items()
        for said in ([both] if isinstance(both, str) else both)
        if said.count("`") > 1 and any(f"`{verb}" in said for verb in (*verbs, "python", "epochmark"))
    ]
    assert plain == []
