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

// Files in a run's folder besides [Config], which is the file that makes a folder a run.
const (
	LogFile    = "log.jsonl"   // a [Line] for every epoch and every evaluation
	RecordFile = "run.json"    // a [Record], written last
	DataFile   = "data.json"   // the [datasets.Files] at the start of the run
	TrialFile  = "trial.json"  // for a trial of a search: its number, its settings and the search
	ReportFile = "report.html" // the figures and results on one page
	FiguresDir = "figures"     // .png files
	ModelFile  = "model.json"  // for a fetched model: its run in the ledger, and hashes of the files in its archive
	CardFile   = "README.md"   // for a fetched model: its model card

	CheckpointFile = "checkpoint.safetensors"      // parameters, moments and, as metadata, the state of training
	PreviousFile   = "checkpoint.safetensors.prev" // the previous checkpoint; see [Run.WriteLast] for older ones
	BestFile       = "best.safetensors"            // the checkpoint of the best evaluation, if the config keeps it
	StateFile      = "state.json"                  // a readable copy of the checkpoint's state

	MetricsFile = "metrics.json"      // a list of metrics.Result
	TableFile   = "metrics.csv"       // the log as a table, see [WriteTable]
	FitFile     = "fit.json"          // a train.Fit, for models with a decoder
	CodesFile   = "codes.npy"         // float32 [n, d], see [WriteCodes]
	FactorsFile = "factors.npy"       // [n, k], see [FactorFiles]
	LevelsFile  = "factor_levels.npy" // int64 [n, k], for hierarchical data; see [FactorFiles]
)

// Size limits of files that are read into memory, so a damaged file cannot exhaust it.
const maxText, maxLog = 256 << 20, 1 << 30

// CheckFile returns an error for a file of a run that must not be read into memory: a pipe, a socket, a device, a
// folder, or a file that is too long. A missing file is not an error.
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

// ReadFile returns the content of a file in a run's folder. A file that is too long or not regular is an error.
func ReadFile(dir, name string) ([]byte, error) {
	return disk.ReadFile(filepath.Join(dir, filepath.FromSlash(name)), maxSize(name))
}

// ReadJSON reads a file from the end of a run into a value, and returns the text of the file. The error is a
// [DamagedError], unless the file is missing or may not be read.
func ReadJSON(dir, name string, into any) ([]byte, error) {
	text, err := ReadFile(dir, name)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		err = &DamagedError{filepath.Join(dir, name), err}
	}
	return text, err
}

// ReadData returns the data files that a run used at its start, or nil if they are unknown.
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

// Bytes returns a function for [Run.Write] that writes the text.
func Bytes(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// JSON returns a function for [Run.Write] that writes the value as indented JSON.
func JSON(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
}

// DamagedError is the error of [ReadRecord] for an unreadable file from the end of a run. To fix it, resume the run,
// which writes the file again.
type DamagedError struct {
	Path string
	Err  error // the cause
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s: the file is damaged (%v); `unravel train --resume --run %s` writes it again from the last checkpoint", e.Path, e.Err, filepath.Dir(e.Path))
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Err }

// File describes a file in a run's folder.
type File struct {
	Name string // path in the folder; * matches any name
	Doc  string // content
}

// Files lists all files that a run's folder may contain.
func Files() []File {
	const learned = "*/" // folders of earlier stages, named after them
	return []File{
		{Config, "the resolved config, itself a valid config"},
		{ReportFile, "figures and results on one page"},
		{FiguresDir + "/*", "the figures"},
		{MetricsFile, "the metrics with all their parts"},
		{TableFile, "the log as a table with a row for each loss and metric: epoch, step, name, value; the final metrics replace metrics of the same step"},
		{CodesFile, "codes of the images, float32 [n, d]"},
		{FactorsFile, "levels of the images' factors, [n, k]; values for hierarchical data; NaN for unknown levels"},
		{LevelsFile, "levels of the images' factors for hierarchical data, int64 [n, k]"},
		{LogFile, "losses and metrics during training, an object for every epoch and every evaluation"},
		{"events.out.tfevents.*", "losses, metrics and pictures for TensorBoard"},
		{CheckpointFile, "parameters, moments and, as metadata, the state to resume from"},
		{CheckpointFile + ".*", "earlier checkpoints"},
		{BestFile, "the checkpoint of the best evaluation, if train.keep.best is set"},
		{StateFile, "a readable copy of the checkpoint's state"},
		{RecordFile, "duration, machine, version of the code and the history of the training; written last"},
		{DataFile, "hashes of the files of the data set and the supervision at the start of the run"},
		{FitFile, "reconstruction error and other numbers of the fit, for models with a decoder"},
		{ModelFile, "for a fetched model: its run in the ledger, its metrics, and hashes of the files in its archive"},
		{CardFile, "for a fetched model: its model card"},
		{TrialFile, "for a trial of a search: its number, its settings and the search"},
		{learned + hierarchyFile, "for models with stages: the hierarchy that the stage learned"},
		{learned + AssignmentsFile, "for models with stages: the option of each image"},
		{learned + ComponentsFile, "for models with stages: the component of each image"},
		{learned + PartsFile, "for models with stages: each image's component before components were merged or dropped"},
		{learned + timingsFile, "for models with stages: the seconds of the stage's steps"},
		{lockName, "locked while a process holds the run"},
		{lockName + ".claims", "the process that holds the run, on file systems without locks between machines"},
	}
}
