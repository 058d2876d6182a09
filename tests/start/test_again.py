"""In CI, tests that failed run again, alone: those that fail again fail the check, the others are named."""

from pathlib import Path

import pytest

from tests.child import python
from tests.conftest import ROOT

pytestmark = pytest.mark.long
RUN = f"""
import runpy, sys
module = runpy.run_path({str(ROOT / "tests" / "__main__.py")!r})
sys.exit(module["run_again"](["-q", *sys.argv[1:]]))
"""
TESTS = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_first_time(number):
    mark = Path(f"{{number}}.ran")
    if mark.exists():
        assert {again}
        return
    mark.touch()
    raise AssertionError

def test_other():
    Path("other.ran").write_text(Path("other.ran").read_text() + "x" if Path("other.ran").exists() else "x")
"""


@pytest.mark.parametrize(
    ("count", "again", "code"), [(0, True, 0), (2, True, 0), (1, False, 1), (4, True, 1)], ids=str
)
def test_only_what_fails_twice_fails(tmp_path: Path, count: int, again: bool, code: int) -> None:
    (tmp_path / "test_it.py").write_text(TESTS.format(count=count, again=again), "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:randomly\n", "utf-8")
    result = python("-c", RUN, cwd=tmp_path)
    assert result.returncode == code, result.stdout
    assert ("A fault to mend: test_it.py::test_first_time[0]" in result.stdout) == (count == 2)
    assert (tmp_path / "other.ran").read_text() == "x"  # what passed isn't repeated


def test_an_error_of_pytest_stays_one(tmp_path: Path) -> None:
    result = python("-c", RUN, "nowhere.py", cwd=tmp_path)
    assert result.returncode == 4, result.stdout
