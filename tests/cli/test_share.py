"""`results share`: a stored run becomes a picture, on machines without a display too."""

import struct
from pathlib import Path

import app
from app.core.exchange.png_embed import extract
from app.core.messages import sentence
from app.core.result_file.canonical import decode, short_code
from tests.cli.commands import sentence_of
from tests.conftest import ROOT, CommandLine
from tests.saying import said

PNG = b"\x89PNG\r\n\x1a\n"


def size_of(path: Path) -> tuple[int, int]:
    content = path.read_bytes()
    assert content.startswith(PNG)
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def test_a_run_becomes_a_picture_without_a_display(
    stored: CommandLine, environment: dict[str, str], tmp_path: Path
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        environment.pop(name, None)
    dark, light = tmp_path / "dark.png", tmp_path / "light.png"
    done = stored("results", "share", "1", "--output", str(dark))
    assert (done.returncode, done.stderr) == (0, "")
    assert said("cli.picture_saved", number="1", path=dark).is_all_of(done.stdout.strip())
    assert size_of(dark) == (1200, 630)
    (carried,) = decode(extract(dark.read_bytes()))
    assert (carried.spec.workload, carried.spec.epochs) == ("demo", 2), "the picture carries the result file"
    assert stored("results", "share", "1", "--output", str(light), "--theme", "light").returncode == 0
    assert light.read_bytes() != dark.read_bytes()
    options = ("--output", str(light), "--theme", "dark")
    again = stored("results", "share", "1", *options, DISPLAY=":nowhere", QT_QPA_PLATFORM="xcb")
    assert again.returncode == 0
    assert light.read_bytes() == dark.read_bytes()


def test_a_run_that_cannot_be_drawn_is_reported_in_a_sentence(
    stored: CommandLine, environment: dict[str, str], tmp_path: Path
) -> None:
    short = stored("run", "demo", "--steps", "2", "--epochs", "1", "--quiet")
    assert short.returncode == 0
    for arguments, why in (
        (("1", "--output", "a.jpg"), said("picture.not_png", name="a.jpg")),
        (("9", "--output", "a.png"), said("runs.unknown", run_ids="9")),
        (("2", "--output", "a.png"), said("share.no_result", run_id="2")),
        (("1", "--output", str(tmp_path / "missing" / "a.png")), said("export.not_written")),
    ):
        done = stored("results", "share", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert why.is_in(sentence_of(done))
    assert not list(ROOT.glob("a.*"))


def test_a_picture_needs_a_name_for_its_file(stored: CommandLine) -> None:
    done = stored("results", "share", "1")
    assert done.returncode == 2
    assert "--output" in sentence_of(done)


def test_if_qt_cannot_be_loaded_the_packages_to_install_are_named(stored: CommandLine, tmp_path: Path) -> None:
    broken = tmp_path / "broken" / "PySide6"
    broken.mkdir(parents=True)
    text = "raise ImportError('libEGL.so.1: cannot open shared object file')"
    (broken / "__init__.py").write_text(text, encoding="utf-8")
    done = stored("results", "share", "1", "--output", str(tmp_path / "a.png"), PYTHONPATH=str(broken.parent))
    assert done.returncode == 2
    reason = "libEGL.so.1: cannot open shared object file"
    assert said("start.qt_not_loaded", reason=reason).is_in(sentence_of(done))
    assert "sudo apt-get install " in done.stderr


def test_an_ab_becomes_a_picture(epochmark: CommandLine, tmp_path: Path) -> None:
    sides = ("--a", "batch=100", "--b", "batch=200")
    done = epochmark("ab", "demo", *sides, "--pairs", "1", "--epochs", "2", "--quiet")
    assert done.returncode == 0, done.stderr
    picture = tmp_path / "ab.png"
    done = epochmark("results", "share", "1", "--group", "--output", str(picture))
    assert (done.returncode, done.stderr) == (0, "")
    assert said("cli.picture_of_group_saved", number="1", path=picture).is_all_of(done.stdout.strip())
    assert size_of(picture) == (1200, 630)
    done = epochmark("results", "share", "9", "--group", "--output", str(picture))
    assert (done.returncode, done.stdout) == (2, "")
    assert said("groups.unknown", group_id="9").is_in(sentence_of(done))


def test_a_text_for_a_forum_without_what_is_left_out(stored: CommandLine) -> None:
    done = stored("results", "share", "1", "--text", "bbcode", "--without", "cpu, date")
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr, lines[0][:3], lines[1]) == (0, "", "[b]", "[list]")
    whole = stored("results", "share", "1", "--text", "bbcode").stdout
    dated = said("result.text_footer", version=app.__version__)
    assert dated.is_in(whole)
    assert not dated.is_in(done.stdout)
    wrong = stored("results", "share", "1", "--text", "plain", "--without", "verdict")
    assert wrong.returncode == 2
    assert said("exchange.not_removable", name="verdict").is_in(wrong.stderr)


def test_a_result_is_handed_in_with_every_field_shown(
    stored: CommandLine, environment: dict[str, str], tmp_path: Path
) -> None:
    target = tmp_path / "mine.epochmark.json"
    arguments = ("results", "submit", "1", "--output", str(target))
    done = stored(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert said("submit.no_address").is_in(done.stdout)
    settings = Path(environment["EPOCHMARK_HOME"]) / "config" / "settings.json"
    settings.write_text('{"collection_address": "https://example.org/results"}')
    done = stored(*arguments, "--without", "cpu,system")
    (result,) = decode(target.read_bytes())
    assert (result.machine.cpu_name, result.machine.os_name) == (None, None)
    shown = done.stdout
    fields = {line.split("  ")[0] for line in shown.splitlines()}
    assert sentence("label.workload") in fields
    assert not {sentence("part.cpu"), sentence("field.system")} & fields, "what was left out isn't in the file"
    assert said("submit.doubt", problem=said("table.no_workload", workload="demo")).is_in(shown)
    assert said("submit.sent").is_in(shown)
    assert said("submit.paste", address="https://example.org/results").is_in(shown)
    assert said("submit.text", codes=short_code(result.digest or ""), file="mine.epochmark.json").is_in(shown)
    refused = stored("results", "submit", "1", "--output", str(tmp_path / "no" / "x.json"))
    assert (refused.returncode, said("cli.no_place").is_in(refused.stderr)) == (2, True)
