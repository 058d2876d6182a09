"""Stored results: the database, groups of runs, imported results."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "database.bad_header": "its header is wrong",
    "database.bad_tables": "its tables are wrong",
    "database.begun_anew": (
        "The results in {path} are damaged ({reason}). The file was kept as {kept}, and a new, empty one was"
        " created."
    ),
    "database.being_repaired": "Another Epochmark is repairing the results in {path}.",
    "database.check_permissions": (
        "Check the folder's permissions, or set EPOCHMARK_HOME to a folder you can write to."
    ),
    "database.close_other_program": "Close the other program, then try again.",
    "database.damaged": "The results in {path} are damaged ({reason}).",
    "database.disk_full": "The disk is full: the results in {path} can't be saved.",
    "database.locked": "The results in {path} are locked by another program.",
    "database.move_it_away": "Move the file away yourself.",
    "database.no_access": "The results in {path} can't be read or written ({reason}).",
    "database.not_set_aside": "The results in {path} are damaged and can't be set aside ({reason}).",
    "database.of_another_program": "{path} is another program's database.",
    "database.repaired": (
        (
            "The results in {path} are damaged ({reason}). The file was kept as {kept}, and a new one was created"
            " with {count:,} run from it."
        ),
        (
            "The results in {path} are damaged ({reason}). The file was kept as {kept}, and a new one was created"
            " with {count:,} runs from it."
        ),
    ),
    "database.too_old": (
        "The results in {path} were written by a trial version of Epochmark (format {version}; this one reads from"
        " {known_version})."
    ),
    "database.too_new": (
        "The results in {path} were written by a newer Epochmark (format {version}; this one reads up to"
        " {known_version})."
    ),
    "database.try_again_to_repair": (
        "Try again: Epochmark then keeps the damaged file and recovers whatever it can read."
    ),
    "database.try_elsewhere": "Try again, or set EPOCHMARK_HOME to another folder.",
    "database.try_later": "Try again later.",
    "database.unusable": "The results in {path} can't be used ({reason}).",
    "database.update": "Update Epochmark, or set EPOCHMARK_HOME to another folder.",
    "groups.member": "in group {group_id}",
    "groups.run_of": "run {number} of {planned} in group {group_id}",
    "groups.see_list": "`{epochmark} results list` shows which runs belong to a group.",
    "groups.side": "side {side} of group {group_id}",
    "groups.under_way": "The runs of group {group_id} are already under way, perhaps in another window.",
    "groups.unknown": "There's no group {group_id}.",
    "groups.wait_for_it": "Wait until they end, then resume what is left.",
    "imports.all_not_verified": "All of these are imported, not verified; `{epochmark} results show ID --imported` shows one.",
    "imports.example": "For example: `{epochmark} import result.json`.",
    "imports.file": "{path}: {parts:; }",
    "imports.json_lists": "--json works with --list and --show only.",
    "imports.log_of_totals": "its seconds count from the start of training, so their differences were taken",
    "imports.logs_only": "--workload, --name and --totals describe epoch logs only.",
    "imports.none": "There are no imported results.",
    "imports.not_verified": "Imported results aren't verified: a code shows damage, not who measured.",
    "imports.one_action": "Name files to import, or ask for one of --list, --show and --remove.",
    "imports.own": ("this is your own run {numbers}", "{count} are your own runs {numbers}"),
    "imports.present": ("imported before, as {numbers}", "{count} were imported before, as {numbers}"),
    "imports.removed": "Removed imported result {number}.",
    "imports.replaced": (
        "imported as {numbers}, in place of what its code told",
        "{count} results imported as {numbers}, in place of what their codes told",
    ),
    "imports.see_compare": "See `{epochmark} compare WORKLOAD`, or `{epochmark} import --list`.",
    "imports.see_list": "`{epochmark} import --list` shows them.",
    "imports.taken": ("imported as {numbers}", "{count} results imported as {numbers}"),
    "imports.unknown": "There's no imported result {number}.",
    "logs.bad_name": "A computer needs a name of 1 to {limit} characters.",
    "logs.columns_missing": ("the column {columns} is missing", "the columns {columns} are missing"),
    "logs.epoch_out_of_order": "line {line} isn't epoch {expected}",
    "logs.implausible_epoch": "the epoch in line {line} took {duration_s:g} s",
    "logs.no_epochs": "it has no epochs",
    "logs.not_a_log": "{path} isn't an epoch log: {problem}.",
    "logs.not_csv": "it isn't a CSV file ({reason})",
    "logs.not_a_number": "“{text}” in line {line} isn't a number",
    "logs.not_measured_in_epochs": "{workload} isn't measured in seconds per epoch, so it can't use an epoch log.",
    "logs.not_totals": "The seconds in {path} don't rise from epoch to epoch, so they aren't totals.",
    "logs.too_many_cells": "line {line} has too many cells",
    "logs.too_many_epochs": "it has more than {limit:,} epochs",
    "logs.unknown_column": "it has an unknown column “{column}”",
}
