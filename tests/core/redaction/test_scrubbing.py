"""What identifies somebody in a log or a report is removed; what helps is kept."""

import os
import platform
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.redaction.scrubbing import scrub


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("running on this host (fast-box): /proc/driver/nvidia/version", "running on this host (<host>): <path>"),
        ("information for host: fast-box", "information for host: <name>"),
        ('File "/home/Jane Doe/my nets/train.py", line 3', 'File "<path>", line 3'),
        (r"File C:\Users\JANE  DOE\Desktop\tf.py line 3", "File <path> line 3"),
        (r'"c:\\Users\\OWNER\\envs\\x.py"', '"<path>"'),
        ("UUID: GPU-67a571b1-79ee-1016-8ea3-c1fff3f1c1d2", "UUID: <serial>"),
        ("pciBusID: 0000:01:00.0 name: GeForce", "pciBusID: <bus> name: GeForce"),
        ("Xid (PCI:0000:01:00): 79, pid=1234, name=chrome", "Xid (<bus>): 79, pid=<process>, name=<process>"),
        ("from 10.1.2.3 or fe80::1", "from <address> or <address>"),
        ("mac aa:bb:cc:dd:ee:ff me@example.org", "mac <address> <address>"),
        ("serial number: XYZ12345", "serial number: <serial>"),
        ("in ~/nets, ~jane/nets, ./nets/a, ../b", "in <path>, <path>, <path>, <path>"),
        ("gcc -I/home/jane/include", "gcc -I<path>"),
        ("LD_LIBRARY_PATH: /opt/cuda:/home/jane/b", "LD_LIBRARY_PATH: <path>:<path>"),
        (r"\\server\share\jane", "<path>"),
        ("file:///home/jane/x", "<path>"),
        (r"PS C:\Users\Jane Doe> python x", "PS <path>> python x"),
        (r'cwd "C:\Users\Jane Doe"', 'cwd "<path>"'),
        (r"\\nas01\jane doe\nets\x.py failed", "<path> failed"),
        ("(janes-env) jane@fastbox:~/nets$ x", "(<environment>) <address>:<path> x"),
        (r"(janes-env) C:\Users\jane>x", "(<environment>) <path>>x"),
        ("Mar  3 10:00:01 fastbox kernel: NVRM: x", "Mar  3 10:00:01 <host> kernel: NVRM: x"),
        ("2026-03-02T10:15:01+0100 fastbox kernel: x", "2026-03-02T10:15:01+0100 <host> kernel: x"),
        ("Serial Number                         : 0324717012345", f"Serial Number{' ' * 25}: <serial>"),
        (f"docker-{'0123456789abcdef' * 4}.scope", "docker-<id>.scope"),
        ("ip=10.1.2.3 addr=192.168.1.4", "ip=<address> addr=<address>"),
        ("https://jane:secret@git.example.org/x.git", "https://<user>@git.example.org/x.git"),
    ],
)
def test_whatever_identifies_somebody_is_removed(line: str, wanted: str) -> None:
    assert scrub(line, {}) == wanted


@pytest.mark.parametrize(
    "line",
    [
        "E tensorflow/stream_executor/cuda/cuda_driver.cc:271] failed call to cuInit: UNKNOWN ERROR (34)",
        "E external/local_xla/xla/stream_executor/cuda/cuda_fft.cc:477] Unable to register cuFFT factory",
        "I0000 00:00:1795291212.791569    2128 port.cc:153] oneDNN custom operations are on.",
        "/job:localhost/replica:0/task:0/device:GPU:0 with 9858 MB memory: compute capability: 6.1",
        "Loaded runtime CuDNN library: 9.10.1 but source was compiled with: 9.13.1.",
        "nvidia-cudnn-cu12==9.10.2.21",
        "absl::InitializeLog() and/or 3/4 of it, 12:30:45",
        "driver 580.65.06, kernel 6.8.0-45",
        "undefined symbol: memcpy@GLIBC_2.14",
        "2025-03-02 10:15:01.120: E tensorflow/x.cc:152] failed",
    ],
)
def test_what_helps_is_kept(line: str) -> None:
    assert scrub(line, {}) == line


_NAME = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789_-äöß"), min_size=1, max_size=12)
_FOLDER = st.one_of(_NAME, st.tuples(_NAME, _NAME).map(" ".join))
_BEFORE = st.sampled_from(["", "in ", "File ", "'", '"', "(", "path=", "a:", "error: ", "\t", "x ; ", "-L"])
_AFTER = st.sampled_from(["", " ", "'", '"', ")", ":12", ", line 3", "\n", "; y"])


@given(_BEFORE, st.lists(_FOLDER, min_size=1, max_size=5), _NAME, st.booleans(), _AFTER)
def test_no_path_survives(before: str, folders: list[str], last: str, windows: bool, after: str) -> None:
    marked = [f"QZ{folder}ZQ" for folder in folders]
    separator = "\\" if windows else "/"
    path = ("C:" if windows else "") + separator + separator.join([*marked, f"QZ{last}"])
    before = " -L" if before == "-L" and not windows else before.replace("-L", "")
    assert "QZ" not in scrub(f"{before}{path}{after}", {})


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece", ["/a", "/", "a/", "\\", "C:\\", "::", "ab:", "1.", "@", "~/", "a b/", "pid=", "-"]
)
def test_scrubbing_long_lines_is_no_burden(piece: str) -> None:
    scrub(piece * 2_000, {})


def test_the_users_own_folders_and_names_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "fastbox.home")
    monkeypatch.setenv("USER", "janedoe")
    text = scrub(f"fastbox said janedoe keeps it in {Path.home()}/nets; {os.getcwd()}")  # noqa: PTH109
    assert "fastbox" not in text
    assert "janedoe" not in text
    assert str(Path.home()) not in text or str(Path.home()) == "/"
    monkeypatch.setattr(platform, "node", lambda: "localhost")
    assert scrub("/job:localhost/replica:0") == "/job:localhost/replica:0", "it has no name of its own"
