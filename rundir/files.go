package rundir

import (
	"encoding/json"
	"io"
)

// Files of a run's folder besides [Config], which makes the folder a run.
const (
	LogFile    = "log.jsonl"   // a [Line] for every epoch and every evaluation
	RecordFile = "run.json"    // a [Record], written last
	ReportFile = "report.html" // the figures and results on one page
	FiguresDir = "figures"     // .png files

	CheckpointFile = "checkpoint.safetensors"      // parameters, moments and, as metadata, the state of training
	PreviousFile   = "checkpoint.safetensors.prev" // the checkpoint before; see [Run.WriteLast] for older ones
	BestFile       = "best.safetensors"            // the checkpoint of the best evaluation, where the config keeps it
	StateFile      = "state.json"                  // a copy of the checkpoint's state, to look at

	MetricsFile = "metrics.json"      // a list of metrics.Result
	FitFile     = "fit.json"          // a train.Fit, of models that decode
	CodesFile   = "codes.npy"         // float32 [n, d], see [WriteCodes]
	FactorsFile = "factors.npy"       // [n, k], see [FactorFiles]
	LevelsFile  = "factor_levels.npy" // int64 [n, k], of hierarchical data; see [FactorFiles]
)

// Bytes returns a function for [Run.Write] that writes a text.
func Bytes(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// JSON returns a function for [Run.Write] that writes a value as indented JSON.
func JSON(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
}
