"""What the doctor makes of logs: recorded ones, lines in many wordings, their order, and files of any kind."""

import os
import sys
import tomllib
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import UsageError
from app.core.known_lines.logs import (
    MAX_CHARS,
    MAX_LINE_CHARS,
    LogDiagnosis,
    diagnose_log,
    read_log,
    telling_lines,
)
from app.core.known_lines.signals import signals
from tests.conftest import ROOT
from tests.saying import said

NO_DEVICE = "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
MISMATCH = "kernel version 384.130.0 does not match DSO version 375.66.0"
JIT = "CUDA kernels will be jit-compiled from PTX, which could take 30 minutes or longer."


def ids(text: str) -> list[str]:
    return [finding.signal.id for finding in diagnose_log(text).findings]


def codes(found: LogDiagnosis) -> list[str]:
    return [each.code for each in found.conclusion]


FOLDER = ROOT / "tests" / "data" / "doctor"
# Logs that people posted, each with its expected diagnosis.
INDEX: list[dict[str, Any]] = tomllib.loads((FOLDER / "index.toml").read_text(encoding="utf-8"))["log"]
HEALTHY, UNKNOWN = "-", "?"
# Lines in many wordings.
LINES = tomllib.loads((FOLDER / "lines.toml").read_text(encoding="utf-8"))


@cache
def diagnosed(file: str) -> LogDiagnosis:
    return diagnose_log((FOLDER / file).read_text(encoding="utf-8"))


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: Path(entry["file"]).stem)
def test_a_recorded_log(entry: dict[str, Any]) -> None:
    found = diagnosed(entry["file"])
    assert found.unknown is bool(found.unknown_lines) is (entry["id"] == UNKNOWN)
    if entry["id"] == UNKNOWN:
        assert (found.findings, found.conclusion[0].code) == ((), "doctor.log_unknown")
        assert str(found.unknown_lines[0][0]) in found.summary
    elif entry["id"] == HEALTHY:
        shown = {each.signal.gpu for each in found.harmless}
        is_unused = "unused" in shown and "used" not in shown
        expected = {"doctor.log_fault"} if is_unused else {"doctor.log_harmless", "doctor.log_without_faults"}
        assert found.findings == ()
        assert found.conclusion[0].code in expected
    else:
        first = found.findings[0]
        assert (first.signal.id, first.engine) == (entry["id"], entry.get("engine", first.engine))
        harmless = diagnose_log(first.line).harmless
        assert not [one for one in harmless if one.signal.gpu is None], "no harmless row hides the telling line"


def test_the_collection_is_large_enough_and_complete() -> None:
    assert len(INDEX) >= 50
    assert len([entry for entry in INDEX if entry["id"] == HEALTHY]) >= 10
    assert {entry["file"] for entry in INDEX} == {path.name for path in FOLDER.glob("*.log")}
    assert all(entry["source"].startswith("https://") for entry in INDEX)


def test_recordings_identify_nobody() -> None:
    signs = ("/home/", "/Users/", "C:\\", "/root", "@")
    texts = {entry["file"]: (FOLDER / entry["file"]).read_text(encoding="utf-8") for entry in INDEX}
    assert [(file, sign) for file, text in texts.items() for sign in signs if sign in text] == []


def test_every_row_is_shown_by_a_recorded_log() -> None:
    logs = [diagnosed(entry["file"]) for entry in INDEX]
    seen = {finding.signal.id for found in logs for finding in (*found.findings, *found.harmless)}
    assert {row.id for row in signals()} - seen == set()


@pytest.mark.parametrize(("rows", "log"), [(rows, log) for rows, logs in LINES["lines"].items() for log in logs])
def test_a_line_matches_these_rows(rows: str, log: str) -> None:
    found = diagnose_log(log)
    assert ids(log) == ([] if rows in (HEALTHY, UNKNOWN) else rows.split())
    assert found.unknown is bool(found.unknown_lines) is (rows == UNKNOWN)


@pytest.mark.parametrize(("row", "end"), [(row, end) for row, ends in LINES["ends"].items() for end in ends])
def test_a_killed_process_is_never_called_healthy(row: str, end: str) -> None:
    found = diagnose_log(f"Epoch 1/10\n391/391 - 5s - loss: 1.2\n{end}")
    assert [(finding.signal.id, finding.line) for finding in found.faults] == [(row, end)]


