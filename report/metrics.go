package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/unravel-ml/unravel/metrics"
)

// maxPrinted is the number of values of a part that Metrics shows.
const maxPrinted = 12

// Metrics writes results as a table of text: a line for each metric, with its parts and notes below it.
func Metrics(w io.Writer, results []metrics.Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%s (%s is better)\n", r.Name, Number(r.Value), r.Better)
		if r.Interval != nil {
			fmt.Fprintf(t, "  interval\t%s\n", Interval(r.Interval))
		}
		for _, p := range r.Parts {
			fmt.Fprintf(t, "  %s\t%s\n", p.Name, listed(p, maxPrinted))
		}
		for _, note := range r.Notes {
			fmt.Fprintf(t, "  note\t%s\n", note)
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("results of metrics: %w", err)
	}
	return nil
}

// Interval writes an interval and how it was found in a line.
func Interval(i *metrics.Interval) string {
	of := "halves of the rows"
	if i.Way == metrics.ResampleDraws {
		of = "draws"
	}
	return fmt.Sprintf("%s to %s (%v %%), estimate %s, of %d %s", Number(i.Low), Number(i.High), i.Percent, Number(i.Estimate), i.Repeats, of)
}

// Number writes a value to four significant digits.
func Number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// listed writes the first values of a part in a line, each with its label.
func listed(p metrics.Part, most int) string {
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
