"""A real browser without a window: Chromium, which the tests install from Debian where they may."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_S = 180.0
_AXE_RUN = """
axe.run(document, {resultTypes: ["violations"]}).then(found => {
  const marks = found.violations.map(each => ({id: each.id, help: each.help, count: each.nodes.length,
    first: each.nodes[0].html.slice(0, 200)}));
  const note = document.createElement("pre");
  note.id = "axe"; note.textContent = JSON.stringify(marks);
  document.body.append(note);
});
"""


@cache
def browser() -> str:
    """Return the browser's program; skips the test, with the reason, if there's none and none can be installed."""
    if there := next(filter(None, map(shutil.which, NAMES)), None):
        return there
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or shutil.which("apt-get") is None:
        pytest.skip("there's no Chromium, and only root can install Debian's")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        done = subprocess.run(
            ["apt-get", "-qq", *command], env=environment, capture_output=True, timeout=PATIENCE_S, check=False
        )
        if done.returncode:
            pytest.skip("Debian's Chromium can't be installed here")
    return shutil.which(NAMES[0]) or pytest.skip("Debian's Chromium isn't there after installing it")


def run(page: Path, *options: str, dark: bool = False) -> str:
    """Open a page, let it load, and return what the browser prints."""
    theme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *theme]
    profile = page.parent / "profile"
    command += [f"--user-data-dir={profile}", "--virtual-time-budget=20000", *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def violations(page: Path, *, dark: bool = False) -> list[dict[str, Any]]:
    """Return what axe-core finds wrong with a page; its policy would keep axe-core out, so a copy has none."""
    text = re.sub(r"<meta [^>]*Content-Security-Policy[^>]*>", "", page.read_text(encoding="utf-8"))
    axe = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    copy = page.with_name(f"axe-{page.name}")
    copy.write_text(text.replace("</body>", f"<script>{axe}</script><script>{_AXE_RUN}</script></body>"), "utf-8")
    shown = re.search(r'<pre id="axe">(.*?)</pre>', run(copy, "--dump-dom", dark=dark), re.DOTALL)
    assert shown is not None, "axe-core didn't run"
    marks: list[dict[str, Any]] = json.loads(html.unescape(shown[1]))
    return marks
