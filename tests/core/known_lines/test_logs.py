"""What the doctor makes of logs: order, limits, garbage, and the table itself."""

import os
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.core.known_lines import logs
from app.core.known_lines.logs import MAX_CHARS, MAX_LINE_CHARS, decode_log, diagnose_log, read_log
from app.core.known_lines.signals import TABLE, read_table, signal, signals
from tests.saying import said

NO_DEVICE = "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
MISMATCH = "kernel version 384.130.0 does not match DSO version 375.66.0"
JIT = "CUDA kernels will be jit-compiled from PTX, which could take 30 minutes or longer."
ROW = """
[[signal]]
id = "one"
seen = "x"
severity = "fault"
rank = 1
title = "t"
meaning = "m"
fix = "f"
versions = "v"
link = "https://example.org/1"
patterns = ['x']
"""


def ids(text: str) -> list[str]:
    return [finding.signal.id for finding in diagnose_log(text).findings]


def test_the_cause_comes_before_its_consequences_and_faults_before_cautions() -> None:
    assert ids(f"{JIT}\n{NO_DEVICE}\n{MISMATCH}") == ["driver_mismatch", "no_cuda_device", "ptx_jit"]


def test_a_finding_has_the_first_line_that_shows_it_and_counts_the_others() -> None:
    finding = diagnose_log(f"hello\n{NO_DEVICE} first\n{NO_DEVICE} second").findings[0]
    assert (finding.line_number, finding.line, finding.count) == (2, f"{NO_DEVICE} first", 2)


def test_a_missing_driver_is_not_reported_as_a_stopped_one() -> None:
    missing = "kernel driver does not appear to be running on this host (x)"
    assert ids(missing) == ["kernel_module"]
    found = diagnose_log(f"failed call to cuInit: UNKNOWN ERROR (303)\n{missing}")
    assert found.findings == ()
    assert {finding.signal.id for finding in found.harmless} == {"no_cuda_driver", "kernel_module"}


def test_two_lines_that_mean_something_only_together() -> None:
    assert ids("nvidia-cudnn-cu12 9.28\nkeras 3") == []
    assert ids("nvidia-cudnn-cu12 9.28\nnvidia-cudnn-cu13 9.30") == ["two_cuda_majors"]


def test_a_fault_explains_the_lines_around_it() -> None:
    found = diagnose_log(f"Traceback (most recent call last):\nError: something\n{NO_DEVICE}")
    assert not found.unknown


def test_a_caution_does_not_explain_an_unknown_failure() -> None:
    found = diagnose_log(f"{JIT}\nERROR: the frobnicator failed")
    assert [finding.signal.id for finding in found.findings] == ["ptx_jit"]
    assert found.unknown_lines == ((2, "ERROR: the frobnicator failed"),)


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


def test_a_fault_at_the_end_counts_whatever_came_before() -> None:
    assert ids(f"{NO_DEVICE}\nstep 1 loss: 0.5\n{NO_DEVICE}") == ["no_cuda_device"]
    assert diagnose_log(f"{NO_DEVICE}\nstep 1 loss: 0.5\n{NO_DEVICE}").faults


