"""Decoding to declared types in several threads at once."""

import pytest

from tests.child import python

# Each type is used for the first time by four threads at once, which switch as often as possible. The process
# crashes if they use msgspec directly.
RACE = """
import dataclasses, sys, threading
from typing import Annotated
import msgspec
from workloads.protocol import typed

sys.setswitchinterval(1e-6)
FIELDS, THREADS, TYPES = 30, 4, 60
plain = {f"f{place}": place for place in range(FIELDS)}
content = msgspec.json.encode(plain)
makers = {"dataclass": dataclasses.make_dataclass, "struct": msgspec.defstruct}
uses = {
    "convert": lambda kind: typed.convert(plain, kind),
    "decode": lambda kind: typed.decode(content, kind),
    "decoder": lambda kind: typed.decoder(kind).decode(content),
}
make, use = makers[sys.argv[1]], uses[sys.argv[2]]
done = []

def work(kind, barrier):
    barrier.wait()
    done.append(use(kind))

for number in range(TYPES):
    least = [Annotated[int, msgspec.Meta(ge=-place - number)] | None for place in range(FIELDS)]
    kind = make(f"Kind{number}", [(f"f{place}", least[place]) for place in range(FIELDS)])
    barrier = threading.Barrier(THREADS)
    threads = [threading.Thread(target=work, args=(kind, barrier)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(len(done) == THREADS * TYPES)
"""


@pytest.mark.slow
@pytest.mark.parametrize("made", ["dataclass", "struct"])
@pytest.mark.parametrize("used", ["convert", "decode", "decoder"])
def test_types_may_be_used_for_the_first_time_by_several_threads(made: str, used: str) -> None:
    done = python("-c", RACE, made, used)
    assert (done.returncode, done.stdout) == (0, "True\n")
