"""Joins a run on several computers, and shows which computers have joined."""

import argparse
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from app.cli.text import complain, in_line, say
from app.core.cluster.addresses import DEFAULT_PORT, address_text, read_address, read_hosts
from app.core.cluster.guest import Guest
from app.core.cluster.host import Host
from app.core.cluster.launchers import Launch, key_of
from app.core.cluster.member import Member
from app.core.cluster.timing import Timing
from app.core.cluster.wire import RANKS, new_key
from app.core.errors import AppError, UsageError
from app.core.messages import message, sentence
from app.core.messages import text as text_of
from app.core.messages.started_as import started_as
from app.core.paths import Paths
from app.core.runs.agreement import claim_of, joint_spec
from app.core.runs.event_messages import failure, problem
from app.core.runs.runner import checked_workload
from workloads import CATALOGUE
from workloads.engines.registry import engine_named
from workloads.protocol.spec import RunSpec
from workloads.settings import AUTO, SWITCH, Setting, Value, all_settings

AnyMember = TypeVar("AnyMember", bound=Member)
_SWITCHED = {value: name for name, value in SWITCH.items()}


@contextmanager
def joined(options: argparse.Namespace, spec: RunSpec, paths: Paths) -> Iterator[tuple[Member, RunSpec]]:
    """Join the run of another computer, as `run --join` does.

    Args:
        options: Command-line options.
        spec: Spec for this computer.
        paths: Folders of the app.

    Returns:
        This computer's part, and the spec for all computers.

    Raises:
        UsageError: The run can't be joined.
    """
    if options.repeat is not None:
        raise UsageError(message("cluster.without_repeat"))
    if options.rank is None or not 1 <= options.rank < RANKS:
        raise UsageError(message("cluster.needs_rank", last=RANKS - 1))
    key = options.key or os.environ.get("EPOCHMARK_KEY", "")
    if not key:
        raise UsageError(message("cluster.bad_key"))
    _check_trust(options, spec)
    host, port = read_address(options.join)
    address = (host, port or DEFAULT_PORT)
    with as_guest(Guest(address, options.rank, key, claim_of(spec, paths)), options, spec) as joint:
        yield joint


@contextmanager
def as_guest(guest: Guest, options: argparse.Namespace, spec: RunSpec) -> Iterator[tuple[Member, RunSpec]]:
    """Wait for all computers as a guest. See `joined`."""
    with _leaving(guest):
        _teller(options)(sentence("cluster.waiting_there", rank=guest.rank))
        guest.gather()
        spec = joint_spec(spec, guest.count)
        checked_workload(spec)
        yield guest, spec


@contextmanager
def hosted(options: argparse.Namespace, spec: RunSpec, paths: Paths) -> Iterator[tuple[Member, RunSpec]]:
    """Wait for all computers listed in a file, as `cluster run --hosts` does. See `joined`."""
    _check_trust(options, spec)
    hosts = read_hosts(options.hosts)
    joint = joint_spec(spec, len(hosts))
    checked_workload(joint)
    tell = _teller(options)
    key, (address, port) = new_key(), hosts[0]
    host = Host((address, _port(options) or port or 0), len(hosts), key, claim_of(spec, paths), timing_of(options))
    with _leaving(host):
        tell(sentence("cluster.start_there", count=len(hosts) - 1))
        trust = ["--trust-network"] if options.trust_network else []
        words = [*_command(spec), *trust, "--join", address_text(address, host.port)]
        for rank, (name, _) in enumerate(hosts[1:], 1):
            tell(f"\n{in_line(name)}:")
            tell(f"    {started_as()} {shlex.join([*words, '--rank', str(rank), '--key', key])}")
        tell("\n" + sentence("cluster.waiting", address=address_text(address, host.port)))
        host.gather(lambda news: tell(in_line(text_of(news))))
        yield host, joint


@contextmanager
def launched(
    options: argparse.Namespace, spec: RunSpec, paths: Paths, launch: Launch
) -> Iterator[tuple[Member, RunSpec]]:
    """Wait for all processes started by Slurm, torchrun or MPI. See `joined`."""
    _check_trust(options, spec)
    joint = joint_spec(spec, launch.count)
    checked_workload(joint)
    key, claim, timing = key_of(os.environ), claim_of(spec, paths), timing_of(options)
    address = (launch.address, _port(options) or DEFAULT_PORT)
    if launch.rank:
        guest = Guest(address, launch.rank, key, claim, timing, retries=True)
        with as_guest(guest, options, spec) as there:
            yield there
        return
    tell = _teller(options)
    host = Host(address, launch.count, key, claim, timing)
    with _leaving(host):
        host.gather(lambda news: tell(in_line(text_of(news))), gives_up=True)
        yield host, joint


def timing_of(options: argparse.Namespace) -> Timing:
    """Return the time limits for a command."""
    return Timing() if options.wait is None else replace(Timing(), gather_s=max(1.0, options.wait))


def _check_trust(options: argparse.Namespace, spec: RunSpec) -> None:
    """Raise UsageError if the engine accepts connections from anywhere and the user hasn't allowed this."""
    engine = None if CATALOGUE[spec.workload].is_demo else engine_named(spec.engine)
    if engine is not None and engine.listens_everywhere and not options.trust_network:
        raise UsageError(message("cluster.listens_everywhere", engine=engine.title))


def _port(options: argparse.Namespace) -> int | None:
    if options.port is not None and not 1 <= options.port < 2**16:
        arguments = {"option": "--port", "least": 1, "most": 2**16 - 1, "given": options.port}
        raise UsageError(message("cli.number_out_of_range", **arguments))
    port: int | None = options.port
    return port


@contextmanager
def _leaving(member: AnyMember) -> Iterator[AnyMember]:
    """Leave the run when the block ends, even after an error. The session of a started run has already left."""
    error = None
    try:
        yield member
    except AppError as failed:
        error = failure("bad_parameters", problem(failed))
        raise
    finally:
        member.end("cancelled" if error is None else "failed", error)


def _teller(options: argparse.Namespace) -> Callable[[str], None]:
    return complain if options.json else lambda line: say(line, flush=True)


def _command(spec: RunSpec) -> list[str]:
    """Return the words of a command that runs a spec on another computer, whose settings may differ."""
    workload = CATALOGUE[spec.workload]
    usual = workload.default_spec(spec.preset)
    words = ["run", spec.workload, "--preset", spec.preset]
    if spec.duration_s is not None:
        words += ["--duration", f"{spec.duration_s:g}"]
    for setting in all_settings():
        value = setting.of(spec)
        if setting.flag and (value != setting.of(usual) or setting.name in ("engine", "data")):
            words += [setting.flag, _typed(setting, value)]
    for name, parameter in spec.parameters.items():
        if parameter != usual.parameters.get(name):
            words += ["--set", f"{name}={parameter}"]
    return words


def _typed(setting: Setting, value: Value) -> str:
    if setting.kind == "switch" and isinstance(value, bool):
        return _SWITCHED[value]
    return AUTO if value is None else str(value)
