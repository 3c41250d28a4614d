package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/interval"
)

const maxPrinted = 12 // maximum number of values of a part that Metrics shows

// Metrics writes results as a text table: one line per metric, with its parts and notes below.
func Metrics(w io.Writer, results []metrics.Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%s (%s is better)\n", r.Name, Number(r.Value), r.Better)
		if r.Chance != nil {
			fmt.Fprintf(t, "  chance\t%s\n", chanceLine(&r))
		}
		if r.Interval != nil {
			fmt.Fprintf(t, "  interval\t%s\n", intervalLine(&r))
		}
		if r.Basis.Remarkable() {
			fmt.Fprintf(t, "  basis\t%s\n", &r.Basis)
		}
		for _, p := range r.Parts {
			fmt.Fprintf(t, "  %s\t%s\n", p.Name, partLine(p, maxPrinted))
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

// intervalLine returns a line with the interval of a result and its method. If the interval excludes the value, the line
// says that the interval belongs to the estimate: the value is biased because the number of rows is finite, or is one
// draw of random numbers.
func intervalLine(r *metrics.Result) string {
	i, repeats, estimate, value := r.Interval, "halves of the rows", "corrected value", "is biased by the number of rows"
	if i.Way == interval.Draws {
		repeats, estimate, value = "draws", "mean", "is one draw"
	}
	if r.Value < i.Low || r.Value > i.High {
		return fmt.Sprintf("of the %s %s: %s to %s (%v %%), of %d %s; %s %s",
			estimate, Number(i.Estimate), Number(i.Low), Number(i.High), i.Percent, i.Repeats, repeats, Number(r.Value), value)
	}
	return fmt.Sprintf("%s to %s (%v %%), estimate %s, of %d %s",
		Number(i.Low), Number(i.High), i.Percent, Number(i.Estimate), i.Repeats, repeats)
}

// chanceLine returns a line with the chance level of a result, and marks a value that is no better than chance.
func chanceLine(r *metrics.Result) string {
	c := r.Chance
	text := fmt.Sprintf("%s with the rows shuffled (± %s, of %d shuffles", Number(c.Mean), Number(c.Deviation), c.Shuffles)
	if c.Rows < r.Basis.Rows {
		text += fmt.Sprintf(" of %d rows", c.Rows)
	}
	if text += ")"; !c.Differs {
		text += "; the value is no better than chance"
	}
	return text
}

// Number formats a value with four significant digits.
func Number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// partLine returns a line with the first values of a part, each with its label.
func partLine(p metrics.Part, limit int) string {
	var b strings.Builder
	for i, v := range p.Values {
		if i == limit {
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
