"""Computers as files: what Linux reports about them in a folder, with whatever is special about each."""

from pathlib import Path

NATIVE, WSL1, WSL2 = "6.8.0-45-generic", "4.4.0-19041-Microsoft", "5.15.167.4-microsoft-standard-WSL2"
VENDORS = {"nvidia": "0x10de", "amd": "0x1002", "intel": "0x8086", "virtual": "0x1af4"}
MODULE_TEXT = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {}  Wed Mar 21 03:37:26 PDT 2018\nGCC version: 13\n"


class Root:
    """A made-up file system, filled by what its methods name."""

    def __init__(self, path: Path, release: str = NATIVE) -> None:
        self.path = path
        self.write("proc/sys/kernel/osrelease", release)
        self.write("proc/modules", "ext4 1 0 - Live 0x0\n")
        self.write("proc/cpuinfo", "model name\t: Test\nflags\t\t: fpu sse avx avx2\n")
        (path / "sys/bus/pci/devices").mkdir(parents=True)

    def write(self, name: str, text: str | bytes) -> "Root":
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return self

    def pci(self, *vendors: str, kind: str = "0x030000") -> "Root":
        for vendor in vendors:
            number = len(list((self.path / "sys/bus/pci/devices").iterdir()))
            device = f"sys/bus/pci/devices/0000:{number:02x}:00.0"
            self.write(f"{device}/vendor", f"{VENDORS[vendor]}\n").write(f"{device}/class", f"{kind}\n")
        return self

    def driver(self, version: str = "580.65.06") -> "Root":
        self.write("proc/driver/nvidia/version", MODULE_TEXT.format(version))
        return self.write("dev/nvidia0", "").write("dev/nvidiactl", "")

    def libcuda(self, folder: str) -> "Root":
        self.write(f"{folder.lstrip('/')}/libcuda.so.1", "")
        return self.write("etc/ld.so.cache", b"glibc-ld.so\x00" + f"{folder}/libcuda.so.1".encode() + b"\x00")
