"""Train and measure disentangled representations.

The package runs the program ``unravel`` and exchanges NumPy arrays with it through temporary files. A value from Python
is the value that the command line prints.
"""

from ._dataset import DataSet, Factor, dataset
from ._encoder import Encoder
from ._evaluate import Metric, Results, evaluate
from ._program import ConfigError, Error, program
from ._train import Run, pull, train

__all__ = [
    "ConfigError",
    "DataSet",
    "Encoder",
    "Error",
    "Factor",
    "Metric",
    "Results",
    "Run",
    "dataset",
    "evaluate",
    "program",
    "pull",
    "train",
]
