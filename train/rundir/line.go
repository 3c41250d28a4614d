package rundir

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Losses are mean losses over an epoch, by objective and name.
type Losses map[string]map[string]float64

// Line is a line of [LogFile]: a finished epoch or an evaluation.
type Line struct {
	Step    int                `json:"step"`              // total steps so far
	Epoch   int                `json:"epoch"`             // epochs finished
	Images  int                `json:"images,omitempty"`  // images of the epoch
	Seconds float64            `json:"seconds,omitempty"` // duration of the epoch
	Losses  Losses             `json:"losses,omitempty"`  // losses of an epoch
	Metrics map[string]float64 `json:"metrics,omitempty"` // metrics of an evaluation
}

// ReadLog calls f for every line of the log.
func (r *Run) ReadLog(f func(Line)) error {
	text, err := r.Read(LogFile)
	if err != nil {
		return err
	}
	for raw := range bytes.Lines(text) {
		var line Line
		if err := json.Unmarshal(raw, &line); err != nil {
			return fmt.Errorf("%s: %w", r.Path(LogFile), err)
		}
		f(line)
	}
	return nil
}
