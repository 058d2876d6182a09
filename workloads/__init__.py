"""The catalogue of workloads, and the process that runs them. Knows neither app nor Qt nor database.

Nothing here imports an engine: `CATALOGUE` can be read by a window or a command line at once.
"""

from workloads.cifar10 import Cifar10KerasCnn
from workloads.demo import Demo
from workloads.workload import Workload

CATALOGUE: dict[str, Workload] = {workload.id: workload for workload in (Cifar10KerasCnn(), Demo())}
STANDARD = Cifar10KerasCnn.id
