"""Lines between computers: whatever arrives is a line of the protocol or refused."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.cluster import wire
from app.core.cluster.wire import WireError, decode, encode
from workloads.protocol.spec import Endpoint

LINES: list[wire.Line] = [
    wire.Challenge(protocol=1, nonce="a" * 32),
    wire.Hello(protocol=1, rank=3, nonce="b" * 32, proof="c" * 64),
    wire.Welcome(proof="d" * 64),
    wire.Claim(facts={"version": "1"}),
    wire.Probe(port=80),
    wire.Probed(reached=True, port=1),
    wire.Start(addresses=(Endpoint("127.0.0.1", 80), Endpoint("::1", 81))),
    wire.Alive(),
    wire.Ended(rank=1),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("line", LINES, ids=lambda line: type(line).__name__)
def test_lines_come_back_as_they_were_sent(line: wire.Line) -> None:
    data = encode(line)
    assert data.count(b"\n") == 1
    assert decode(data.strip()) == line


@given(st.binary(max_size=300))
def test_bytes_are_lines_or_refused(data: bytes) -> None:
    with contextlib.suppress(WireError):
        assert isinstance(decode(data), wire.Line)


@given(
    st.sampled_from([str(type(line).__struct_config__.tag) for line in LINES]),
    st.dictionaries(
        st.sampled_from(
            ["protocol", "nonce", "rank", "proof", "facts", "port", "addresses", "said", "event", "code"]
        ),
        JSON,
    ),
)
def test_fields_of_any_value_are_refused_or_in_range(kind: str, fields: dict[str, object]) -> None:
    try:
        line = decode(json.dumps({"type": kind} | fields).encode())
    except WireError:
        return
    assert encode(line)
    if isinstance(line, wire.Start):
        assert 2 <= len(line.addresses) <= wire.RANKS
        assert all(1 <= each.port < 2**16 for each in line.addresses)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b'{"type":"start","addresses":[{"address":"::1","port":1}]}',
        b'{"type":"start","addresses":[{"address":"::1","port":1},{"address":"::1","port":0}]}',
        b'{"type":"start","addresses":[{"address":"::1","port":1},{"address":"a,b:1","port":2}]}',
        b'{"type":"hello","protocol":1,"rank":-1,"nonce":"","proof":""}',
        b'{"type":"unknown"}',
        b"[" * 100_000,
        b'{"type":"alive","more":"' + b"x" * wire.LINE_LIMIT_BYTES + b'"}',
    ],
)
def test_what_is_out_of_range_is_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        decode(data)


def test_a_proof_is_of_one_key_role_and_challenge() -> None:
    key, parts = wire.new_key(), (wire.new_nonce(), wire.new_nonce(), 1)
    proof = wire.prove(key, "guest", *parts)
    assert wire.is_proof(proof, key, "guest", *parts)
    assert not wire.is_proof(proof, wire.new_key(), "guest", *parts)
    assert not wire.is_proof(proof, key, "host", *parts)
    assert not wire.is_proof(proof, key, "guest", parts[0], parts[1], 2)
    assert not wire.is_proof(proof, key, "guest", wire.new_nonce(), parts[1], 1)