@pytest.mark.parametrize("text", ["", "\n\n", "epoch 1/10 loss 0.5", "All 12 tests passed"])
def test_a_clean_log_says_so(text: str) -> None:
    found = diagnose_log(text)
    assert not found.unknown
    assert said("doctor.log_without_faults").is_all_of(found.summary)


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("CUDA_ERROR_ILLEGAL_INSTRUCTION: an illegal instruction was encountered", "launch_failed"),
        ("NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.", "gpu_lost"),
        ("NVRM: Xid (PCI:0000:01:00): 119, pid=1, Timeout waiting for RPC from GSP!", "gsp_failed"),
        ("CUDA error: the provided PTX was compiled with an unsupported toolchain.", "driver_too_old"),
        ("OOM when allocating tensor with shape[1] on /device:CPU:0 by allocator cpu", "cpu_out_of_memory"),
        ("OOM when allocating tensor with shape[1] on /device:GPU:0 by allocator GPU_0_bfc", "out_of_memory"),
        # Texts of TensorFlow 2.21's own build.
        (
            "Failed call to cudaGetRuntimeVersion: Error loading CUDA libraries. GPU will not be used.",
            "cuda_libraries",
        ),
        ("There was an error before creating cudnn handle (2)", "library_handle"),
        ("ERROR: No matching distribution found for tensorflow==2.4.0", "python_without_build"),
        # Other wordings of the same causes, which no recorded log has.
        ("error while loading shared libraries: libcuda.so.1: cannot open shared object file", "driver_library"),
        ("pynvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found", "driver_library"),
        ("ls: cannot access '/dev/nvidia*': No such file or directory", "no_device_node"),
        ("could not open /dev/nvidiactl: Permission denied", "gpu_permission"),
        ("docker: Error response from daemon: unknown or invalid runtime name: nvidia.", "container_without_gpu"),
        ("nvidia-container-cli: device error: unknown device id: 3: unknown", "container_setup"),
        ("OSError: libnccl.so.2: cannot open shared object file: No such file or directory", "cuda_libraries"),
        ("Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!", "cuda_libraries"),
        ("libcusolver.so.11: undefined symbol: cusparseGetProperty, version libcusparse.so.12", "cuda_mixed"),
        ("RuntimeError: CUDA error: out of memory", "out_of_memory"),
        ("OSError: [Errno 12] Cannot allocate memory", "cpu_out_of_memory"),
        ("MemoryError", "cpu_out_of_memory"),
        ("NVRM: Xid (PCI:0000:65:00): 31, pid=1, name=python, MMU Fault", "launch_failed"),
        ("NVRM: Xid (PCI:0000:65:00): 48, pid=1, An uncorrectable double bit error", "ecc_error"),
        ("NVRM: Xid (PCI:0000:65:00): 38, pid=1", "xid_other"),
        ("RuntimeError: HIP error: invalid device function", "rocm_gpu"),
        ("zsh: illegal hardware instruction  python3", "avx_missing"),
        ("OSError: [WinError 193] %1 is not a valid Win32 application", "wrong_architecture"),
        ("zipfile.BadZipFile: File is not a zip file", "archive_broken"),
    ],
)
def test_a_line_has_one_meaning(line: str, row: str) -> None:
    assert ids(line) == [row]


@pytest.mark.parametrize(
    "line",
    [
        # A row of memory that was replaced, or an error that stayed within one program, is no lost card.
        "NVRM: Xid (PCI:0000:01:00): 63, pid=1, Row remapping event",
        "NVRM: Xid (PCI:0000:01:00): 94, pid=1, Contained memory error",
        "ERROR: No matching distribution found for tensorflow-gpu==2.3",
        "ERROR: Could not find a version that satisfies the requirement tensorflow_hub==99",
        "RESOURCE_EXHAUSTED: OOM on /job:localhost/replica:0/task:0/device:CPU:0",
    ],
)
def test_lines_that_only_look_similar_are_not_findings(line: str) -> None:
    assert [found for found in ids(line) if found != "cpu_out_of_memory"] == []


@pytest.mark.parametrize(
    "line",
    [
        "error: 0.12",
        "val error 0.5 test error=1.5e-3",
        "errors: 3/1000",
        "0 failed, no errors",
        "UserWarning: this is not supported",
        "loss: 1.2 - mean_squared_error: 0.2",
        "WARNING:absl:the file cannot be read",
        "I0000 00:00:1 port.cc:153] an error that was caught",
        "2024-05-05 10:00:00.123456: W external/xla.cc:1] something failed",
        "[W socket.cpp:663] The client socket has failed to connect to host",
        "Could not find a fast tokenizer, falling back to a slow one",
    ],
)
def test_numbers_and_warnings_of_training_scripts_are_harmless(line: str) -> None:
    assert not diagnose_log(line).unknown


@pytest.mark.parametrize("line", ["Error code 126", "error: 999", "ValueError: 0.5 is wrong", "Error: 12"])
def test_errors_with_numbers_stay_trouble(line: str) -> None:
    assert diagnose_log(line).unknown


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


@given(st.text())
def test_garbage_never_breaks_it(text: str) -> None:
    found = diagnose_log(text)
    assert found.lines >= 0
    assert found.summary


_WORDS = st.sampled_from(
    [
        *(NO_DEVICE, MISMATCH, JIT, "CUDA_ERROR_", "Loaded runtime CuDNN library: "),
        *("ran out of memory trying to allocate ", "nvidia-cudnn-cu12", "error", "]: E a.cc:1"),
        *(" ", "\n", "\r", "\t", "\x00", "\u2028", "'"),
    ]
)


@given(st.lists(_WORDS, max_size=80))
def test_pieces_of_known_lines_never_break_it(words: list[str]) -> None:
    found = diagnose_log("".join(words))
    numbers = [finding.line_number for finding in (*found.findings, *found.harmless)]
    assert all(1 <= number <= found.lines for number in numbers)
    assert found.unknown == bool(found.unknown_lines)
    assert not (found.unknown and found.faults)


