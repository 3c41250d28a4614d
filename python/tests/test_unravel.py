"""Tests of the package against the program that the variable UNRAVEL names."""

import json
import os
import signal
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np

import unravel

try:
    import pandas
except ImportError:
    pandas = None
try:
    import torch
except ImportError:
    torch = None

TINY = {
    "name": "tiny", "seed": 1, "dataset": {"square": {"size": 16, "side": 4}}, "supervision": {"pairs": {"count": 32}},
    "model": {"lsbd-vae": {"encoder": {"mlp": {"hidden": [16]}},
                           "latent": [{"sphere": {"dim": 1, "log_t": [-10, -9]}}] * 2}},
    "losses": [{"reconstruction": {"likelihood": "gaussian"}}, "kl", {"lsbd": {"weight": 100}}],
    "train": {"epochs": 3, "batch": 32, "figures": False}, "metrics": ["dlsbd"],
}


def command(*args):
    """Return the output of a command line."""
    return subprocess.run([unravel.program(), *args], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout


class Case(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.dir = Path(temporary.name)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir)


class Evaluate(Case):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(0)
        self.codes = random.normal(size=(300, 3)).astype(np.float32)
        self.factors = np.stack([np.arange(300) % 3, random.integers(0, 5, 300)], 1)

    def test_same_as_the_command_line(self):
        np.save("c.npy", self.codes)
        np.save("f.npy", self.factors)
        want = json.loads(command("eval", "--codes=c.npy", "--factors=f.npy", "--metrics=mig,dci,med", "--json"))["metrics"]
        got = unravel.evaluate(self.codes, self.factors, "mig,dci,med")
        self.assertEqual({name: m.raw for name, m in got.items()}, want)
        self.assertEqual(got["dci"].value, want["dci"]["value"])
        self.assertEqual(got["mig"].parts["per_factor"].tolist(), want["mig"]["per_factor"])
        self.assertEqual(got["mig"].grids["mutual_information"].shape, (3, 2))
        self.assertIn("ordinal", got.log)

    def test_double_precision_and_sequences(self):
        wide = self.codes.astype(np.float64)
        a = unravel.evaluate(wide, self.factors, ["mig"], chance=0)
        b = unravel.evaluate(wide.tolist(), self.factors.tolist(), ["mig"], chance=0)
        self.assertEqual(a["mig"].raw, b["mig"].raw)
        self.assertIsNone(a["mig"].chance)

    @unittest.skipIf(torch is None, "there is no PyTorch")
    def test_tensors(self):
        want = unravel.evaluate(self.codes, self.factors, "mig", chance=0)["mig"].value
        codes, factors = torch.tensor(self.codes, requires_grad=True), torch.tensor(self.factors)
        for got in factors, factors.bfloat16(), {"a": factors[:, 0], "b": factors[:, 1].bfloat16()}:
            self.assertEqual(unravel.evaluate(codes, got, "mig", chance=0)["mig"].value, want)

    def test_names_and_words(self):
        words = np.array(["cube", "ball", "cone"])[self.factors[:, 0]]
        plain = unravel.evaluate(self.codes, self.factors, "mig", types=["categorical", "ordinal"])
        for named in ({"shape": words, "size": self.factors[:, 1]}, np.array(
                list(zip(words, self.factors[:, 1])), dtype=[("shape", "U9"), ("size", int)])):
            got = unravel.evaluate(self.codes, named, "mig")
            self.assertEqual(list(got["mig"].labels["per_factor"]), ["shape", "size"])
            # The levels of words are in alphabetical order, which MIG does not see.
            np.testing.assert_allclose(got["mig"].parts["per_factor"], plain["mig"].parts["per_factor"], rtol=1e-12)
        got = unravel.evaluate(self.codes, {"shape": np.char.encode(words)}, "mse")
        self.assertIn("0 is ball, 1 is cone, 2 is cube", got.log)  # bytes are text
        got = unravel.evaluate(self.codes, self.factors, "mig", names=["a", "7"])
        self.assertEqual(list(got["mig"].labels["per_factor"]), ["a", "factor 7"])
        got = unravel.evaluate(self.codes, {"a;b;c": np.char.add("x;", words), "d": self.factors[:, 1]}, "mig")
        self.assertEqual(list(got["mig"].labels["per_factor"]), ["a;b;c", "d"])
        self.assertIn("0 is x;ball", got.log)

    def test_counting_columns_stay(self):
        codes = self.codes.copy()
        codes[:, 0] = np.arange(300)
        got = unravel.evaluate(codes, np.arange(300)[:, None] * [1, 0] + self.factors * [0, 1], "mig", chance=0)
        self.assertEqual(got["mig"].grids["mutual_information"].shape, (3, 2))

    def test_unknown_levels(self):
        factors = self.factors.astype(float)
        factors[:10, 1] = np.nan
        got = unravel.evaluate(self.codes, factors, "mig", types="ordinal")
        table = unravel.evaluate(self.codes, {"a": factors[:, 0], "b": factors[:, 1]}, "mig", types="ordinal")
        self.assertEqual(got["mig"].basis["excluded"][0]["rows"], 10)
        self.assertEqual(got["mig"].value, table["mig"].value)
        whole = unravel.evaluate(np.ma.array(self.codes), np.ma.array(self.factors), "mig", types="ordinal")
        self.assertEqual(whole["mig"].value, unravel.evaluate(self.codes, self.factors, "mig", types="ordinal")["mig"].value)
        masked = np.ma.array(self.factors, mask=np.isnan(factors))
        self.assertEqual(got["mig"].value, unravel.evaluate(self.codes, masked, "mig", types="ordinal")["mig"].value)
        with self.assertRaisesRegex(unravel.Error, "row 0, column 0 is NaN"):
            unravel.evaluate(np.ma.masked_equal(self.codes, self.codes[0, 0]), self.factors, "mig")
        fields = np.ma.array([tuple(f) for f in self.factors], dtype=[("a", int), ("b", int)])
        fields["b"][:10] = np.ma.masked
        self.assertEqual(got["mig"].value, unravel.evaluate(self.codes, fields, "mig", types="ordinal")["mig"].value)
        if pandas is not None:
            frame = pandas.DataFrame(factors, columns=["a", "b"]).convert_dtypes()  # unknown levels are NA
            self.assertEqual(got["mig"].value, unravel.evaluate(self.codes, frame, "mig", types="ordinal")["mig"].value)

    def test_columns(self):
        want = unravel.evaluate(self.codes, {"a": self.factors[:, 0] > 1, "b": self.factors[:, 1]}, "mig", chance=0)
        self.assertIn("a ordinal (2 levels), b ordinal", want.log)
        truth = np.array([np.bool_(v) if i % 2 else bool(v) for i, v in enumerate(self.factors[:, 0] > 1)], object)
        got = unravel.evaluate(self.codes, {"a": truth, "b": self.factors[:, 1:]}, "mig", chance=0)
        self.assertEqual((got["mig"].value, got.log), (want["mig"].value, want.log))

    def test_options(self):
        angles = self.factors[:, 1] * 72.0
        turned = np.stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))], 1)
        got = unravel.evaluate(turned, angles, "dlsbd", types="circular:360", chance=2)
        self.assertAlmostEqual(got["dlsbd"].value, 0, places=6)
        self.assertEqual(got["dlsbd"].chance["shuffles"], 2)
        got = unravel.evaluate(self.codes, self.factors, "mig", like="disent", interval=90, repeats=8,
                               options={"mig.bins": 5}, out="out")
        self.assertEqual(got["mig"].raw["options"]["bins"], 5)
        self.assertEqual(got["mig"].interval["repeats"], 8)
        self.assertTrue((self.dir / "out" / "metrics.csv").exists())
        got = unravel.evaluate(self.codes, self.factors, "variance", blocks=[[0, 2], [1]])
        self.assertIn("variance", got)
        pairs = [(0, 3, "shape", "same"), (0, 1, "shape", "different"), (4, 7, "shape", "same"), (5, 9, "shape", "different")]
        self.assertIn("separation", unravel.evaluate(self.codes, pairs=pairs, metrics="separation", chance=0))

    def test_mistakes(self):
        for message, codes, factors, kwargs in [
            ("unknown metric", self.codes, self.factors, {"metrics": "mgi"}),
            ("want \\[n, d\\]", self.codes[0], self.factors, {}),
            ("want numbers", self.codes.astype(complex), self.factors, {}),
            ("one for each of the 2", self.codes, self.factors, {"names": ["a"]}),
            ("factor a has shape \\[300, 2\\]", self.codes, {"a": self.factors}, {}),
            ("want real numbers or text", self.codes, self.factors.astype(complex), {}),
            ("codes: .* want one array", [[1], [2, 3]], self.factors, {}),
            *(("want the columns of each factor", self.codes, self.factors, {"blocks": blocks, "metrics": "variance"})
              for blocks in ({"0": [1], "1": [0]}, [0, 1], [[False, True], [True]], np.eye(2, dtype=bool), [[0.7], [1.9]])),
            ("\"-1\" is not a column", self.codes, self.factors, {"blocks": [[-1], [0]], "metrics": "variance"}),
            ("set is no value", self.codes, self.factors, {"options": {"mig.bins": {3}}}),
        ]:
            with self.assertRaisesRegex(unravel.ConfigError, message) as caught:
                unravel.evaluate(codes, factors, **kwargs)
            self.assertEqual(caught.exception.code, 2)
        with self.assertRaisesRegex(unravel.Error, "^factors.npy: factors .* a row for each row of codes.npy") as caught:
            unravel.evaluate(self.codes, self.factors[:7])
        self.assertEqual(caught.exception.code, 1)
        self.assertNotIsInstance(caught.exception, unravel.ConfigError)

    @unittest.skipIf(pandas is None, "there is no pandas")
    def test_frames(self):
        frame = pandas.DataFrame({"a": self.factors[:, 0], "b": np.array(["x", "y", "z", "u", "v"])[self.factors[:, 1]]})
        got = unravel.evaluate(pandas.DataFrame(self.codes), frame, "mig,med")
        table = got.to_frame()
        self.assertEqual(list(table.index), list(got))
        self.assertEqual(table.loc["mig", "value"], got["mig"].value)
        self.assertEqual(table.loc["mig", "chance"], got["mig"].chance["mean"])
        pairs = pandas.DataFrame([(0, 3, "a", "same"), (0, 1, "a", "different")], index=[7, 9])
        self.assertIn("2 answers", unravel.evaluate(self.codes, pairs=pairs, metrics="variance", chance=0).log)
        codes = pandas.DataFrame(self.codes, index=np.arange(300) + 7)  # another index: rows belong together by position
        self.assertEqual(unravel.evaluate(codes, frame, "mig")["mig"].value, got["mig"].value)
        other = frame.iloc[::-1]
        for factors in other, {"a": other["a"], "b": frame["b"]}:
            with self.assertRaisesRegex(unravel.ConfigError, "the same index in different orders"):
                unravel.evaluate(pandas.DataFrame(self.codes), factors, "mig")

    @unittest.skipIf(pandas is None, "there is no pandas")
    def test_ordered_words(self):
        words = ["tiny", "small", "medium", "large", "vast"]
        column = pandas.Categorical([words[i] for i in self.factors[:, 1]], words, ordered=True)
        want = unravel.evaluate(self.codes, {"a": self.factors[:, 0], "b": self.factors[:, 1]}, "dci-regression", chance=0)
        for b in column, pandas.Series(column):
            got = unravel.evaluate(self.codes, {"a": self.factors[:, 0], "b": b}, "dci-regression", chance=0)
            self.assertEqual((got["dci-regression"].value, got.log), (want["dci-regression"].value, want.log))
            self.assertIn("factor0 ordinal (5 levels)", unravel.evaluate(self.codes, b, "mse", chance=0).log)


