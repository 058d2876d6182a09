"""What the doctor makes of processes that were killed, and of logs that stop midway."""

import pytest

from app.core.doctor.logs import diagnose_log
from tests.saying import said


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
