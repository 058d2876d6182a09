"""Attention alone, as timed by the benchmark of flash-attention."""

from functools import partial

from workloads.engines.engine import Engine
from workloads.networks.transformer import attend
from workloads.protocol import events
from workloads.protocol.messages import message
from workloads.protocol.parameters import Choice, OnOff, Parameter
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import Job
from workloads.system.limits import CASE_BUDGET_S, Limit, rate_of, send_headline, typical_duration
from workloads.training.measured import measured_memory

WIDTH, TOKENS = 2_048, 16_384  # of all heads, and of all sequences in a batch
LENGTHS: tuple[int, ...] = (512, 1_024, 2_048, 4_096, 8_192, 16_384)
_BACKWARD = 2.5  # operations of the gradients, relative to the forward pass, which they compute in part again


class Attention(Limit):
    """Softmax attention of sequences of several lengths."""

    fixed_duration_s = 30.0
    without = ("epochs", "batch_size", "jit")
    attention = "fused"

    id = "attention"
    metric = "flop_per_s"
    source = "Dao, FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning, 2023"
    epoch_text = message("epoch_text.attention")
    meaning = message("meaning.attention")
    study = ""
    # Of plain attention; see workloads.training.measured.
    memory_needs = measured_memory(tensorflow=(6_800, 0))
    parameters = (
        Parameter("head_width", Choice(("64", "128")), "64", message("parameter_help.head_width")),
        Parameter("causal", OnOff(), False, message("parameter_help.causal")),
    )
    published_differ = frozenset({"precision"})

    def measure(self, job: Job, engine: Engine, reporter: Reporter, dtype: str) -> None:
        """Measure the forward pass and both passes, until the sequences are too long for the time.

        The headline is the fastest forward pass. Without a fused kernel, only the shortest sequences are measured.
        """
        spec = job.spec
        size, is_causal = int(self.value_of(spec, "head_width")), bool(self.value_of(spec, "causal"))
        fused, steps = self.fused_attention(spec), spec.steps or self.steps
        lengths = LENGTHS if fused is not None else LENGTHS[:1]  # longer ones need 12 GB and more
        reporter.phase("measure", epochs=2 * len(lengths), total_steps=2 * len(lengths) * steps)
        mix, fastest = partial(fused or attend, is_causal=is_causal), None
        for number, length in enumerate(lengths):
            operations = 4 * TOKENS * length * WIDTH // (2 if is_causal else 1)
            if fastest is not None and (1 + _BACKWARD) * operations / fastest.value > CASE_BUDGET_S:
                break
            shape = (TOKENS // length, length, WIDTH // size, size)
            for index, (name, times) in enumerate((("forward", 1.0), ("both", 1 + _BACKWARD))):
                call = engine.attention_step(mix, shape, dtype, is_backward=name == "both")
                rate = rate_of(times * operations, typical_duration(reporter, call, 2 * number + index, steps))
                reporter.send(events.Metric(key=f"attention_{length}_{name}_flop_per_s", value=rate.value))
                if name == "forward" and (fastest is None or rate.value > fastest.value):
                    fastest = rate
        assert fastest is not None
        send_headline(reporter, self.metric, fastest)