def _literal(expression: str) -> str:
    return re.sub(r"\\.|[\[\](){}?*+|^$]", "", expression)[:30] or "a"


@pytest.mark.timeout(60)
def test_no_expression_takes_long_on_what_nearly_matches() -> None:
    for row in signals():
        for expression in row.expressions:
            nearly = "\n".join([(_literal(expression) * 200)[:MAX_LINE_CHARS]] * 50)
            logs.compiled(expression).search(nearly)


def test_no_expression_repeats_without_a_limit() -> None:
    # Two such repetitions in one expression would scan a long line millions of times.
    for row in signals():
        for expression in row.expressions:
            plain = re.sub(r"\\.|\[[^\]]*\]", lambda found: "a" * len(found[0]), expression)
            assert not re.search(r"[*+]|\{\d+,\}", plain), f"{row.id}: {expression}"


@pytest.mark.long
@pytest.mark.timeout(60)
def test_a_log_of_two_megabytes_is_no_burden() -> None:
    line = f"2024-03-30 14:29:58.668656: I tensorflow/core/util/port.cc:113] an error or not: {NO_DEVICE}\n"
    assert diagnose_log(line * (MAX_CHARS // len(line))).findings[0].count > 10_000


def test_a_table_is_refused_that_is_wrong() -> None:
    assert len(read_table(ROW)) == 1
    for wrong, says in (
        (ROW + ROW, "twice"),
        (ROW.replace("['x']", "['(']"), "no regular expression"),
        (ROW.replace("patterns = ['x']", ""), "patterns"),
        (ROW + "together = ['y']\n", "patterns"),
        (ROW.replace('"fault"', '"terrible"'), "terrible"),
        (ROW.replace("https", "http"), "link"),
        (ROW.replace("rank = 1", 'rank = "1"'), "rank"),
        (ROW + "colour = 'red'\n", "colour"),
        (ROW + "[signal.by_engine.theano]\nfix = 'f'\n", "theano"),
        (ROW.replace('title = "t"', 'title = ""'), "title"),
    ):
        with pytest.raises(ValueError, match=says):
            read_table(wrong)


def test_the_table_says_what_to_do() -> None:
    assert len(read_table(TABLE.read_text(encoding="utf-8"))) == len(signals())
    for row in signals():
        assert not row.title.endswith(".")
        assert row.meaning.endswith(".")
        assert row.fix.endswith("."), row.id
        assert (row.rank >= 100) == (row.severity == "harmless"), row.id


def test_the_example_shown_to_readers_matches_its_row() -> None:
    for row in signals():
        found = diagnose_log(row.seen)
        assert row.id in [finding.signal.id for finding in (*found.findings, *found.harmless)], row.id


def test_commands_are_those_of_the_system() -> None:
    commands = signal("wsl1").commands
    assert commands.on("wsl2") == commands.on("wsl1") == commands.wsl
    assert commands.on("macos") == ()
    assert signal("tensorflow_missing").commands.on("windows") == signal("tensorflow_missing").commands.any


def test_files_that_are_not_logs_are_refused_in_a_sentence(tmp_path: Path) -> None:
    binary = tmp_path / "a.png"
    binary.write_bytes(b"\x89PNG\x00\x01")
    for path, problem in (
        (binary, "doctor.log_is_no_text"),
        (tmp_path, "doctor.log_is_no_file"),
        (tmp_path / "nothing.log", "files.unreadable"),
    ):
        with pytest.raises(UsageError, match=said(problem).pattern):
            read_log(path)


def test_powershells_output_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(NO_DEVICE.encode("utf-16"))
    assert read_log(path) == NO_DEVICE
    assert decode_log(b"\xef\xbb\xbf" + NO_DEVICE.encode(), "log") == NO_DEVICE
    assert decode_log(b"\xff\xfa broken", "log")
    assert decode_log(NO_DEVICE.encode("utf-16-le"), "log") == NO_DEVICE


def test_logs_in_other_letters_are_read() -> None:
    assert NO_DEVICE in decode_log("错误 无法打开".encode("gbk") + b"\n" + NO_DEVICE.encode(), "log")


def test_zeros_that_a_crash_left_are_passed_over() -> None:
    assert decode_log(NO_DEVICE.encode() + bytes(5_000), "log") == NO_DEVICE
    assert decode_log(b"epoch 1\n" + bytes(4_096) + NO_DEVICE.encode(), "log") == f"epoch 1\n{NO_DEVICE}"
    for nothing in (bytes(5_000), bytes(range(256)) * 20):
        with pytest.raises(UsageError, match=said("doctor.log_is_no_text").pattern):
            decode_log(nothing, "log")


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_files_that_are_too_long_say_so_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "long.log"
    path.write_text("ä\n" * (MAX_CHARS // 2 + 1), encoding=encoding)
    assert diagnose_log(read_log(path)).cut


@pytest.mark.skipif(sys.platform == "win32", reason="pipes in folders are POSIX")
@pytest.mark.timeout(20)
def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(UsageError, match=said("doctor.log_is_no_file").pattern):
            read_log(path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/fd")
def test_a_file_piped_in_by_a_shell_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, NO_DEVICE.encode())
    os.close(writing)
    try:
        assert read_log(Path(f"/dev/fd/{reading}")) == NO_DEVICE
    finally:
        os.close(reading)


def _ids(text: str) -> list[str]:
    return [finding.signal.id for finding in diagnose_log(text).findings]


@pytest.mark.parametrize(
    "end",
    [
        "Killed",
        "Killed: 9",
        "./train.sh: line 12: 48213 Killed                  python3 train.py",
        "zsh: killed     python3 train.py",
        "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)",
        "command terminated with exit code 137",
        "died with <Signals.SIGKILL: 9>.",
        "[812.1] Memory cgroup out of memory: Killed process 4321 (python) total-vm:8123456kB",
        "Process exited with return code -11",
        "Training failed with exit code -9",
        "Exit Code:    139",
        "container train Exited (137) 5 minutes ago",
        "ERROR: failed (exitcode: -6) local_rank: 1",
        "fish: Job 1, 'python train.py' terminated by signal SIGSEGV (Address boundary error)",
        "libc++abi: terminating due to uncaught exception of type std::__1::system_error: mutex lock failed",
        "Terminated",
    ],
)
def test_a_killed_process_is_never_called_healthy(end: str) -> None:
    found = diagnose_log(f"Epoch 1/10\n391/391 - 5s - loss: 1.2\n{end}")
    assert [finding.signal.severity for finding in found.findings][:1] == ["fault"]
    assert found.findings[0].line == end


@pytest.mark.parametrize(
    "end",
    [
        "Process finished with exit code 3",
        "the worker was killed by its parent",
        "kernel: BUG: it broke",
        "exited with status 2",
    ],
)
def test_an_end_that_the_table_does_not_know_is_unknown(end: str) -> None:
    assert diagnose_log(end).unknown


@pytest.mark.parametrize(
    "line",
    [
        "Process finished with exit code 0",
        "returned 137 images",
        "loss 137, exit after epoch 9",
        "The killer whale data set has 1200 images",
        "INFO:root:could not find a cache, building it",
        "2024-05-01 10:00:00,123 - trainer - INFO - cannot resume, starting from scratch",
        "[2024-05-01 10:00:00] INFO failed files: none",
        "node:534:1763 [3] NCCL INFO NET/Plugin : Failed to find ncclNetPlugin_v8 symbol.",
        "GPU 0: NVIDIA GeForce RTX 3080, ECC errors: 0",
        "DRAM Uncorrectable ECC errors : 0",
        "ROCk module is loaded",
    ],
)
def test_ordinary_words_are_no_alarm(line: str) -> None:
    found = diagnose_log(line)
    assert (found.findings, found.unknown_lines) == ((), ())


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
    "last",
    [
        "391/391 [==============================] - 5s - loss: 1.2",
        "100%|██████████| 100/100 [00:27<00:00]",
        "done",
    ],
)
def test_finished_progress_is_no_sudden_end(last: str) -> None:
    assert not diagnose_log(f"10/391 [>.............................] - ETA: 9s\n{last}").unknown


def test_a_named_cause_says_more_than_a_sudden_end() -> None:
    found = diagnose_log("No space left on device\n 45%|████▌     | 45/100 [00:12<00:15]")
    assert [finding.signal.id for finding in found.findings] == ["disk_full"]
    assert not found.unknown


@pytest.mark.parametrize(
    ("cause", "end", "row"),
    [
        ("what():  std::bad_alloc", "Aborted (core dumped)", "cpu_out_of_memory"),
        ("kernel: oom_reaper: reaped process 1 (python3)", "Killed", "oom_killer"),
        ("CUDA error: uncorrectable ECC error encountered", "terminate called after throwing", "ecc_error"),
        ("libcuda.so.1: cannot open shared object file", "Aborted", "driver_library"),
    ],
)
def test_a_cause_comes_before_the_end_of_the_process(cause: str, end: str, row: str) -> None:
    assert _ids(f"{end}\n{cause}")[0] == row
