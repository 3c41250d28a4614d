// Package ledger stores the results of finished runs as text. With them, a paper's table can be shown without training,
// and anybody can repeat a recorded run and compare.
//
// A ledger is a folder. It has a subfolder for each folder of table runs, with JSON lines files ([File]). A line is a
// [Config] that runs with several seeds share, or a [Run] with one of the preceding configs. Floats have all digits, so
// a repeated run can be compared bit for bit.
package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Config is a config that runs with several seeds share.
type Config struct {
	ID   string `json:"config"` // first 16 hexadecimal digits of the SHA-256 hash of YAML
	YAML string `json:"yaml"`   // resolved config without name, seed and settings that do not affect results (train.Config.Identity)
}

// Run is a run that has ended. Unknown fields are omitted.
type Run struct {
	Name       string `json:"run"`
	Config     string `json:"config"` // ID of its config
	Seed       uint64 `json:"seed"`
	Hash       string `json:"hash,omitempty"` // train.Config.Hash
	Settings   string `json:"settings"`       // hash of the table's settings for the run, without defaults: see tables.Planner
	Scale      string `json:"scale"`          // scale of the table that uses the run
	Generation int    `json:"generation"`     // generation of the code's bits: the number of the last change
	Error      string `json:"error,omitempty"`

	Version string          `json:"version,omitempty"` // version of the code
	Machine *rundir.Machine `json:"machine,omitempty"`
	Begun   *time.Time      `json:"begun,omitempty"`
	Seconds float64         `json:"seconds,omitempty"`
	CPU     float64         `json:"cpu_seconds,omitempty"`
	Epochs  int             `json:"epochs,omitempty"`
	Steps   int             `json:"steps,omitempty"`
	Timings []models.Timing `json:"timings,omitempty"`

	Fit         *train.Fit                 `json:"fit,omitempty"`
	Unconverged string                     `json:"not_converged,omitempty"` // reason, for runs without a recorded fit
	Metrics     []metrics.Result           `json:"metrics,omitempty"`       // see pruned
	Stored      map[string]json.RawMessage `json:"stored,omitempty"`        // analyses of the codes, by file name in the run's folder

	Codes      string `json:"codes,omitempty"`      // SHA-256 hash of codes.npy
	Parameters string `json:"parameters,omitempty"` // hash of the checkpoint's parameters, see [train.HashParameters]
}

// Finished reports whether the run has results.
func (r *Run) Finished() bool { return r.Error == "" }

func configID(yaml string) string {
	sum := sha256.Sum256([]byte(yaml))
	return hex.EncodeToString(sum[:8])
}

const maxPart = 64 // maximum number of values of a part in the ledger

// pruned returns results as stored in the ledger. It drops grids, options that the config contains, and parts with more
// than 64 values, such as one value per column for a thousand code columns.
func pruned(all []metrics.Result) []metrics.Result {
	var list []metrics.Result
	for _, r := range all {
		parts := r.Parts
		r.Parts, r.Grids, r.Options, r.Like = nil, nil, nil, nil
		for _, p := range parts {
			if len(p.Values) <= maxPart {
				r.Parts = append(r.Parts, p)
			}
		}
		list = append(list, r)
	}
	return list
}

// analysis is a kind of file that a source of a table stores in a run's folder.
type analysis struct {
	pattern string
	drop    []string // keys that are not stored in the ledger
}

// analyses lists the kinds of analyses. A source that stores files must add its own.
var analyses = []analysis{
	{"mimosa-*.json", []string{"components"}}, // one number per image, too many to store
	{"top-*.json", nil},
}

func (a analysis) matches(file string) bool {
	ok, err := path.Match(a.pattern, file)
	return ok && err == nil
}

