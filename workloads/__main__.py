"""The worker process: reads a job from stdin, runs it, and writes events to the original stdout.

Later lines on stdin are requests ("cancel", "enough"). If stdin is closed, the parent process has exited, and the
worker exits too.
"""

import faulthandler
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from functools import partial
from typing import NoReturn

from workloads import CATALOGUE
from workloads.engines.computers import cancel, computers, facts_of
from workloads.engines.cpp_runtime import find_cpp_runtime
from workloads.engines.cpu_allowance import limit_cpus
from workloads.engines.peers import peers
from workloads.engines.registry import ENGINES, engine_named, engine_title
from workloads.engines.setup import is_gone
from workloads.protocol import events
from workloads.protocol.errors import WorkloadError, bad_parameters, is_refused_thread
from workloads.protocol.messages import message
from workloads.protocol.reporter import Cancelled, Emitter, Reporter, beat
from workloads.protocol.spec import Job, RunSpec, read_job
from workloads.protocol.streams import EXIT_ORPHANED, end_as_orphan, read_lines, take_stdin, take_stdout

CANCEL, ENOUGH = b"cancel", b"enough"


def main() -> int:
    """Run one job; return 0 if it completed, 1 otherwise."""
    faulthandler.enable()
    find_cpp_runtime()
    emitter = Emitter(take_stdout())
    reporter = Reporter(emitter)
    requests = read_lines(take_stdin())
    emitter.send(
        events.Hello(
            protocol=events.PROTOCOL,
            pid=os.getpid(),
            python=".".join(map(str, sys.version_info[:3])),
            wall_time_ns=time.time_ns(),
        )
    )
    line = next(requests, None)
    if line is None:
        return EXIT_ORPHANED
    threading.Thread(target=_watch, args=(requests, reporter), daemon=True).start()
    status = _run(line, reporter, emitter)
    emitter.send(events.End(status=status))
    return 0 if status == "completed" else 1


def _run(line: bytes, reporter: Reporter, emitter: Emitter) -> events.EndStatus:
    job = None
    try:
        job = _checked_job(line)
        cpus = job.spec.settings.get("cpus")
        if isinstance(cpus, int) and not limit_cpus(cpus):
            raise bad_parameters("engine.cpus_not_limited", cpus=cpus)
        if _processes(job.spec) > 1 or job.place is not None:
            beat(emitter)
        workload, give_up = CATALOGUE[job.spec.workload], partial(_give_up, reporter)
        facts, is_out_of_memory = facts_of(job.spec, workload.version), partial(_is_out_of_memory, job.spec.engine)
        with (
            peers(line, _processes(job.spec), give_up, job.place),
            computers(job.place, facts, give_up, is_out_of_memory, job.private),
        ):
            workload.run(job, reporter)
    except Cancelled:
        return "cancelled"
    except WorkloadError as error:
        reporter.send(events.Error(code=error.code, said=error.message))
    except Exception as error:  # noqa: BLE001 - the worker's last resort: every error is reported to the parent
        reporter.send(_unexpected(error, job))
    else:
        return "completed"
    return "failed"


def _checked_job(line: bytes) -> Job:
    try:
        job = read_job(line)
    except ValueError as error:
        raise bad_parameters("worker.unreadable_job", reason=str(error)[:200]) from error
    if job.spec.workload not in CATALOGUE:
        raise bad_parameters("workload.unknown", workload=job.spec.workload[:60])
    CATALOGUE[job.spec.workload].check(job.spec)
    return job


def _give_up(reporter: Reporter, error: WorkloadError) -> NoReturn:
    """Report an error and exit, even if the engine is still waiting."""
    reporter.send(events.Error(code=error.code, said=error.message))
    reporter.send(events.End(status="failed"))
    os._exit(1)


def _processes(spec: RunSpec) -> int:
    is_alone = spec.devices_here == 1 or not ENGINES[spec.engine].has_process_per_device
    return 1 if is_alone else spec.devices_here


def _unexpected(error: Exception, job: Job | None) -> events.Error:
    text = "".join(traceback.format_exception(error))[-15_000:]
    if job is not None and _is_out_of_memory(job.spec.engine, error):
        return events.Error(code="out_of_memory", said=message("worker.out_of_memory"), traceback=text)
    if job is not None and _is_gone(job.spec.engine):
        said = message("engine.gone", engine=engine_title(job.spec.engine))
        return events.Error(code="engine_missing", said=said, traceback=text)
    if is_refused_thread(str(error)):
        return events.Error(code="internal", said=message("worker.threads_refused"), traceback=text)
    said = message("worker.fault", kind=type(error).__name__, text=str(error)[:1_000])
    return events.Error(code="internal", said=said, traceback=text)


def _is_out_of_memory(engine: str, error: BaseException) -> bool:
    try:
        return isinstance(error, MemoryError) or engine_named(engine).is_out_of_memory(error)
    except Exception:  # noqa: BLE001 - an error in the engine must not hide the run's error
        return False


def _is_gone(engine: str) -> bool:
    try:
        return is_gone(engine_named(engine))
    except Exception:  # noqa: BLE001 - as above
        return False


def _watch(requests: Iterator[bytes], reporter: Reporter) -> None:
    for line in requests:
        if line.strip() == CANCEL:
            reporter.cancel_requested.set()
            cancel()
        elif line.strip() == ENOUGH:
            reporter.enough.set()
    end_as_orphan()


def start() -> NoReturn:
    """Run as the worker process and exit."""
    try:
        code = main()
    except BrokenPipeError:
        code = EXIT_ORPHANED
    sys.stderr.flush()
    # Skip the engine's shutdown. It takes seconds and sometimes crashes, and all events have been sent by now.
    os._exit(code)


if __name__ == "__main__":
    start()
