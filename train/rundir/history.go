package rundir

import (
	"fmt"
	"slices"
	"strings"
)

// Segment is a range of a run's steps, trained by one version of the code with one config.
type Segment struct {
	From       int    `json:"from"` // number of steps before the segment
	To         int    `json:"to"`   // number of steps at its end
	Config     string `json:"config"`
	Version    string `json:"version,omitempty"` // version of the code; empty: unknown
	Kernels    string `json:"kernels,omitempty"`
	Generation int    `json:"generation,omitempty"` // generation of the code's bits; 0: unknown
	Data       string `json:"data,omitempty"`       // hash of the data set's files; empty: the data set has none

	// Other says why the last config would give a different result if it trained up to the segment's end, or "" if it
	// would give the same.
	Other string `json:"other,omitempty"`
}

// History lists the segments of a run's training in order. A run without a history has one segment.
type History []Segment

// Other says why the result differs from an uninterrupted run of the config, or returns "" for the same bits.
func (h History) Other() string {
	for _, s := range h {
		if s.Other != "" {
			return fmt.Sprintf("up to step %d %s", s.To, s.Other)
		}
	}
	return ""
}

// Identity returns the hash of the run's computation: of its config, unless [History.Other] is not empty.
func (h History) Identity(config string) string {
	if h.Other() == "" {
		return config
	}
	var b strings.Builder
	b.WriteString(config)
	for _, s := range h {
		fmt.Fprintf(&b, "\n%d %d %s %s", s.From, s.To, s.Config, s.Other)
	}
	return FileHash([]byte(b.String()))
}

// Check returns an error unless the segments cover exactly the given number of steps.
func (h History) Check(steps int) error {
	next := 0
	for i, s := range h {
		if s.From != next || s.To < s.From {
			return fmt.Errorf("history: segment %d has the steps %d to %d; want it to begin at %d", i+1, s.From, s.To, next)
		}
		next = s.To
	}
	if len(h) > 0 && next != steps {
		return fmt.Errorf("history: its segments end at step %d; want %d, the run's step", next, steps)
	}
	return nil
}

// Add appends a segment, or extends the last one if only the steps differ. It returns a new history.
func (h History) Add(s Segment) History {
	h = slices.Clone(h)
	if n := len(h); n > 0 && h[n-1].From == h[n-1].To && h[n-1].Other == "" { // the last segment has no steps
		h = h[:n-1]
	}
	if n := len(h); n > 0 {
		last := h[n-1]
		if last.From, last.To = s.From, s.To; last == s {
			h[n-1].To = s.To
			return h
		}
		if s.From == s.To && s.Other == "" {
			return h
		}
	}
	return append(h, s)
}

// Versions lists the versions of the code in order, as in "v1, v2", without unknown versions.
func (h History) Versions() string {
	var list []string
	for _, s := range h {
		if s.Version != "" && (len(list) == 0 || list[len(list)-1] != s.Version) {
			list = append(list, s.Version)
		}
	}
	return strings.Join(list, ", ")
}

// Generation returns the earliest generation of the code's bits, or 0 if a segment does not record it.
func (h History) Generation() (earliest int) {
	for i, s := range h {
		if i == 0 || s.Generation < earliest {
			earliest = s.Generation
		}
	}
	return earliest
}
