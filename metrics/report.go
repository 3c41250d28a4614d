package metrics

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// maxListed is the number of values of a part that Print shows.
const maxListed = 12

// Print writes results as a table for people: a line for each metric, with its
// parts and notes below it.
func Print(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%s (%s is better)\n", r.Name, Number(r.Value), r.Better)
		for _, p := range r.Parts {
			fmt.Fprintf(t, "  %s\t%s\n", p.Name, p.List(maxListed))
		}
		for _, note := range r.Notes {
			fmt.Fprintf(t, "  note\t%s\n", note)
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("metrics: print: %w", err)
	}
	return nil
}

// Number writes a value for people, to four significant digits.
func Number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// List writes the values in a line for people, each with its label: at most so many.
func (p Part) List(most int) string {
	var b strings.Builder
	for i, v := range p.Values {
		if i == most {
			fmt.Fprintf(&b, ", and %d more", len(p.Values)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if i < len(p.Labels) {
			b.WriteString(p.Labels[i] + " ")
		}
		b.WriteString(Number(v))
	}
	return b.String()
}
