"""Train, and read the folders of runs."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from ._evaluate import Results, flags, metrics_of
from ._program import ConfigError, Error, assignments, call, plain


class Run:
    """A trained run. Its properties read the files of its folder at each access."""

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = Path(folder)
        if not (self.folder / "config.yaml").is_file():
            raise ConfigError(f"{self.folder}: there is no run in this folder; want one with config.yaml")

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def _result(self, name: str) -> Path:
        """Return the path of a result file. Files of a run that has not ended may be of an earlier end."""
        try:
            record = json.loads((self.folder / "run.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            record = {"begins": True}
        if record.get("begins") or record.get("error"):
            raise Error(f"{self.folder}: the run has not ended; train(run=..., resume=True) continues it, "
                        "and evaluate(run=...) measures its newest checkpoint")
        return self.folder / name

    @property
    def log(self) -> dict[str, NDArray[np.float64]]:
        """Columns of log.jsonl, such as epoch, supervised/loss or metrics/dlsbd; NaN where a row lacks a column."""
        with (self.folder / "log.jsonl").open(encoding="utf-8") as file:
            rows = [_flat(json.loads(line)) for line in file if line.strip()]
        keys = dict.fromkeys(key for row in rows for key in row)
        return {key: np.array([row.get(key, np.nan) for row in rows], dtype=np.float64) for key in keys}

    @property
    def codes(self) -> NDArray[np.float32]:
        """Codes of the images that the run has encoded at its end, [n, d]."""
        codes: NDArray[np.float32] = np.load(self._result("codes.npy"))
        return codes

    @property
    def factors(self) -> NDArray[Any]:
        """Levels of the factors of these images, [n, k]."""
        factors: NDArray[Any] = np.load(self._result("factors.npy"))
        return factors

    @property
    def metrics(self) -> Results:
        """Results of the metrics at the end of the training."""
        read = json.loads(self._result("metrics.json").read_text(encoding="utf-8"))
        return metrics_of(read.values() if isinstance(read, dict) else read)

    @property
    def config(self) -> str:
        """The config with all defaults, YAML."""
        return (self.folder / "config.yaml").read_text(encoding="utf-8")


def train(
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    run: str | os.PathLike[str] | Run | None = None,
    resume: bool = False,
    log: Callable[[str], Any] | None = print,
    data: str | os.PathLike[str] | None = None,
    **more: Any,
) -> Run:
    """Train a model and return its run.

    ``config`` is the name of an experiment, a YAML file, or a dict; the default is the quickstart. ``overrides`` has
    keys with dots, such as ``{"train.epochs": 3}``, and so have further keyword arguments: ``seed=1`` or
    ``**{"train.epochs": 3}``. ``run`` is the folder, by default one in ``runs``. ``log`` receives each line of the
    progress. ``data`` is the folder of public data sets.

    A KeyboardInterrupt saves the run before it goes on. ``train(..., run=FOLDER, resume=True)`` then continues it.
    """
    values = {**(overrides or {}), **more}
    folder = run.folder if isinstance(run, Run) else run
    args = ["train", "--json", *flags(run=folder, data=data)]
    if resume:
        args.append("--resume")
    with tempfile.TemporaryDirectory(prefix="unravel") as temporary:
        if isinstance(config, Mapping):
            path = Path(temporary) / "config.yaml"  # JSON is YAML
            path.write_text(json.dumps(config, default=plain), encoding="utf-8")
            config = path
        if config is not None:
            args.append(os.fspath(config))
        result = json.loads(call([*args, *assignments(values)], log, temporary))
    return Run(result["dir"])


def pull(
    name: str,
    source: str | os.PathLike[str] | None = None,
    *,
    run: str | os.PathLike[str] | None = None,
    log: Callable[[str], Any] | None = print,
    data: str | os.PathLike[str] | None = None,
) -> Run:
    """Fetch a trained model and return its run.

    ``source`` is a file, a folder or a URL with the archive; the default is the release. ``run`` is the folder of the
    run, by default ``runs/NAME``. ``unravel pull`` on the command line lists the names.
    """
    result = json.loads(call(["pull", name, "--json", *flags(**{"from": source, "out": run, "data": data})], log))
    return Run(result["run"])


def _flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the numbers of a row of the log, with the losses by objective/name."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, "" if prefix + key == "losses" else f"{prefix}{key}/"))
        elif isinstance(value, (int, float)):
            flat[prefix + key] = value
    return flat
