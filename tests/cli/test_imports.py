"""Results travel as two users carry them: out of one home in every form, pictures included, into an empty one."""

import json
import os
import re
import struct
from pathlib import Path

import msgspec
import pytest
from PySide6.QtGui import QImage

import app
from app.core.exchange.png_embed import extract
from app.core.messages import sentence
from app.core.paths import default_paths
from app.core.result_file.canonical import decode, file_bytes, sealed
from app.core.result_file.identity import uid_of
from app.core.result_file.short_form import short_form
from app.core.storage.database import Database
from app.core.titles import level_title
from app.gui.services.picture_code import scan_file
from tests.build import GOLDEN, golden
from tests.cli.commands import sentence_of
from tests.cli.test_text import steering
from tests.conftest import HINT, ROOT, CommandLine
from tests.saying import Saying, said
from workloads.engines.registry import NO_ENGINE, engine_title


@pytest.fixture
def other_home(tmp_path: Path) -> dict[str, str]:
    return {"EPOCHMARK_HOME": str(tmp_path / "another computer")}


def takes(output: str, what: str, code: str, **shown: object) -> bool:
    place, _, rest = output.splitlines()[0].partition(": ")
    return place == what and said(code, **shown).is_all_of(rest)


# As beside a bar: whose it is, its engine and its verdict.
CONDITIONS = f"{sentence('compare.imported_result')} · {engine_title(NO_ENGINE)} · {level_title('invalid')}"


def test_a_run_goes_to_another_computer_in_every_form(
    epochmark: CommandLine, other_home: dict[str, str], tmp_path: Path
) -> None:
    out = {name: str(tmp_path / name) for name in ("r.json", "p.png", "e.json", "e.csv")}
    done = epochmark("run", "demo", "--epochs", "2", "--quiet", "--output", out["r.json"])
    assert done.returncode == 0
    assert said("cli.runs_exported", count="1", path=out["r.json"]).is_all_of(done.stderr.strip())
    epochmark("results", "share", "1", "--output", out["p.png"])
    epochmark("results", "export", "--format", "json", "--output", out["e.json"])
    epochmark("results", "export", "--output", out["e.csv"])
    done = epochmark("import", out["p.png"], out["r.json"], **other_home)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert takes(lines[0], out["p.png"], "imports.taken", numbers="1")
    assert takes(lines[1], out["r.json"], "imports.present", numbers="1")
    for name, code in (("e.csv", "exchange.is_table"), ("e.json", "exchange.unknown_kind")):
        refused = epochmark("import", out[name], **other_home)
        assert (refused.returncode, said(code).is_in(refused.stderr)) == (1, True)
    assert CONDITIONS in epochmark("compare", "demo", **other_home).stdout
    (listed,) = json.loads(epochmark("import", "--list", "--json", **other_home).stdout)
    assert (listed["source"], listed["summary"]["workload"]) == ("p.png", "demo")
    jpeg = str(tmp_path / "forum.jpg")
    assert QImage(out["p.png"]).save(jpeg, "JPG", 60)  # type: ignore[call-overload]
    done = epochmark("import", jpeg, EPOCHMARK_HOME=str(tmp_path / "third"))
    assert done.returncode == 0
    assert takes(done.stdout, jpeg, "imports.taken", numbers="1")
    assert CONDITIONS in epochmark("compare", "demo", EPOCHMARK_HOME=str(tmp_path / "third")).stdout
    code = "EPOCHMARK1:NO-SUCH-THING"
    done = epochmark("import", code, **other_home)
    assert (done.returncode, said("short_form.wrong_letter").is_in(done.stderr)) == (1, True)
    own = epochmark("import", out["r.json"])
    assert takes(own.stdout, out["r.json"], "imports.own", numbers="1")


def test_both_sides_of_an_ab_go_to_another_computer_by_its_code(
    epochmark: CommandLine, other_home: dict[str, str], tmp_path: Path
) -> None:
    sides = ("--a", "step_s=0.002", "--b", "step_s=0.004")
    assert epochmark("ab", "demo", "--epochs", "2", "--pairs", "1", *sides).returncode == 0
    picture, jpeg = tmp_path / "ab.png", str(tmp_path / "forum.jpg")
    epochmark("results", "share", "1", "--group", "--output", str(picture))
    assert QImage(str(picture)).save(jpeg, "JPG", 60)  # type: ignore[call-overload]
    done = epochmark("import", jpeg, **other_home)
    assert (done.returncode, done.stderr) == (0, "")
    assert takes(done.stdout, jpeg, "imports.taken", count="2", numbers="1, 2")
    compared = epochmark("compare", "demo", **other_home).stdout
    assert compared.count(CONDITIONS) == 2
    assert said("compare.imported_numbered", number="1").is_in(compared)
    code = scan_file(Path(jpeg))
    done = epochmark("import", code.lower().replace(" ", "\n"), EPOCHMARK_HOME=str(tmp_path / "typed"))
    assert done.returncode == 0
    assert takes(done.stdout, sentence("exchange.pasted"), "imports.taken", count="2", numbers="1, 2")
    done = epochmark("import", str(picture), **other_home)
    assert said("imports.replaced", numbers="1, 2", count="2").is_in(done.stdout.splitlines()[0])