@pytest.mark.parametrize("pair", LINES["causes"], ids=lambda pair: pair["row"])
def test_a_cause_outranks_a_symptom_in_both_orders(pair: dict[str, str]) -> None:
    row = pair["row"]
    alone = diagnose_log(pair["symptom"]).findings
    assert [finding.signal.id for finding in alone] != [row] or alone[0].is_symptom
    for lines in permutations((pair["cause"], pair["symptom"])):
        found = diagnose_log("\n".join(lines)).findings
        assert (found[0].signal.id, found[0].signal.severity, found[0].is_symptom) == (row, "fault", False)
        assert [finding.may_follow for finding in found] == [finding.is_symptom for finding in found]


XID = "NVRM: Xid (PCI:0000:01:00): "


@pytest.mark.parametrize(
    "line",
    [
        *("RESOURCE_EXHAUSTED", "Bus error (core dumped)", "ImportError: DLL load failed while importing _C"),
        *(f"{XID}8, pid=1", f"{XID}109, pid=1", "killed by signal SIGBUS", "exit code 137", "exit code: 139"),
        *("Segmentation fault", "CUDA error: operation not supported", "CUDA error: unknown error"),
    ],
)
def test_a_status_alone_is_no_cause(line: str) -> None:
    found = diagnose_log(line)
    assert found.findings[0].is_symptom
    assert codes(found) == ["doctor.log_fault", "doctor.log_no_cause"]


def test_a_usual_cause_that_the_log_does_not_name_is_called_usual() -> None:
    assert codes(diagnose_log("Illegal instruction (core dumped)")) == [
        "doctor.log_fault",
        "doctor.log_usual_cause",
    ]


@pytest.mark.parametrize(("row", "log"), [(row, log) for row, logs in LINES["unused"].items() for log in logs])
def test_an_unused_gpu_ends_with_the_reason_or_without_one(row: str, log: str) -> None:
    found = diagnose_log(log)
    assert found.findings == ()
    assert next(one.signal.id for one in found.harmless if one.signal.gpu == "unused") == row
    assert codes(found) == ["doctor.log_fault", "doctor.log_no_cause" if row == "on_cpu" else "doctor.log_reason"]


@pytest.mark.parametrize(
    "used",
    [
        *("GPU available: True (cuda), used: True", "Using device: cuda:0", "[CudaDevice(id=0)]", "device: cuda"),
        *(
            "Created device /job:localhost/task:0/device:GPU:0 with 6000 MB memory",
            "torch.cuda.is_available(): True",
        ),
    ],
)
def test_a_gpu_that_is_used_needs_no_reason(used: str) -> None:
    assert codes(diagnose_log(f"Unable to initialize backend 'tpu': INTERNAL\n{used}")) == ["doctor.log_harmless"]
    survived = diagnose_log(f"CUDA_ERROR_NO_DEVICE: no CUDA-capable device\n{used}\nEpoch 2/3 loss: 0.4")
    assert codes(survived) == ["doctor.log_survived"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", "doctor.log_went_on"),
        ("Could not load dynamic library 'libcudnn.so.8'", "doctor.log_went_on"),
        (
            "failed to allocate 15.74GiB (16901668864 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
            "doctor.log_survived",
        ),
        ("CUDA error: an illegal memory access was encountered", "doctor.log_survived"),
        ("OSError: [Errno 28] No space left on device", "doctor.log_survived"),
    ],
)
def test_only_what_keeps_a_gpu_from_use_may_be_why_it_was_not_used(line: str, code: str) -> None:
    assert codes(diagnose_log(f"{line}\nEpoch 2/3 loss: 0.4")) == [code]


def test_an_error_that_is_unknown_comes_before_the_reason_for_an_unused_gpu() -> None:
    found = diagnose_log("Could not find cuda drivers on your machine\nERROR: the frobnicator failed")
    assert codes(found) == ["doctor.log_unknown", "doctor.log_ask_maker", "doctor.log_fault", "doctor.log_reason"]


