package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/disk"
)

// Files in a run's folder besides [Config]. Config makes the folder a run.
const (
	LogFile    = "log.jsonl"   // a [Line] for every epoch and every evaluation
	RecordFile = "run.json"    // a [Record], written last
	DataFile   = "data.json"   // the [datasets.Files] that the run began with
	TrialFile  = "trial.json"  // of a trial of a search: its number, its settings and the search
	ReportFile = "report.html" // the figures and results on one page
	FiguresDir = "figures"     // .png files

	CheckpointFile = "checkpoint.safetensors"      // parameters, moments and, as metadata, the state of training
	PreviousFile   = "checkpoint.safetensors.prev" // the previous checkpoint; see [Run.WriteLast] for older ones
	BestFile       = "best.safetensors"            // the checkpoint of the best evaluation, if the config keeps it
	StateFile      = "state.json"                  // a readable copy of the checkpoint's state

	MetricsFile = "metrics.json"      // a list of metrics.Result
	FitFile     = "fit.json"          // a train.Fit, for models with a decoder
	CodesFile   = "codes.npy"         // float32 [n, d], see [WriteCodes]
	FactorsFile = "factors.npy"       // [n, k], see [FactorFiles]
	LevelsFile  = "factor_levels.npy" // int64 [n, k], for hierarchical data; see [FactorFiles]
)

// Size limits of files read into memory: a damaged file must not fill it.
const (
	maxText = 256 << 20
	maxLog  = 1 << 30
)

// CheckFile returns an error for a file of a run that cannot be read into memory: a pipe, a socket, a device, a
// folder, or an overlong file. A missing file is no error.
func CheckFile(dir, name string) error {
	f, err := disk.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > maxSize(name) {
		err = fmt.Errorf("%s has %d bytes; want at most %d", f.Name(), info.Size(), maxSize(name))
	}
	return errors.Join(err, f.Close())
}

func maxSize(name string) int64 {
	if name == LogFile {
		return maxLog
	}
	return maxText
}

// ReadFile returns the content of a file of a run's folder. An overlong or irregular file is an error.
func ReadFile(dir, name string) ([]byte, error) {
	return disk.ReadFile(filepath.Join(dir, filepath.FromSlash(name)), maxSize(name))
}

// ReadData reads which data files the run of a folder began with; nil if unknown.
func ReadData(dir string) (*datasets.Files, error) {
	path := filepath.Join(dir, DataFile)
	text, err := ReadFile(dir, DataFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var f datasets.Files
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &f, nil
}

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

// DamagedError says that a file written at the end of a run cannot be read. Resuming the run writes it again.
type DamagedError struct {
	Path string
	Err  error // why
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s: the file is damaged (%v); `unravel train --resume --run %s` writes it again from the last checkpoint", e.Path, e.Err, filepath.Dir(e.Path))
}

// Unwrap returns the cause of the read error.
func (e *DamagedError) Unwrap() error { return e.Err }
