"""Runs the README's two commands on fresh Debian systems, as an ordinary user, and prints a row for each.

    python -m tests.tools.fresh SYSTEM-EQUIPMENT ... [-- ARGS]     ARGS go to `start.py test`, such as --fast
    python -m tests.tools.fresh all

SYSTEM is bookworm, trixie or forky; EQUIPMENT is one of `EQUIPMENT` below. Needs root, debootstrap and about
5 GB a system in FRESH_SYSTEMS (or .fresh), which keeps them. Systems use this computer's package index.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from pip._internal.models.index import PyPI

from app.gui.shell.display import DEBIAN_PACKAGES
from tests.conftest import ROOT

FOLDER = Path(os.environ.get("FRESH_SYSTEMS", ROOT / ".fresh")).absolute()
SYSTEMS = ("bookworm", "trixie", "forky")
QT_PACKAGES = "libglib2.0-0 libgl1 libegl1 libxkbcommon0 libfreetype6 libfontconfig1 libdbus-1-3"
# What is installed beside Python: Debian's packages, and whether an index is configured.
EQUIPMENT = {
    "desktop": (f"python3-venv build-essential git {QT_PACKAGES} {DEBIAN_PACKAGES}", False),
    "venv": (f"python3-venv {QT_PACKAGES}", False),
    "pip": (f"python3-pip {QT_PACKAGES}", False),  # no venv
    "index": (QT_PACKAGES, True),  # neither
    "bare": ("python3-pip", False),  # no libraries of Qt
    "nothing": ("", False),  # one sentence is right
}
HOME = "/home/ü ser"
PROJECT = f"{HOME}/epochmark 测试"
COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped)")
TRUSTED = "/etc/ssl/certs/ca-certificates.crt"


def main(arguments: list[str]) -> int:
    """Run on each of the systems; return 1 if anything failed."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    names, options = arguments[:split], arguments[split + 1 :]
    if names == ["all"]:
        names = [f"{system}-{equipment}" for system in SYSTEMS for equipment in EQUIPMENT]
    print(f"{'system':18} Python   start   code     test   passed failed skipped code", flush=True)
    return max(run_on(name, options) for name in names)


def run_on(name: str, options: list[str]) -> int:
    system, _, equipment = name.partition("-")
    packages, has_index = EQUIPMENT[equipment]
    root = FOLDER / f"{system}-{equipment}"
    prepare(system, root, packages)
    python = inside(root, "python3 -c 'import sys; print(*sys.version_info[:3], sep=\".\")'")[1].strip()
    variables = f"export PIP_INDEX_URL={PyPI.simple_url};" if has_index else ""
    start_s, code, start_output = timed(root, f"{variables} python3 start.py")
    row = f"{system + '-' + equipment:18} {python:7} {start_s:4.0f} s {code:6}"
    if equipment == "nothing":
        is_right = code == 2 and len(start_output.strip().splitlines()) == 2
        print(f"{row}   {start_output.strip().splitlines()[-1]}", flush=True)
        return int(not is_right)
    test_s, test_code, output = timed(
        root, f"{variables} python3 start.py test -q --color=no {shlex.join(options)}"
    )
    counts = {what.rstrip("s"): int(number) for number, what in COUNT.findall(output.strip().splitlines()[-1])}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    passed, skipped = counts.get("passed", 0), counts.get("skipped", 0)
    print(f"{row}   {test_s:4.0f} s {passed:8,} {failed:6} {skipped:7} {test_code:4}", flush=True)
    (FOLDER / f"{root.name}.log").write_text(start_output + output, encoding="utf-8")
    asked_for_root = "sudo" in start_output and equipment != "bare"
    return int(bool(code or test_code or asked_for_root))


def prepare(system: str, root: Path, packages: str) -> None:
    base = FOLDER / system
    if not base.is_dir():
        draft = base.with_suffix(".draft")
        shutil.rmtree(draft, ignore_errors=True)
        # debootstrap may not know the newest names yet; the scripts differ in nothing else.
        script = Path("/usr/share/debootstrap/scripts", system)
        scripts = [] if script.exists() else ["", str(script.with_name("sid"))]
        include = "--include=python3,ca-certificates"
        do("debootstrap", "--variant=minbase", include, system, str(draft), *scripts)
        draft.rename(base)
    shutil.rmtree(root, ignore_errors=True)
    do("cp", "-a", "--reflink=auto", str(base), str(root))
    for path in ("/etc/resolv.conf", os.environ.get("PIP_CERT", TRUSTED)):
        shutil.copy(path, root / (TRUSTED if path.endswith(".crt") else path).lstrip("/"))
    if packages:
        if inside(root, "apt-cache show libglib2.0-0t64 >/dev/null 2>&1", user=False)[0] == 0:
            packages = packages.replace("libglib2.0-0 ", "libglib2.0-0t64 ")
        install = f"DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends {packages}"
        update = "apt-get update -q -o Acquire::Check-Valid-Until=false"  # a mirror may lag behind
        code, output = inside(root, f"{update} && {install}", user=False)
        if code:
            sys.exit(output)
    inside(root, f"useradd --create-home --home-dir {shlex.quote(HOME)} user", user=False)
    do("git", "clone", "-q", str(ROOT), f"{root}{PROJECT}")
    inside(root, f"chown -R user {shlex.quote(HOME)}", user=False)


def timed(root: Path, command: str) -> tuple[float, int, str]:
    """Run a command in the project; return its seconds, exit code and output."""
    began_s = time.monotonic()
    code, output = inside(root, f"cd {shlex.quote(PROJECT)} && {command}")
    return time.monotonic() - began_s, code, output


def inside(root: Path, command: str, *, user: bool = True) -> tuple[int, str]:
    """Run a shell command on a system, with a /proc and a small /dev of its own and no /dev/shm."""
    devices = " ".join(f"mknod -m 666 dev/{name} c {numbers} 2>/dev/null;" for name, numbers in DEVICES.items())
    words = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": HOME if user else "/root", "LANG": "C.UTF-8"}
    words |= {name: os.environ[name] for name in os.environ if name.lower().endswith("_proxy")}
    words |= {"SSL_CERT_FILE": TRUSTED, "PIP_CERT": TRUSTED, "EPOCHMARK_ACCELERATOR": "cpu"}
    as_user = "--userspec=user" if user else ""
    setting = " ".join(f"{name}={shlex.quote(value)}" for name, value in words.items())
    script = (
        f"cd {shlex.quote(str(root))} && {devices} mount -t proc proc proc && "
        f"exec chroot {as_user} . /usr/bin/env -i {setting} sh -c {shlex.quote(command)}"
    )
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout


DEVICES = {"null": "1 3", "zero": "1 5", "random": "1 8", "urandom": "1 9", "tty": "5 0"}


def do(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