// Take creates the record of a run from its folder. settings and scale identify the run in the table.
func Take(e sweep.Entry, settings, scale string) (Config, Run, error) {
	c, err := configOf(e.Config)
	if err != nil {
		return c, Run{}, err
	}
	if e.Record == nil || e.State != sweep.Finished && e.State != sweep.Failed {
		return c, Run{}, fmt.Errorf("%s: the run has not ended", e.Dir)
	}
	r := Run{Name: e.Config.Name, Config: c.ID, Seed: e.Config.Seed, Hash: e.Hash, Settings: settings, Scale: scale,
		Generation: generationOf(e.Record)}
	begun, machine := e.Record.Begun.UTC(), e.Record.Machine
	r.Version, r.Machine, r.Begun = e.Record.Version, &machine, &begun
	r.Seconds, r.CPU, r.Epochs, r.Steps, r.Timings = e.Record.Seconds, e.Record.CPU, e.Record.Epochs, e.Record.Steps,
		e.Record.Timings
	if e.State == sweep.Failed {
		r.Error = strings.ReplaceAll(e.Record.Error, e.Dir, e.Config.Name)
		return c, r, nil
	}
	r.Fit, r.Metrics = e.Fit, pruned(e.Metrics)
	if r.Codes, r.Parameters, err = hashes(e.Dir); err != nil {
		return c, r, err
	}
	r.Stored, err = readAnalyses(e.Dir)
	return c, r, err
}

// configOf returns a config without the fields that differ between seeds.
func configOf(c train.Config) (Config, error) {
	identity, err := c.Identity()
	if err != nil {
		return Config{}, err
	}
	var text []byte
	for l := range bytes.Lines(identity) {
		if !bytes.HasPrefix(l, []byte("name: ")) && !bytes.HasPrefix(l, []byte("seed: ")) {
			text = append(text, l...)
		}
	}
	return Config{configID(string(text)), string(text)}, nil
}

// generationOf returns the generation of a run's code, by the run's start date if it is not recorded.
func generationOf(r *rundir.Record) int {
	if r.Generation > 0 {
		return r.Generation
	}
	g := 1
	for _, c := range version.Changes {
		if at, err := time.Parse(time.RFC3339, c.Date); err == nil && !r.Begun.Before(at) {
			g = c.Generation
		}
	}
	return g
}

func hashes(dir string) (codes, parameters string, err error) {
	f, err := disk.Open(filepath.Join(dir, rundir.CodesFile))
	if err != nil {
		return "", "", err
	}
	defer f.Close() // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", "", err
	}
	parameters, err = train.HashParameters(dir)
	return hex.EncodeToString(sum.Sum(nil)), parameters, err
}

func readAnalyses(dir string) (map[string]json.RawMessage, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	for _, file := range list {
		for _, a := range analyses {
			if !a.matches(file.Name()) {
				continue
			}
			text, err := rundir.ReadFile(dir, file.Name())
			if err != nil {
				return nil, err
			}
			if all[file.Name()], err = a.prune(text); err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Join(dir, file.Name()), err)
			}
		}
	}
	return all, nil
}

// prune removes the keys of an analysis that the ledger does not store.
func (a analysis) prune(text []byte) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	for _, key := range a.drop {
		delete(all, key)
	}
	return json.Marshal(all)
}

// machinePath matches an absolute path, which must not be in the ledger.
var machinePath = regexp.MustCompile(`(^|[\s"'=:(,\[])(/[\w.+-]+){2,}|\b[A-Za-z]:(\\\\?[\w.+-]+)+|~/`)

// Clean returns an error if the record of a run contains a machine path.
func Clean(c Config, r Run) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	for _, t := range []string{c.YAML, string(text)} {
		if machineText := machinePath.FindString(t); machineText != "" {
			return fmt.Errorf("run %s: %q is a path of a machine; want a config and results without one",
				r.Name, strings.Trim(machineText, ` "'=:(,[`))
		}
	}
	return nil
}

// readFile reads a file of the ledger. A missing file is empty.
func readFile(name string) (*File, error) {
	in, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close() // only read
	return Read(name, in)
}
