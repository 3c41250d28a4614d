package rundir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"time"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/models"
)

// Record describes how and when a run ended, and the code and machine that produced it. A run that is training or
// interrupted has no record.
type Record struct {
	Config  string    `json:"config"`           // hash of config.yaml when the run ended, see [FileHash]
	Error   string    `json:"error,omitempty"`  // why the run failed; empty: it finished
	Begins  bool      `json:"begins,omitempty"` // the run is untrained, and the record contains only hashes
	Begun   time.Time `json:"begun"`            // start of the last session
	Ended   time.Time `json:"ended"`
	Seconds float64   `json:"seconds"` // duration of all sessions that ended normally or by a signal
	// core-seconds of the process, from the data set to the figures; 0: unknown, for example because the run was
	// resumed
	CPU    float64 `json:"cpu_seconds,omitempty"`
	Epochs int     `json:"epochs"`
	Steps  int     `json:"steps"`
	// version of the code: a revision, or the version of the module; a list such as "v1, v2" if segments differ
	Version string  `json:"version"`
	Machine Machine `json:"machine"`

	// Generation is the earliest generation of the code's bits (version.Changes) in the history, or 0 if the code did
	// not record it.
	Generation int `json:"generation,omitempty"`

	History History `json:"history,omitempty"` // nil: one segment, trained by code without histories

	// Timings are the seconds of three phases: the stage before training, step by step; training; and the work after
	// it, such as encoding, measuring and drawing. Seconds excludes the stage before training.
	Timings []models.Timing `json:"timings,omitempty"`

	Start *Start `json:"start,omitempty"` // nil: the seed determined all initial parameters

	Data *datasets.Files `json:"data,omitempty"` // nil: the run reads no files

	Files  map[string]string `json:"files,omitempty"`  // SHA-256 of the files of a finished run, by name; see [Check]
	Before map[string]string `json:"before,omitempty"` // hash of the file before its last replacement, or of the config that is about to be written
	Sum    string            `json:"sum,omitempty"`    // hash of the record's text with zeros instead of Sum
}

// Start says which initial parameters of a model came from another run or a file.
type Start struct {
	From    string   `json:"from"`           // folder of the run, or the file
	Only    []string `json:"only,omitempty"` // patterns of the parameters to take; none: all
	Content string   `json:"content"`        // hash of the parameters to take
	Taken   []string `json:"taken"`
	Derived []string `json:"derived,omitempty"` // EMA targets that started as copies of taken parameters
	Fresh   []string `json:"fresh,omitempty"`   // parameters drawn by the seed
	Misfits []string `json:"misfits,omitempty"` // parameters not taken because their shapes differ
	Warning string   `json:"warning,omitempty"` // about a damaged checkpoint
}

// Names of the timings that every run has. Other timings belong to the stage before training.
const (
	TrainingTiming  = "training"
	FinishingTiming = "finishing"
)

// Machine describes the machine of a run.
type Machine struct {
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Kernels string `json:"kernels"` // go, avx2, avx512 or neon; a list such as "avx512, avx2" if sessions differ
	Cores   int    `json:"cores"`
	Threads int    `json:"threads"`
	Go      string `json:"go"`
}

// FileHash returns the first 16 bytes of a text's SHA-256 hash, in hexadecimal.
func FileHash(text []byte) string { return hashOf(text)[:32] }

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ErrChanged is the error of [ReadRecord] and [RecordOf] for a run with a changed config. Restore the config, or train
// the changed config in another folder.
var ErrChanged = errors.New("the config has changed since the run ended; want the old config, or another folder for the new run")

// ReadRecord reads how the run in a folder ended, or returns nil if it has not ended. For a record that is unreadable
// or that the run did not write in this form, the error is a [DamagedError].
func ReadRecord(dir string) (*Record, error) {
	return record(dir, func() ([]byte, error) { return ReadFile(dir, Config) })
}

// RecordOf is [ReadRecord] for a caller that has the text of the folder's config.
func RecordOf(dir string, config []byte) (*Record, error) {
	return record(dir, func() ([]byte, error) { return config, nil })
}

// Ended reports whether the result files of a run belong to its weights. An unfinished or failed run may have files of
// an earlier end. A run with an unreadable record counts as ended; [Edited] reports it.
func Ended(dir string) bool {
	r, err := ReadRecord(dir)
	return err != nil || r != nil && r.Error == ""
}

func record(dir string, config func() ([]byte, error)) (*Record, error) {
	var r Record
	text, err := ReadJSON(dir, RecordFile, &r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !r.valid(text) {
		return nil, &DamagedError{filepath.Join(dir, RecordFile), errEditedRecord}
	}
	source, err := config()
	if err != nil {
		return nil, err
	}
	switch {
	case r.Begins, r.outdated(source):
		return nil, nil
	case r.Config != FileHash(source):
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, Config), ErrChanged)
	}
	return &r, nil
}

// outdated reports whether the run continues with another config. The record is then about to be removed.
func (r *Record) outdated(config []byte) bool {
	hash := FileHash(config)
	return r.Config != hash && r.Before[Config] == hash
}

// RecordFailure records in a folder that its run failed. The run must not be open.
func RecordFailure(dir string, failure error, begun time.Time) error {
	store, err := Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(store.RecordFailure(failure, begun), store.Close())
}

// RecordFailure records that the open run failed.
func (r *Run) RecordFailure(failure error, begun time.Time) error {
	record := NewRecord(begun)
	record.Error = failure.Error()
	return record.Write(r)
}

// NewRecord returns the record of a session that began at the given time and ends now.
func NewRecord(begun time.Time) *Record {
	set, err := kernel.InstructionSet()
	if err != nil {
		set = "?"
	}
	return &Record{
		Begun: begun.UTC().Round(time.Millisecond), Ended: time.Now().UTC().Round(time.Millisecond),
		Seconds: time.Since(begun).Seconds(), Version: version.Code(), Generation: version.Generation(),
		Machine: Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Kernels: set, Cores: runtime.NumCPU(),
			Threads: parallel.Threads(), Go: runtime.Version()},
	}
}

// Write stores the record in the folder of an open run, with the hash of its current config.
func (r *Record) Write(run *Run) error {
	config, err := run.Read(Config)
	if err != nil {
		return err
	}
	return r.writeFor(run, config)
}

// WriteBeginning stores the hashes of the files written by [Run.Begin], before the config exists.
func WriteBeginning(run *Run, config []byte) error {
	r := NewRecord(time.Now())
	r.Begins = true
	return r.writeFor(run, config)
}

func (r *Record) writeFor(run *Run, config []byte) (err error) {
	r.Config = FileHash(config)
	if r.Error == "" {
		if r.Files, err = run.hashFiles(); err != nil {
			return err
		}
	}
	return r.store(run)
}
