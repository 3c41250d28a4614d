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
		fmt.Fprintf(t, "%s\t%s\t(%s is better)\n", r.Name, number(r.Value), r.Better)
		for _, p := range r.Parts {
			fmt.Fprintf(t, "  %s\t%s\t\n", p.Name, p.list())
		}
		for _, note := range r.Notes {
			fmt.Fprintf(t, "  note\t%s\t\n", note)
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("metrics: print: %w", err)
	}
	return nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// list writes the first values, each with its label.
func (p Part) list() string {
	var b strings.Builder
	for i, v := range p.Values {
		if i == maxListed {
			fmt.Fprintf(&b, ", and %d more", len(p.Values)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if i < len(p.Labels) {
			b.WriteString(p.Labels[i] + " ")
		}
		b.WriteString(number(v))
	}
	return b.String()
}
