package training

import (
	_ "embed" // for the text of a plan
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"text/template"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/train"
)

//go:embed plan.txt.tmpl
var planText string

var planTemplate = template.Must(template.New("plan").Funcs(template.FuncMap{
	"bytes":  func(n int64) string { return memory.Text(float64(n)) },
	"count":  counted,
	"giga":   func(v float64) string { return fmt.Sprintf("%.3g", v/1e9) },
	"join":   strings.Join,
	"number": thousands,
	"part":   timePart,
	"size":   memory.Text,
	"span":   ui.Span,
}).Parse(planText))

func printPlan(w io.Writer, p *train.Plan, dir string) error {
	x := struct {
		*train.Plan
		Parameters int      // of all parts
		Parts      []string // with their parameters
		Speed      float64  // of a step, in FLOP/s
		Dir        string
	}{Plan: p, Speed: p.Time.FLOP / p.Time.Step, Dir: dir}
	for _, part := range p.Network {
		if x.Parameters += part.Parameters; part.Parameters > 0 {
			x.Parts = append(x.Parts, fmt.Sprintf("%s %s", part.Name, thousands(part.Parameters)))
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if err := planTemplate.Execute(t, x); err != nil {
		return err
	}
	return t.Flush()
}

// timePart formats a line for a part of the time, or returns "" for a part without time.
func timePart(name string, seconds float64) string {
	if seconds <= 0 {
		return ""
	}
	return fmt.Sprintf("  %s\t%s\n", name, ui.Span(seconds))
}

// counted writes a number with commas and its noun.
func counted(n int, noun string) string {
	_, noun, _ = strings.Cut(wording.Count(n, noun), " ")
	return thousands(n) + " " + noun
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
