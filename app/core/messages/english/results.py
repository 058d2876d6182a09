"""The Results page, the history."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "results_page.all_results": "All results",
    "results_page.all_workloads": "All workloads",
    "results_page.any_status": "Any status",
    "results_page.charts": "Charts",
    "results_page.comment": "Name or comment",
    "results_page.compare": "Compare",
    "results_page.copied": ("Copied {count} run as a table", "Copied {count:,} runs as a table"),
    "results_page.deleted": ("Deleted {count} run", "Deleted {count:,} runs"),
    "results_page.epochs": "{done} of {planned}",
    "results_page.epochs_left_out": (
        "{left_out:,} epochs in the middle aren't shown; export the run to get them all."
    ),
    "results_page.epochs_of_run": "Epochs of the run",
    "results_page.export_all": "Export all …",
    "results_page.export_some": "Export {count:,} …",
    "results_page.filter": "Filter",
    "results_page.filter_hint": "Filter by name, workload, device, engine, verdict, day, number …",
    "results_page.filter_tip": (
        "Shows the runs that contain all words, in any order: in the name, workload, CPU or graphics card, engine, preset,"
        " data, status, number or day (2026-11). A verdict is matched from its beginning."
    ),
    "results_page.first_epoch": "1st: {value}",
    "results_page.group_closed": "{kind}, {runs}, closed",
    "results_page.group_opened": "{kind}, {runs}, opened",
    "results_page.hardware_during_run": "Hardware during the run",
    "results_page.no_match": "No matching runs",
    "results_page.no_match_note": "Try other words or filters.",
    "results_page.no_results": "No results yet",
    "results_page.no_results_note": "All runs are kept here, even cancelled ones.",
    "results_page.rename": "Rename",
    "results_page.restored": ("Restored {count} run", "Restored {count:,} runs"),
    "results_page.run_at": "Run {run_id} · {at}",
    "results_page.runs": ("{count} run", "{count:,} runs"),
    "results_page.runs_of_group": "Runs of the group",
    "results_page.runs_of_all": ("{shown:,} of {count:,} run", "{shown:,} of {count:,} runs"),
    "results_page.status": "Status",
    "results_page.table": "Stored runs",
}
