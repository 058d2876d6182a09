"""Converts published values to the unit of a run's headline."""

from app.core.analysis.published import PublishedRow
from app.core.messages import sentence
from app.core.metrics import headline_kind
from workloads import CATALOGUE

# Metrics of published rows, mapped to keys of app.core.metrics.
ROW_METRICS = {
    "s_per_epoch": "seconds_per_epoch_s",
    "s_per_minibatch": "seconds_per_batch_s",
    "images_per_s": "images_per_s",
    "tokens_per_s": "tokens_per_s",
    "flop_per_s": "flop_per_s",
}


def converted(row: PublishedRow, metric: str) -> tuple[float, str] | None:
    """Return a row's value in another metric, with a remark; None if the conversion isn't exact.

    Seconds per mini-batch and images per second are equivalent if the batch size is known; seconds per epoch and
    images per second are equivalent only if there is no validation pass.
    """
    own = ROW_METRICS.get(row.metric)
    if own == metric:
        return row.value, ""
    workload = CATALOGUE.get(row.workload)
    if (row.metric, metric) == ("ms_per_step", "tokens_per_s") and workload is not None and row.batch_size:
        tokens = row.batch_size * workload.units_of("")
        return 1_000 * tokens / row.value, sentence("compare.converted", unit="ms per step")
    samples = workload.samples_per_epoch if workload and not workload.validation_samples else None
    counts = {"seconds_per_batch_s": row.batch_size, "seconds_per_epoch_s": samples}
    wanted, given = counts.get(metric), counts.get(own or "")
    remark = sentence("compare.converted", unit=headline_kind(own or row.metric).unit)
    if own == "images_per_s" and wanted:
        return wanted / row.value, remark
    if metric == "images_per_s" and given:
        return given / row.value, remark
    if wanted and given:
        return row.value * wanted / given, remark
    return None
