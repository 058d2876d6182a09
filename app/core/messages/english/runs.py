"""Runs: why one can't start, what its worker did, how it ended."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "exit.aborted": "aborted (SIGABRT)",
    "exit.access_violation": "crashed (access violation)",
    "exit.code": "ended with exit code {code}",
    "exit.fast_fail": "crashed (fast fail)",
    "exit.had_to_be_killed": "had to be killed",
    "exit.illegal_instruction": "used an instruction that this CPU doesn't have (SIGILL)",
    "exit.killed": "was killed (SIGKILL), as happens when the computer runs out of memory",
    "exit.segmentation_fault": "crashed (SIGSEGV)",
    "exit.signal": "was ended by signal {signal}",
    "exit.terminated": "was terminated (SIGTERM)",
    "memory.computer_too_small": (
        "A batch of {batch_size} needs about {need_bytes:bytes}, but this computer has {there_bytes:bytes}. {advice}"
    ),
    "memory.gpu_too_small": (
        "A batch of {batch_size} needs about {need_bytes:bytes}, but the {gpu} has {there_bytes:bytes}. {advice}"
    ),
    "memory.other_workload": "Choose another workload.",
    "memory.smaller_batch": "Choose a batch of at most {fitting}.",
    "run.awake_reason": "A benchmark is running",
    "run.crashed": "The worker process {exit} before the run finished.",
    "run.crashed_after_saying": (
        "The worker process {exit} before the run finished. The last lines it printed: {lines: / }"
    ),
    "run.damaged_event": "The worker process sent a line that can't be read ({reason}), which was left out.",
    "run.damaged_events": "{lines:,} lines from the worker process couldn't be read and were left out.",
    "run.fault": "Something went wrong in Epochmark itself and ended the run. The log says more.",
    "run.gpu_not_used": (
        "{engine} can't use this computer's {gpu}, so the run uses the CPU. To see why and what to do, open the doctor"
        " on the Hardware page or run `{epochmark} doctor` in a terminal."
    ),
    "run.gpu_not_used_by_other": "{engine} can't use this computer's {gpu}, so the run uses the CPU.",
    "run.hung": "The worker process was silent for {silent_s:.0f} s, so it was ended.",
    "run.line_without_end": "it has no end",
    "run.not_stored_yet": ("{problem} Trying again for {patience_s:.0f} s. What was measured isn't lost."),
    "run.not_utf8": "A setting of the run isn't valid UTF-8 text.",
    "run.other_protocol": "The worker process uses protocol {theirs} instead of {ours}.",
    "run.probe_stopped": "The measurement was stopped.",
    "run.problem": "{problem}",
    "run.problem_with_advice": "{problem} {advice}",
    "run.rename_it": "Rename what it refers to, or choose something else.",
    "run.silent": "The worker process has been silent for {silent_s:.0f} s. It may be compiling, or it may hang.",
    "run.unknown_event": "This version doesn't know this type of event.",
    "run.worker_not_started": "The worker process can't be started ({reason}).",
    "runs.bad_comment": "A comment is one line of plain text, without tabs or other control characters.",
    "runs.cancel_first": "Cancel it first.",
    "runs.comment_too_long": "A comment can have at most {limit} characters, not {given}.",
    "runs.deleted_or_replaced": "It was deleted, or the file was replaced.",
    "runs.gone": "Run {run_id} is no longer in {path}.",
    "runs.replaced": "{path} was replaced during run {run_id}.",
    "runs.rescue_failed": "There was no room for it elsewhere either.",
    "runs.rescued": "What couldn't be stored is in {path}.",
    "runs.see_list": "`{epochmark} results list` shows the runs you have.",
    "runs.sort_keys": "Choose one of: {keys}.",
    "runs.still_running": "Run {run_id} is still running.",
    "runs.unknown": ("There's no run {run_ids}.", "There are no runs {run_ids}."),
    "runs.unknown_and_more": "There are no runs {run_ids} and {more:,} more.",
    "runs.unknown_sort_key": "Runs can't be sorted by “{key}”.",
    "runs.written_aside": "Later measurements are in the file that was set aside next to it.",
    "workload.did_you_mean": "Did you mean {near}? `{epochmark} workloads` lists them all.",
    "workload.see_list": "`{epochmark} workloads` lists them all.",
}
