"""The protocol between the computers of a run: one JSON object per line, over one connection to the host.

The host sends `challenge`, the guest replies with `hello`, and the host with `welcome`. The proofs in these lines
show that both sides have the run's key; the key itself is never sent. Then the guest sends its `claim`, and both
start to send `alive`. The host answers with `refused`, or with `probe` and, once all computers have joined,
`start`. From then on, the host sends events from its worker, and the side whose run ends first sends `ended`.
"""

import hashlib
import hmac
import secrets
from typing import Annotated, TypeAlias

import msgspec

from workloads.protocol import events, typed
from workloads.protocol.messages import Message
from workloads.protocol.spec import Endpoint

PROTOCOL = 1
# The limit for an event, plus the data around it.
LINE_LIMIT_BYTES = events.LINE_LIMIT_BYTES + 1024
# Maximum number of computers in a run, as in workloads.settings.
RANKS = 64
_KEY_BYTES = 16

Nonce = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{32}\Z")]
Proof = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Port = Annotated[int, msgspec.Meta(ge=1, le=65_535)]
Number = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Fact = Annotated[str, msgspec.Meta(max_length=500)]


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """A line of the protocol."""


class Challenge(Line, frozen=True, kw_only=True, tag="challenge"):
    """The host greets a computer that has connected."""

    protocol: Number
    nonce: Nonce


class Hello(Line, frozen=True, kw_only=True, tag="hello"):
    """The guest shows that it has the key."""

    protocol: Number
    rank: Number
    nonce: Nonce
    proof: Proof


class Welcome(Line, frozen=True, kw_only=True, tag="welcome"):
    """The host shows that it has the key, too."""

    proof: Proof


class Claim(Line, frozen=True, kw_only=True, tag="claim"):
    """Facts about the guest's run, to compare with the host's. See `facts`."""

    facts: Annotated[dict[Fact, Fact], msgspec.Meta(max_length=100)]


class Refused(Line, frozen=True, kw_only=True, tag="refused"):
    """The guest can't take part."""

    said: Message


class Probe(Line, frozen=True, kw_only=True, tag="probe"):
    """The guest must try to connect to this port, which the engine will use."""

    port: Port


class Probed(Line, frozen=True, kw_only=True, tag="probed"):
    """Whether the guest could connect, and a port of the guest to which the host must try to connect."""

    reached: bool
    port: Port


class Start(Line, frozen=True, kw_only=True, tag="start"):
    """All computers have joined. Their engines use these addresses, in the order of the ranks."""

    addresses: Annotated[tuple[Endpoint, ...], msgspec.Meta(min_length=2, max_length=RANKS)]


class Alive(Line, frozen=True, kw_only=True, tag="alive"):
    """The sender is still connected."""


class Shared(Line, frozen=True, kw_only=True, tag="shared"):
    """An event from the host's run."""

    event: msgspec.Raw


class Ended(Line, frozen=True, kw_only=True, tag="ended"):
    """The run has ended on a computer. `said` is None if it was completed."""

    rank: Number
    address: Fact = ""
    code: events.ErrorCode = "crashed"
    said: Message | None = None


AnyLine: TypeAlias = (
    Challenge | Hello | Welcome | Claim | Refused | Probe | Probed | Start | Alive | Shared | Ended
)
_decoder = typed.decoder(AnyLine)
_encoder = msgspec.json.Encoder()


class WireError(Exception):
    """A line isn't part of the protocol."""


def encode(line: Line) -> bytes:
    """Return a line with its newline."""
    return _encoder.encode(line) + b"\n"


def decode(line: bytes) -> AnyLine:
    """Parse a line. Raises WireError if it is too long or not part of the protocol."""
    if len(line) > LINE_LIMIT_BYTES:
        raise WireError
    try:
        decoded: AnyLine = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WireError from error
    return decoded


def new_key() -> str:
    """Return a new key for one run."""
    return secrets.token_hex(_KEY_BYTES)


def new_nonce() -> str:
    """Return a random string that hasn't been used for any proof."""
    return secrets.token_hex(16)


def prove(key: str, role: str, *parts: object) -> str:
    """Return a proof that this computer has the key.

    Args:
        key: The run's key.
        role: "host" or "guest", so that neither can send the other's proof back.
        parts: The nonces of both sides and the guest's rank.
    """
    text = ":".join((role, *map(str, parts)))
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def is_proof(proof: str, key: str, role: str, *parts: object) -> bool:
    """Return whether a proof was made with the key. See `prove`."""
    return hmac.compare_digest(proof, prove(key, role, *parts))