def test_what_is_refused_is_said_line_by_line_and_the_rest_comes_in(
    epochmark: CommandLine, tmp_path: Path
) -> None:
    bad = tmp_path / ("bad.json" if os.name == "nt" else "bad \x1b[31m.json")
    bad.write_bytes(GOLDEN.read_bytes()[:-50])
    done = epochmark("import", str(bad), str(GOLDEN), str(tmp_path / "none.png"))
    assert done.returncode == 1
    assert takes(done.stdout, str(GOLDEN), "imports.taken", count="4", numbers="1, 2, 3, 4")
    refused = done.stderr.splitlines()
    assert len(refused) == 2
    assert said("exchange.refused", problem=said("exchange.not_json")).is_in(refused[0])
    assert "\x1b" not in done.stderr
    assert "none.png" in refused[1]
    listed = epochmark("import", "--list").stdout
    assert uid_of(golden()[2]) in listed
    shown = epochmark("import", "--show", "3").stdout
    assert re.search(r"CPU +AMD EPYC\n", shown)
    assert re.search(r"spec.samples_per_epoch +60000\n", shown)
    assert json.loads(epochmark("import", "--show", "3", "--json").stdout)["digest"].startswith("67d0963f")
    assert epochmark("import", "--remove", "3").returncode == 0
    assert "67D0-963F" not in epochmark("import", "--list").stdout
    again = epochmark("import", "--remove", "3")
    assert again.returncode == 2
    assert said("imports.unknown", number="3").is_in(again.stderr)
    assert said("imports.see_list", epochmark=HINT).is_in(again.stderr)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("import",), said("imports.one_action")),
        (("import", "x.json", "--list"), said("imports.one_action")),
        (("import", "x.json", "--json"), said("imports.json_lists")),
        (("results", "export", "--format", "json", "--all"), said("cli.only_csv")),
        (("run", "demo", "--output", "/no such folder/x.json"), said("cli.no_place")),
        (("run", "demo", "--output", "-"), said("cli.result_to_file")),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(
    epochmark: CommandLine, arguments: tuple[str, ...], words: Saying
) -> None:
    done = epochmark(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words.is_in(done.stderr)


def test_a_run_without_a_result_writes_no_file_and_says_so(epochmark: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    done = epochmark("run", "demo", "--steps", "2", "--epochs", "1", "--quiet", "--output", str(path))
    assert done.returncode == 1
    assert said("result_file.no_results").is_in(done.stderr)
    assert not path.exists()


NASTY = "\x1b]0;owned\x07 \u202egnp.exe\u202c \u200b\u2066"


def test_imported_results_are_listed_apart_and_a_strangers_names_are_harmless(
    epochmark: CommandLine, environment: dict[str, str], tmp_path: Path
) -> None:
    assert said("imports.none").is_all_of(epochmark("import", "--list").stdout.strip())
    usual = next(filter(short_form, golden()))
    machine = msgspec.structs.replace(usual.machine, cpu_name="Threadripper")
    theirs = tmp_path / (f"{NASTY}.json" if os.name == "posix" else "theirs.json")
    theirs.write_bytes(file_bytes([sealed(msgspec.structs.replace(usual, machine=machine, comment="A friend"))]))
    done = epochmark("import", str(theirs), short_form(usual))
    assert (done.returncode, done.stderr) == (0, "")
    shown = [done.stdout]
    assert said("cli.no_runs").is_in(epochmark("results", "list").stdout)
    assert json.loads(epochmark("results", "list", "--json").stdout) == []
    one = epochmark("import", "--show", "2")
    assert ("Threadripper" in one.stdout, "A friend" in one.stdout, one.returncode) == (True, True, 0)
    assert said("imports.unknown", number="9").is_in(epochmark("import", "--show", "9").stderr)
    with Database(default_paths(environment).database) as database, database.transaction() as connection:
        # As another program may leave it.
        connection.execute("UPDATE imported SET source = :text, imported_at = :text", {"text": NASTY})
    shown += [epochmark("import", "--list", *options).stdout for options in ((), ("--json",))]
    shown += [one.stdout]
    for text in shown:
        assert text
        assert steering(text) == []


def test_a_run_becomes_a_picture_without_a_display(
    stored: CommandLine, environment: dict[str, str], tmp_path: Path
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        environment.pop(name, None)
    dark, light = tmp_path / "dark.png", tmp_path / "light.png"
    done = stored("results", "share", "1", "--output", str(dark))
    assert (done.returncode, done.stderr) == (0, "")
    assert said("cli.picture_saved", number="1", path=dark).is_all_of(done.stdout.strip())
    assert struct.unpack(">II", dark.read_bytes()[16:24]) == (1200, 630)
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
