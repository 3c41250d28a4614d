package tables

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/results/tables/internal/reference"
)

// Result is a computed table.
type Result struct {
	Name       string      `json:"table"`
	Title      string      `json:"title"`
	Source     string      `json:"source"`
	Scale      string      `json:"scale"`
	Seeds      int         `json:"seeds"`
	Reproduced int         `json:"reproduced"` // cells that agree with the printed ones
	Printed    int         `json:"printed"`    // cells with a printed value
	Rows       []ResultRow `json:"rows"`
	Ledger     *Origin     `json:"ledger,omitempty"`    // nil: no runs from the ledger
	Agreement  *Agreement  `json:"agreement,omitempty"` // nil: the table does not compare columns
	Standing   string      `json:"data,omitempty"`      // data sets of trained cells if there are both public sets and twins; set by WriteJSON

	Damaged []string `json:"damaged,omitempty"` // runs in the folder with unreadable files, with the reason; they do not count

	Table  *Table `json:"-"` // table at the scale
	Remark string `json:"-"` // remark on the scale

	origin *Table // table at all scales

	measured bool    // whether FindLengths has set lengths
	standsOn *string // text of standing; nil: not computed yet
}

// ResultRow is a row of cells.
type ResultRow struct {
	Label string `json:"label"`
	Cells []Cell `json:"cells"`
}

// Cell holds our value and the printed value.
type Cell struct {
	Column     string   `json:"column"`
	Ours       *float64 `json:"ours"`          // nil: no value
	Deviation  float64  `json:"std,omitempty"` // standard deviation of one draw
	Draws      int      `json:"n"`
	Exact      bool     `json:"exact"`           // the value is deterministic
	Theirs     *float64 `json:"theirs"`          // nil: no printed value
	Difference *float64 `json:"difference"`      // ours - theirs
	Ratio      *float64 `json:"ratio,omitempty"` // theirs / ours, for times
	Status     Status   `json:"status"`
	Reason     string   `json:"reason,omitempty"` // why the value differs, or is missing
	Notes      []string `json:"notes,omitempty"`  // remarks on missing, failed or unconverged runs

	// Unconverged is the number of runs that did not converge; Ours includes them. If the cell has both kinds of runs,
	// Converged is the aggregate of the converged runs.
	Unconverged int      `json:"not_converged,omitempty"`
	Converged   *float64 `json:"ours_converged,omitempty"`

	Unlearned int `json:"not_learned,omitempty"` // number of runs with a decoder that has not learned the images, see Unlearned

	Length float64 `json:"length,omitempty"` // length of training as a fraction of the paper's, see FindLengths; 0: unknown

	Runs []float64 `json:"runs,omitempty"` // values of trained rows, by seed
	Rank float64   `json:"rank,omitempty"` // rank among the rows, 1 for the best, in a table that compares columns; 0: no rank

	Printed    string `json:"-"` // digits of Theirs; empty: no printed value
	PrintedStd string `json:"-"` // digits of the printed standard deviation; empty: none

	printed *reference.Cell // nil: no such cell in the paper
}

// Status describes how a cell agrees with the printed value.
type Status string

// The statuses.
const (
	Same      Status = "same"      // equal to the printed value after rounding
	Near      Status = "near"      // within two standard errors of the difference, apart from rounding
	Known     Status = "known"     // different, with a note that gives the reason
	Differs   Status = "differs"   // different, without a note
	Stale     Status = "stale"     // agrees, although a note says that it differs
	Unfit     Status = "unfit"     // would agree, but at least half of its runs have not learned the images
	Outdated  Status = "outdated"  // from stale runs of the ledger, whether or not it agrees
	Missing   Status = "missing"   // we have no value
	Unprinted Status = "unprinted" // the paper has no value
	Measured  Status = "measured"  // a time, which is not compared
)

// Reproduced reports whether the cell agrees with the printed value.
func (s Status) Reproduced() bool { return s == Same || s == Near || s == Stale }

// Count counts the cells with a status.
func (r *Result) Count(s Status) int {
	n := 0
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Status == s {
				n++
			}
		}
	}
	return n
}

// Cell returns a cell, or nil if it does not exist.
func (r *Result) Cell(row, column string) *Cell {
	for i := range r.Rows {
		for j := range r.Rows[i].Cells {
			if c := &r.Rows[i].Cells[j]; r.Rows[i].Label == row && c.Column == column {
				return c
			}
		}
	}
	return nil
}

// WriteJSON writes the result as one JSON object.
func (r *Result) WriteJSON(w io.Writer) error {
	_ = r.FindLengths() // without a plan for the scale full, lengths are unknown
	named := *r
	named.Standing = r.StandsOn()
	if err := json.NewEncoder(w).Encode(named); err != nil {
		return fmt.Errorf("table %s: %w", r.Name, err)
	}
	return nil
}

// Summary describes the result in one line.
func (r *Result) Summary() string {
	if r.Table.Timed() {
		return fmt.Sprintf("%d of %d printed times measured (%s scale, median of %s)",
			r.Count(Measured), r.Printed, r.Scale, wording.Count(r.Seeds, "time"))
	}
	text := fmt.Sprintf("%d of %d printed cells reproduced (%s scale, %s)",
		r.Reproduced, r.Printed, r.Scale, wording.Count(r.Seeds, "seed"))
	if r.Printed == 0 {
		text = fmt.Sprintf("No numbers are printed (%s scale, %s)", r.Scale, wording.Count(r.Seeds, "seed"))
	}
	for _, part := range []struct {
		status Status
		what   string
	}{{Known, "different for a known reason"}, {Differs, "different for no known reason"},
		{Unfit, "equal, but the runs have not learned the images"}, {Outdated, "from stale runs"}, {Missing, "not computed"}, {Stale, "reproduced, although a note says otherwise"}} {
		if n := r.Count(part.status); n > 0 {
			text += fmt.Sprintf("; %s: %d", part.what, n)
		}
	}
	if r.Ledger != nil {
		text += "; " + r.Ledger.String()
	}
	return text
}