NO_DRIVER = "E0000 00:00:1 cuda_platform.cc:51] failed call to cuInit: INTERNAL: CUDA error: UNKNOWN ERROR (303)"
FATAL = "F0000 00:00:1 env.cc:382] Check failed: Thread tf_Compute creation via pthread_create() failed."
STACK = ["Fatal Python error: Aborted", "Thread 0x1 (most recent call first):", '  File "a.py", line 1 in start']


@pytest.mark.parametrize(
    ("lines", "telling"),
    [
        # A harmless line is no reason for a crash, even if it is the only one.
        ([NO_DRIVER], []),
        ([NO_DRIVER, "terminate called", "I0000 00:00:2 cuda"], ["terminate called"]),
        ([f"line {number}" for number in range(9)], [f"line {number}" for number in range(4, 9)]),
        ([NO_DRIVER, *STACK, NO_DRIVER], STACK),
        # What the table knows as a cause says more than a crash report.
        ([NO_DRIVER, FATAL, *STACK, "Extension modules: numpy._core._multiarray_umath"], [FATAL]),
        (["CUDA out of memory", *STACK], ["CUDA out of memory"]),
    ],
)
def test_the_lines_that_tell_why_a_process_crashed(lines: list[str], telling: list[str]) -> None:
    assert telling_lines(lines) == telling


def test_a_finding_has_the_first_line_that_shows_it_and_counts_the_others() -> None:
    finding = diagnose_log(f"hello\n{NO_DEVICE} first\n{NO_DEVICE} second").findings[0]
    assert (finding.line_number, finding.line, finding.count) == (2, f"{NO_DEVICE} first", 2)


def test_a_caution_does_not_explain_an_unknown_failure() -> None:
    found = diagnose_log(f"{JIT}\nERROR: the frobnicator failed")
    assert [finding.signal.id for finding in found.findings] == ["ptx_jit"]
    assert found.unknown_lines == ((2, "ERROR: the frobnicator failed"),)


def test_the_cause_comes_before_its_consequences_and_faults_before_cautions() -> None:
    assert ids(f"{JIT}\n{NO_DEVICE}\n{MISMATCH}") == ["driver_mismatch", "no_cuda_device", "ptx_jit"]
    # A fault explains the lines around it, and says more than a sudden end.
    assert not diagnose_log(f"Traceback (most recent call last):\nError: something\n{NO_DEVICE}").unknown
    assert ids("No space left on device\n 45%|████▌     | 45/100 [00:12<00:15]") == ["disk_full"]
    # Lines that mean something only together, or something else.
    assert ids("nvidia-cudnn-cu12 9.28\nkeras 3") == []
    assert ids("nvidia-cudnn-cu12 9.28\nnvidia-cudnn-cu13 9.30") == ["two_cuda_majors"]
    missing = "kernel driver does not appear to be running on this host (x)"
    assert ids(missing) == ["kernel_module"]
    found = diagnose_log(f"failed call to cuInit: UNKNOWN ERROR (303)\n{missing}")
    assert [finding.signal.id for finding in found.harmless] == ["no_cuda_driver", "kernel_module"]
    assert found.findings == ()
    # A fault at the end counts, whatever came before.
    assert diagnose_log(f"{NO_DEVICE}\nstep 1 loss: 0.5\n{NO_DEVICE}").faults


@pytest.mark.parametrize(
    "work",
    [
        "12/938 [..............] - ETA: 3s - loss: 2.3",
        "12/938 ━━━━━━━━━━━━━━━━━━━━ 3s 3ms/step",
        "step 200 loss=0.61",
        "{'loss': 1.03, 'grad_norm': 2.0}",
        "Epoch 2/10",
        "Training finished",
        "Process finished with exit code 0",
    ],
)
def test_after_what_looked_like_a_fault_the_work_went_on(work: str) -> None:
    found = diagnose_log(f"{NO_DEVICE}\nERROR: the frobnicator failed\n{work}")
    assert found.faults == ()
    assert not found.unknown
    assert [(one.signal.id, one.signal.severity, one.went_on) for one in found.findings] == [
        ("no_cuda_device", "caution", True)
    ]
    assert [each.code for each in found.conclusion] == ["doctor.log_went_on"]


@pytest.mark.parametrize(
    "line", ["0/938 [......]", "Epoch 1/10", "loss = 0.5 * mse", "loss: nan", "    loss = loss_fn(x)"]
)
def test_what_says_nothing_about_the_work_changes_nothing(line: str) -> None:
    assert [one.signal.id for one in diagnose_log(f"{NO_DEVICE}\n{line}").faults] == ["no_cuda_device"]


