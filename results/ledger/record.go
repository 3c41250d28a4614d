// Package ledger keeps the results of finished runs as text. A paper's table can be shown from them without training.
// Anybody can repeat a recorded run and compare.
//
// A ledger is a folder. Each folder of a table's runs has a subfolder there, with files of JSON lines ([File]). A
// line is a [Config] shared by runs of several seeds, or a [Run] of a config above it. Floats have all their digits,
// and a repeated run can be compared bit for bit.
package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Config is a config shared by runs of several seeds.
type Config struct {
	ID   string `json:"config"` // the first 16 hexadecimal digits of the SHA-256 hash of YAML
	YAML string `json:"yaml"`   // the resolved config without name, seed and settings that change no result (train.Config.Identity)
}

// Run is a run that has ended. Unknown fields are absent.
type Run struct {
	Name       string `json:"run"`
	Config     string `json:"config"` // ID of its config
	Seed       uint64 `json:"seed"`
	Hash       string `json:"hash,omitempty"` // train.Config.Hash
	Settings   string `json:"settings"`       // hash of the table's settings for the run, without defaults: see tables.Planner
	Scale      string `json:"scale"`          // scale of the table that needed the run
	Generation int    `json:"generation"`     // generation of the code's bits: the number of their last change
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
	Unconverged string                     `json:"not_converged,omitempty"` // the reason, for runs without a recorded fit
	Metrics     []metrics.Result           `json:"metrics,omitempty"`       // see pruned
	Stored      map[string]json.RawMessage `json:"stored,omitempty"`        // analyses of its codes, by file name in the run's folder

	Codes      string `json:"codes,omitempty"`      // SHA-256 hash of codes.npy
	Parameters string `json:"parameters,omitempty"` // hash of the checkpoint's parameters, see [train.HashParameters]
}

// Finished reports whether the run has results.
func (r *Run) Finished() bool { return r.Error == "" }

// idOf returns the ID of a config.
func idOf(yaml string) string {
	sum := sha256.Sum256([]byte(yaml))
	return hex.EncodeToString(sum[:8])
}

// maxPart is the largest number of values of a part that the ledger keeps.
const maxPart = 64

// pruned returns results as the ledger keeps them. It drops grids, options that the config has, and parts with more
// than 64 values, such as one value for each of a thousand code columns.
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