class Pull(Case):
    def test_pull(self):
        archives = Path(__file__).resolve().parents[2] / "results" / "models"
        if not archives.is_dir():
            self.skipTest("the archives of the models are in the repository alone")
        run = unravel.pull("cofhae-chopsticks", archives, run="model", data="data", log=None)
        self.assertEqual((run.folder, round(run.metrics["r4c"].value, 4)), (Path("model"), 0.9856))
        self.assertEqual(unravel.Encoder(run).encode(np.zeros((2, 1, 1, 64), np.float32)).shape, (2, 3))
        with self.assertRaisesRegex(unravel.ConfigError, "did you mean"):
            unravel.pull("cofhae-chopstick", log=None)


class Training(Case):
    def test_train_encode_decode(self):
        lines = []
        run = unravel.train(TINY, {"train.epochs": 2}, run="run", log=lines.append, **{"metrics.every": 1})
        self.assertTrue(any(line.startswith("epoch 2/2") for line in lines), lines)
        self.assertEqual(run.log["epoch"].tolist()[:1], [1])
        self.assertTrue(np.isfinite(run.log["supervised/loss"]).any())
        self.assertEqual((run.codes.shape, run.factors.shape), ((256, 4), (256, 2)))
        self.assertEqual(run.metrics["dlsbd"].value, unravel.evaluate(run=run, metrics="dlsbd")["dlsbd"].value)
        self.assertIn("epochs: 2", run.config)

        (run.folder / "run.json").rename("aside")  # as in a run that trains on
        for name in "metrics", "codes", "factors":
            with self.assertRaisesRegex(unravel.Error, "the run has not ended"):
                getattr(run, name)
        Path("aside").rename(run.folder / "run.json")

        data = unravel.dataset("square", size=16, side=4)
        encoder = unravel.Encoder(run)
        for images in (data.images, data.images[..., 0], (data.images / 255).astype(np.float32)):
            np.testing.assert_array_equal(encoder.encode(images), run.codes)
        np.testing.assert_array_equal(encoder.encode(data.images[3:4]), run.codes[3:4])
        self.assertEqual(encoder.encode(np.ones_like(data.images[:2])).shape, (2, 4))
        images = encoder.decode(run.codes[:5])
        self.assertEqual(images.shape, (5, 16, 16, 1))
        self.assertTrue(0 <= images.min() and images.max() <= 1)
        for call, array in (encoder.encode, data.images), (encoder.decode, run.codes):
            with self.assertRaisesRegex(unravel.Error, "NaN; want finite|masked values"):
                call(np.ma.masked_equal(array, array.flat[7]))
        with self.assertRaisesRegex(unravel.Error, "^images: there are images of 8 x 16 x 1 .* want 16 x 16 x 1 [^;:]*$"):
            encoder.encode(data.images[:, :8])
        with self.assertRaisesRegex(unravel.Error, "^images: image 0 has a pixel 2; want 0 to 1, or uint8 from 0 to 255$"):
            encoder.encode(np.full((1, 16, 16), 2.0))
        with self.assertRaisesRegex(unravel.ConfigError, "want uint8 or floats"):
            encoder.encode(data.images.astype(int))

        exported = unravel.dataset("square", size=16, side=4, folder="square")
        grid = {"grid": {"path": "square", "names": exported.names, "kinds": exported.kinds}}
        same = unravel.train({**TINY, "dataset": grid}, {"train.epochs": 2}, run="same", log=None)
        np.testing.assert_array_equal(same.codes, run.codes)

        with self.assertRaisesRegex(unravel.Error, "continue it with resume=True, or choose another folder with run"):
            unravel.train(TINY, run="run", log=None)
        with self.assertRaisesRegex(unravel.ConfigError, "epochz"):
            unravel.train(TINY, {"train.epochz": 2}, run="other", log=None)
        with self.assertRaisesRegex(unravel.ConfigError, "no run in this folder"):
            unravel.Encoder("nowhere")

    def test_interrupt_and_resume(self):
        want = unravel.train(TINY, {"train.epochs": 200}, run="whole", log=None)

        def stop(line):
            if line.startswith("epoch 1/"):
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            unravel.train(TINY, {"train.epochs": 200}, run="run", log=stop)
        self.assertFalse((self.dir / "run" / "codes.npy").exists())
        self.assertTrue((self.dir / "run" / "checkpoint.safetensors").exists())
        lines = []
        run = unravel.train(run="run", resume=True, log=lines.append)
        self.assertRegex("\n".join(lines), "continuing after step [1-9]")
        np.testing.assert_array_equal(run.codes, want.codes)

    @unittest.skipIf(os.name == "nt", "signals of Unix")
    def test_signal(self):
        def stop(line):
            if line.startswith("epoch 1/"):
                threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()

        with self.assertRaises(KeyboardInterrupt):
            unravel.train(TINY, {"train.epochs": 5000}, run="run", log=stop)
        self.assertTrue((unravel.Run("run").folder / "checkpoint.safetensors").exists())


