package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor/similarity"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
)

// pairFlags choose a file of answers instead of factors.
type pairFlags struct {
	Pairs     string  `placeholder:"FILE" help:"File of answers instead of --factors: row, row, factor, and same or different in each line." detail:"unravel data ask writes the questions. Metrics of modularity need no other factors. Rows count from 0. For a run, rows are images or files of pictures."`
	Conflicts string  `placeholder:"RULE" help:"Rule for contradicting answers of --pairs: error, drop or majority (default: error; with --noise, majority)." detail:"drop leaves out the classes of contradicting answers. majority takes the classes that most answers agree with."`
	Noise     float64 `placeholder:"RATE" help:"Rate of wrong answers of --pairs, less than 0.5." detail:"Rows stay in a class only if their answers make it likely."`
}

// unite turns answers into classes.
func (p *pairFlags) unite(a *similarity.Answers) (*similarity.Classes, error) {
	o := similarity.Options{Noise: p.Noise}
	if err := o.Conflicts.UnmarshalText([]byte(p.Conflicts)); err != nil {
		return nil, usagef("--conflicts: %v", err)
	}
	if err := o.Validate(); err != nil {
		return nil, usagef("--pairs: %v", err)
	}
	return similarity.Unite(a, o)
}

// readPairs sets the classes from a file as factors.
func (p *pairFlags) readPairs(e *evaluation, rows similarity.Rows) error {
	answers, err := similarity.ReadFile(p.Pairs, rows)
	if err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	classes, err := p.unite(answers)
	if err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	if err := e.in.SetClasses(classes); err != nil {
		return fmt.Errorf("pairs: %s: %w", p.Pairs, err)
	}
	e.remarks = append(e.remarks, describeClasses(answers, classes)...)
	return nil
}

// openPairs encodes all images of a run, and sets the classes from a file.
func (c *evalCommand) openPairs(ctx context.Context, e *evaluation, x *train.Experiment, s *streams) error {
	x.Progress = s.activity()
	codes, err := x.Codes(ctx)
	if err != nil {
		return err
	}
	images := make([]int, codes.Rows)
	for i := range images {
		images[i] = i
	}
	e.in, e.seed = x.InputOf(codes, images), x.Config.Seed
	return c.readPairs(e, supervision.RowsOf(x.Data))
}

// matchCodes assigns each factor its best column, unless a config or --blocks assigns columns. The order of factors
// in a file of answers has no meaning.
func (e *evaluation) matchCodes() {
	for _, c := range e.chosen {
		switch m := c.Value.(type) {
		case *metrics.SubCodeDeviation:
			if len(m.Codes) == 0 && m.Assign == metrics.AssignAuto {
				m.SetCodes(nil, metrics.AssignBest)
			}
		case *metrics.Separation:
			if len(m.Codes) == 0 && m.Assign == metrics.AssignAuto {
				m.SetCodes(nil, metrics.AssignBest)
			}
		}
	}
}

// describeClasses says which classes the answers gave.
func describeClasses(a *similarity.Answers, c *similarity.Classes) []string {
	var parts []string
	for k, name := range c.Factors {
		rows := 0
		for _, class := range c.Of[k] {
			if class >= 0 {
				rows++
			}
		}
		parts = append(parts, fmt.Sprintf("%s %d %s of %s", name, c.Count[k], map[bool]string{true: "class", false: "classes"}[c.Count[k] == 1], counted(rows, "row")))
	}
	lines := []string{fmt.Sprintf("pairs: %d answers, %d of them same: %s", len(a.List), a.Same(), strings.Join(parts, ", "))}
	if c.Dropped+c.Overruled > 0 {
		lines = append(lines, fmt.Sprintf("pairs: %d answers are dropped and %d overruled by others; %d rows have too few answers", c.Dropped, c.Overruled, c.Unsure))
	}
	return lines
}
