"""The `cluster` command: runs a workload on several computers, which share each batch."""

import argparse
import os

from app.cli.joining import hosted, launched
from app.cli.result_files import check_place
from app.cli.run import run_once
from app.cli.specs import make_spec
from app.core.cluster.launchers import launch_of
from app.core.errors import UsageError
from app.core.messages import message
from app.core.paths import Paths


def run(options: argparse.Namespace, paths: Paths) -> int:
    """Wait for all computers, run, and print the result. Return 0 if done, 1 if failed, 130 if cancelled."""
    spec = make_spec(options, paths, joins=True)
    if options.output is not None:
        check_place(options.output)
    if options.hosts is not None:
        meeting = hosted(options, spec, paths)
    elif (launch := launch_of(os.environ)) is not None:
        meeting = launched(options, spec, paths, launch)
    else:
        raise UsageError(message("cluster.needs_hosts"))
    with meeting as (member, joint):
        return run_once(joint, options, paths, member)