def test_a_caution_is_given_in_a_sentence() -> None:
    found = diagnose_log("00:02.0 VGA compatible controller: Intel Corporation UHD")
    assert said("doctor.log_caution", title="TensorFlow doesn't use Intel graphics").is_all_of(found.summary)


def test_colours_carriage_returns_and_windows_line_ends_hide_nothing() -> None:
    found = diagnose_log(f"epoch 1\r\x1b[31m{NO_DEVICE}\x1b[0m\r\nend")
    assert found.findings[0].line == NO_DEVICE
    assert found.findings[0].line_number == 2


@pytest.mark.long
def test_long_logs_are_cut_and_say_so() -> None:
    assert not diagnose_log("x" * MAX_LINE_CHARS).cut
    assert diagnose_log("x" * (MAX_LINE_CHARS + 1)).cut
    late = diagnose_log("y\n" * (MAX_CHARS // 2) + NO_DEVICE)
    assert late.cut
    assert late.findings == ()
    assert diagnose_log("z" * MAX_LINE_CHARS + NO_DEVICE).findings == ()


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_files_that_are_too_long_say_so_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "long.log"
    path.write_text("ä\n" * (MAX_CHARS // 2 + 1), encoding=encoding)
    assert diagnose_log(read_log(path)).cut


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/fd")
def test_a_file_piped_in_by_a_shell_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, NO_DEVICE.encode())
    os.close(writing)
    try:
        assert read_log(Path(f"/dev/fd/{reading}")) == NO_DEVICE
    finally:
        os.close(reading)


@pytest.mark.parametrize(
    "last",
    [
        "10/391 [>.............................] - ETA: 9s - loss: 2.3",
        "\x1b[1m 10/391\x1b[0m \x1b[32m━\x1b[0m\x1b[37m━━━━━━━━━\x1b[0m \x1b[1m9s\x1b[0m 24ms/step - loss: 2.3",
        " 45%|████▌     | 45/100 [00:12<00:15,  3.61it/s]",
        'Traceback (most recent call last):\n  File "train.py", line 12, in <module>',
    ],
)
def test_a_log_that_stops_midway_is_not_called_healthy(last: str) -> None:
    found = diagnose_log(f"Epoch 1/10\n{last}\n\n")
    assert found.unknown
    assert found.findings == ()
    assert found.unknown_lines[-1][0] == found.lines - 1
    assert said("doctor.log_stops", line=found.lines - 1).begins(found.summary)


@pytest.mark.parametrize(
    ("data", "log"),
    [
        (NO_DEVICE.encode("utf-16"), NO_DEVICE),  # PowerShell's
        (NO_DEVICE.encode("utf-16-le"), NO_DEVICE),
        (b"\xef\xbb\xbf" + NO_DEVICE.encode(), NO_DEVICE),
        (b"\xff\xfa broken", "\ufffd\ufffd broken"),
        ("错误 无法打开".encode("gbk") + b"\n" + NO_DEVICE.encode(), ...),
        # Zeros that a crash left are passed over.
        (NO_DEVICE.encode() + bytes(5_000), NO_DEVICE),
        (b"epoch 1\n" + bytes(4_096) + NO_DEVICE.encode(), f"epoch 1\n{NO_DEVICE}"),
        (b"\x89PNG\x00\x01", None),
        (bytes(5_000), None),
        (bytes(range(256)) * 20, None),
    ],
)
def test_files_in_any_encoding_are_read_if_they_are_text(tmp_path: Path, data: bytes, log: object) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(data)
    if log is None:
        with pytest.raises(UsageError, match=said("doctor.log_is_no_text").pattern):
            read_log(path)
    else:
        read = read_log(path)
        assert read.endswith(NO_DEVICE) if log is ... else read == log


@pytest.mark.skipif(sys.platform == "win32", reason="pipes in folders are POSIX")
@pytest.mark.timeout(20)
def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(UsageError, match=said("doctor.log_is_no_file").pattern):
            read_log(path)
    with pytest.raises(UsageError, match=said("files.unreadable").pattern):
        read_log(tmp_path / "nothing.log")
