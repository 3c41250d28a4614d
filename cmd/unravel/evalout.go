package main

import (
	"encoding/json"
	"io"

	"github.com/unravel-ml/unravel/metrics"
)

// evaluated is a result with its best known parts beside its value.
type evaluated struct {
	metrics.Result
	Score     *float64  `json:"score,omitempty"` // e^-value, of metrics whose papers use it
	PerFactor []float64 `json:"per_factor,omitempty"`
}

// writeSummary writes one JSON object, {"metrics": {"mpd": {"value": ...}}}.
func writeSummary(w io.Writer, results []metrics.Result) error {
	all := map[string]evaluated{}
	for _, r := range results {
		all[r.Name] = evaluated{Result: r, Score: score(r), PerFactor: r.Part("per_factor")}
	}
	return json.NewEncoder(w).Encode(map[string]any{"metrics": all})
}

// score is the part of that name; nil if a metric has none.
func score(r metrics.Result) *float64 {
	if part := r.Part("score"); len(part) == 1 {
		return &part[0]
	}
	return nil
}
