"""What the run's own processes had of a GPU, and what counters say."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.hardware.gpu.gpus import GpuReader
from app.core.hardware.gpu.linux_reader import (
    CLIENTS_EVERY_S,
    Client,
    OwnClients,
    busiest_pct,
    client_from,
    starred_mhz,
)
from tests.core.hardware.gpu.gpu_trees import device, link, plant, write

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="folders with colons in their names"),
    pytest.mark.usefixtures("no_nvidia"),
]

AMDGPU_CLIENT = """pos:\t0
flags:\t02100002
mnt_id:\t28
ino:\t1234
drm-driver:\tamdgpu
drm-client-id:\t42
drm-pdev:\t0000:0a:00.0
drm-memory-vram:\t1048576 KiB
drm-engine-gfx:\t784986021477 ns
drm-engine-compute:\t0 ns
"""
I915_CLIENT = """drm-driver:\ti915
drm-client-id:\t3
drm-pdev:\t0000:00:02.0
drm-total-system0:\t312 KiB
drm-engine-render:\t15237893321 ns
drm-engine-copy:\t1685412 ns
drm-engine-video:\t100 ns
drm-engine-capacity-video:\t2
"""
XE_CLIENT = """drm-driver:\txe
drm-client-id:\t7
drm-pdev:\t0000:03:00.0
drm-cycles-rcs:\t500
drm-total-cycles-rcs:\t1000
drm-cycles-ccs:\t28257900
drm-total-cycles-ccs:\t7655183225
drm-engine-capacity-ccs:\t4
"""


def test_power_from_an_energy_counter_that_was_reset(tmp_path: Path) -> None:
    plant(tmp_path, "arc_a770")
    counter = device(tmp_path, "0000:03:00.0") / "hwmon/hwmon4/energy1_input"
    now_s = [100.0]
    reader = GpuReader(tmp_path, lambda: now_s[0])

    def look(energy_uj: int) -> tuple[float | None, float | None]:
        now_s[0] += 2.0
        write(counter, f"{energy_uj}\n")
        reading = reader.read()[1]
        return reading.energy_j, reading.power_w

    assert look(5_000_000_000) == (0.0, None)
    assert look(5_300_000_000) == (300.0, 150.0)
    assert look(1_000_000) == (300.0, None)
    assert look(101_000_000) == (400.0, 50.0)


def test_starred_clock() -> None:
    assert starred_mhz("0: 500Mhz\n1: 1000Mhz *\n2: 1700Mhz\n") == 1000
    assert starred_mhz("S: 19Mhz *\n0: 615Mhz\n") == 19
    for text in ("0: 500Mhz\n1: 1000Mhz\n", "1: 0Mhz *", "", "*", "1: 99999999Mhz *"):
        assert starred_mhz(text) is None


def test_clients() -> None:
    assert client_from(AMDGPU_CLIENT) == ("42", Client({"gfx": 784_986_021_477, "compute": 0}))
    assert client_from(I915_CLIENT) == (
        "3",
        Client({"render": 15_237_893_321, "copy": 1_685_412, "video": 100}, {}, {"video": 2}),
    )
    expected = Client({}, {"rcs": (500, 1000), "ccs": (28_257_900, 7_655_183_225)}, {"ccs": 4})
    assert client_from(XE_CLIENT) == ("7", expected)
    assert client_from("pos:\t0\nflags:\t02\nmnt_id:\t28\n") is None


def test_the_busiest_engine_counts() -> None:
    before = {"1": Client({"render": 0, "video": 0}, {}, {"video": 2}), "2": Client({"render": 10})}
    after = {
        "1": Client({"render": 400_000_000, "video": 1_000_000_000}, {}, {"video": 2}),
        "2": Client({"render": 300_000_010}),
        "3": Client({"render": 10**15}),  # new: since when is unknown
    }
    assert busiest_pct(before, after, 1.0) == pytest.approx(70.0)
    assert busiest_pct(before, after, 0.0) is None
    assert busiest_pct({}, after, 1.0) is None
    assert busiest_pct(after, before, 1.0) == 0.0  # counters that go back
    cycles = {"7": Client({}, {"rcs": (500, 1000)})}, {"7": Client({}, {"rcs": (1250, 2000)})}
    assert busiest_pct(*cycles, 1.0) == pytest.approx(75.0)


def test_the_runs_own_share_of_a_gpu_that_reports_none(tmp_path: Path) -> None:
    plant(tmp_path, "arc_b580", "rx6800xt")
    process = tmp_path / "proc/77"
    now_s = [50.0]

    def use(used: int, passed: int) -> None:
        for number in (5, 6):  # one that was duplicated is the same
            text = f"drm-client-id: 7\ndrm-cycles-ccs: {used}\ndrm-total-cycles-ccs: {passed}\n"
            write(process / f"fdinfo/{number}", text)

    for number, target in ((5, "/dev/dri/renderD128"), (6, "/dev/dri/renderD128"), (7, "/dev/null")):
        link(process / f"fd/{number}", target)
    device(tmp_path, "0000:0a:00.0").joinpath("drm/renderD128").rename(
        device(tmp_path, "0000:0a:00.0") / "drm/renderD129"
    )
    reader = GpuReader(tmp_path, lambda: now_s[0])
    use(1_000, 1_000_000)
    assert [reading.utilization_pct for reading in reader.read({77})] == [None, 97.0]
    now_s[0] += 1.0
    use(801_000, 2_000_000)
    assert [reading.utilization_pct for reading in reader.read({77, 4_000_000})] == [pytest.approx(80.0), 97.0]
    assert [reading.utilization_pct for reading in reader.read()] == [None, 97.0]


def test_files_of_processes_are_listed_now_and_then(tmp_path: Path) -> None:
    now_s = [0.0]
    own = OwnClients(tmp_path, lambda: now_s[0])
    for pid in (9, 10):
        link(tmp_path / f"{pid}/fd/3", "/dev/null")

    def busy_pct(pids: set[int]) -> float | None:
        """Look twice, a second apart, in which process 9 uses the GPU for a half, and 10 for 0.8."""
        for looked in (0, 1):
            for pid, used_ns in ((9, 500_000_000), (10, 800_000_000)):
                text = f"drm-client-id: {pid}\ndrm-engine-render: {looked * used_ns} ns\n"
                write(tmp_path / f"{pid}/fdinfo/4", text)
            own.look_for(pids)
            share_pct = own.utilization_pct({"card0"})
            now_s[0] += 1.0
        return share_pct

    assert busy_pct({9}) is None
    link(tmp_path / "9/fd/4", "/dev/dri/card0")
    assert busy_pct({9}) is None, "opened since the list was made"
    assert busy_pct({9, 10}) == pytest.approx(50.0), "a new process: listed at once"
    link(tmp_path / "10/fd/4", "/dev/dri/card0")
    now_s[0] += CLIENTS_EVERY_S
    (tmp_path / "9/fd/4").unlink()
    assert busy_pct({9, 10}) == pytest.approx(80.0), "listed again after a while"


@given(st.text(), st.text(), st.floats(0, 10))
def test_any_fdinfo(first: str, second: str, elapsed_s: float) -> None:
    start = "drm-client-id: 1\ndrm-engine-a: 1\ndrm-cycles-b: 1\ndrm-total-cycles-b: 2\n"
    before, after = (dict(filter(None, [client_from(start + text)])) for text in (first, second))
    share_pct = busiest_pct(before, after, elapsed_s)
    assert share_pct is None or 0 <= share_pct <= 100
