// Package hints explains keys of other programs that a config does not have.
package hints

import (
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
)

// Key explains a key of a config or of its section train, or returns "".
func Key(key string) string { return hints[strings.ToLower(key)] }

// hints explain keys of other programs that have no counterpart under another name.
var hints = map[string]string{
	"device": onGPU, "gpu": onGPU, "gpus": onGPU, "cuda": onGPU, "use_gpu": onGPU, "accelerator": onGPU, "devices": onGPU,
	"pretrained": start, "weights": start, "load": start, "finetune": start, "checkpoint_path": start, "ckpt_path": start, "frozen": "did you mean \"freeze\"?",
	"seeds": isSweep, "product": isSweep, "zip": isSweep, "grid": isSweep,
	"base": isBase, "set": isBase, "defaults": isBase, "include": isBase, "extends": isBase, "inherit": isBase, "_base_": isBase, "parent": isBase,
	"steps": bySteps, "step": bySteps, "max_steps": bySteps, "training_steps": bySteps, "num_steps": bySteps, "iterations": bySteps,
	"early_stopping": stops, "early_stop": stops, "patience": stops,
	"labels":     "labels are a supervision: supervision={labels: {fraction: 0.1}}",
	"pairs":      "pairs are a supervision: supervision={pairs: {count: 768}}",
	"output_dir": outside, "out_dir": outside, "out": outside, "save_dir": outside, "log_dir": outside, "logdir": outside, "model_dir": outside,
}

const (
	onGPU   = "train.device=gpu trains on a GPU, in a build with -tags gpu; train.threads is the number of threads of the CPU"
	start   = "a model starts from another run or a file by init: {run: DIR, only: [encoder/*]}"
	isSweep = "it belongs to the file of a sweep, with a base; unravel sweep reads it (docs/sweeps.md)"
	isBase  = "a file builds on another config by base: NAME or FILE.yaml at its top, and then set: {key.path: value} (docs/config.md)"
	bySteps = "training is counted in epochs: train.epochs, of train.epoch_steps steps each"
	stops   = "training stops early by train.stop={loss: loss, patience: 5}"
	outside = "the folder of a run is no key of its config; unravel train takes it as --run DIR"
)

// Value explains a list where the config wants a single value: lists define a sweep.
func Value(n *config.Node, want string) string {
	if strings.Contains(want, "list") || n.Path() == "" { // a whole file has no key to vary
		return ""
	}
	values, err := n, error(nil)
	if n.IsScalar() && strings.Contains(n.Text(), ",") { // as in Hydra
		values, err = config.Parse("", []byte("["+n.Text()+"]"))
	}
	if err != nil || !values.IsList() || len(values.Items()) < 2 {
		return ""
	}
	if n.Path() == "seed" {
		return fmt.Sprintf("several seeds make a sweep: write seeds: %s and a base into a file for unravel sweep",
			values.Inline())
	}
	return fmt.Sprintf("several values make a sweep: write product: {%s: %s} and a base into a file for unravel sweep",
		n.Path(), values.Inline())
}