class Data(Case):
    def test_dataset(self):
        d = unravel.dataset("square", size=16, side=4)
        self.assertEqual((d.images.shape, d.images.dtype, len(d)), ((256, 16, 16, 1), np.uint8, 256))
        self.assertEqual((list(d.names), list(d.kinds)), (["row", "column"], ["circular", "circular"]))
        self.assertEqual(d.levels[17].tolist(), [1, 1])
        self.assertAlmostEqual(d.description[0].angles[4], np.pi / 2)
        self.assertEqual(d.images.reshape(256, -1).sum(1).tolist(), [16 * 255] * 256)

    def test_real_and_kept(self):
        d = unravel.dataset("chopsticks", samples=20, seed=3, folder="sticks")
        self.assertTrue(d.real and d.images.dtype == np.float32 and isinstance(d.images, np.memmap))
        self.assertEqual(d.factors.dtype, np.float64)
        self.assertEqual(list(d.kinds), ["categorical", "continuous", "continuous"])  # of the exact values
        other = unravel.dataset("chopsticks", samples=20, seed=4)
        self.assertFalse(np.array_equal(d.images, other.images))

    def test_mistakes(self):
        with self.assertRaisesRegex(unravel.ConfigError, "did you mean"):
            unravel.dataset("sqare")
        with self.assertRaisesRegex(unravel.ConfigError, "out of range"):
            unravel.dataset("square", side=500)

    def test_program(self):
        named = os.environ.get("UNRAVEL")
        if named is None or "bin" in Path(unravel.program()).parts[-2:] and "unravel" in Path(unravel.program()).parts[-3:]:
            self.skipTest("the program is the wheel's")
        os.environ["UNRAVEL"] = "/nowhere/unravel"
        self.addCleanup(os.environ.__setitem__, "UNRAVEL", named)
        with self.assertRaisesRegex(unravel.Error, "names /nowhere/unravel"):
            unravel.program()


if __name__ == "__main__":
    unittest.main()
