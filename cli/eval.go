package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/report"
	"github.com/unravel-ml/unravel/train"
)

// evalCommand is `unravel eval (--run DIR | --codes F --factors F)`.
type evalCommand struct {
	Dir       string   `name:"run" xor:"source" placeholder:"DIR" help:"A run's folder: its model is evaluated on its data set."`
	Codes     string   `xor:"source" placeholder:"FILE" help:"Codes made elsewhere, a row for each image: .npy or .npz (FILE.npz:NAME, the only array, or the one called codes) of any number type, or .csv."`
	Factors   string   `placeholder:"FILE" help:"The factors of those codes, a column for each: a file as for --codes (in .npz, the array called factors)."`
	Rotations string   `placeholder:"FILE" help:"Rotations in space of the same rows, a factor called rotation, for dlsbd: an array of matrices [N, 3, 3] or [N, 9] (row by row), or of quaternions [N, 4] (real part first); a file as for --codes (in .npz, the array called rotations). The other factors may then be absent."`
	Types     []string `placeholder:"KIND" help:"Kinds of the columns of --factors, one for all or one for each, separated by commas: ordinal, circular (or angular; its values go evenly around), circular:PERIOD (angles in parts of a period, such as circular:360 for degrees or circular:64 for levels 0 to 63, of any sample of rows), categorical (or discrete), continuous. If absent, a column of whole numbers or of at most --bins different numbers is ordinal, any other continuous. contraction-max, contraction-mean, mse, mae and me take continuous factors in their own units (--option mse.units=range maps them to [0, 1]) and levels mapped to [0, 1]. Metrics of turning, such as dlsbd, need circular."`
	Bins      int      `placeholder:"20" help:"Bins of a continuous factor, of equal width, for metrics that need levels."`
	Blocks    string   `placeholder:"\"0-2;3,5;4\"" help:"Code columns, from 0, of each factor, for metrics of sub-codes. If absent, one column for each where there are as many, else the best one for each; in a run, as many for each as for the next where that fits."`
	Metrics   []string `placeholder:"NAME" help:"Metrics to compute, separated by commas; all: every one that applies; fast: those of them that take milliseconds. If absent, those of the run, or all."`
	Option    []string `sep:"none" placeholder:"METRIC.KEY=VALUE" help:"An option of one of these metrics, such as downstream.top=2 (unravel list metrics NAME has them); repeatable."`

	Hierarchy     string `placeholder:"FILE" help:"The hierarchy of the codes, for r4c and h-error: .json, a list of dimensions such as [{\"type\": \"continuous\"}, {\"type\": \"categorical\", \"options\": [[], [...]]}]. Columns are laid out with categorical dimensions first, as 1 + the option, then continuous ones; 0 is inactive."`
	TrueHierarchy string `placeholder:"FILE" help:"The hierarchy of the factors, for h-error and purity: a file as for --hierarchy."`
	Components    string `placeholder:"FILE" help:"The component of each code, for purity and coverage: a file as for --codes (in .npz, the array called components), whole numbers, -1 for discarded codes."`

	JSON bool   `name:"json" help:"Print one JSON object on standard output."`
	Out  string `placeholder:"DIR" help:"A folder to write to: metrics.json, metrics.csv, the matrices behind metrics as .csv and .png, ranks.csv, which columns tell most of every factor, codes.png, codes against factors, med-selected.png, the columns that med chooses, manipulation.csv and .png, how the columns vary while one factor moves, and the hierarchies as .png."`
}

// Run measures.
func (c *evalCommand) Run(ctx context.Context, s *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	e, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	if c.Out != "" { // a mistake in it should not cost the time of measuring
		if err := os.MkdirAll(c.Out, 0o777); err != nil {
			return err
		}
	}
	results, err := e.results(ctx, s)
	if err != nil {
		return err
	}
	if c.Out != "" {
		if err := e.writeFiles(ctx, c.Out, results); err != nil {
			return err
		}
		fmt.Fprintf(s.log, "%d metrics with tables and figures in %s\n", len(results), c.Out)
	}
	if c.JSON {
		return writeSummary(s.out, results)
	}
	return report.Metrics(s.out, results)
}

// check reports options that do not go together.
func (c *evalCommand) check() error {
	switch {
	case c.Dir != "" && (c.Factors != "" || c.Rotations != ""):
		return usagef("--factors belongs to --codes, and so does --rotations: a run has its own")
	case c.Dir != "" && (len(c.Types) > 0 || c.Bins != 0):
		return usagef("--types and --bins belong to --codes: the factors of a run have their kinds")
	case c.Dir != "":
		return nil
	case c.Codes == "":
		return usagef("nothing to evaluate: want --run DIR, or --codes FILE and --factors FILE")
	case c.Factors == "" && c.Rotations == "":
		return usagef("--codes needs --factors (or --rotations): the factors of the same rows")
	case c.Factors == "" && len(c.Types) > 0:
		return usagef("--types belong to --factors, which are absent")
	case c.Bins < 0:
		return usagef("--bins %d is negative; want at least one bin", c.Bins)
	}
	return nil
}

// evaluation is what there is to measure.
type evaluation struct {
	in       *metrics.Input
	seed     uint64
	chosen   []metrics.Choice
	optional bool     // metrics that do not apply are left out
	remarks  []string // lines for the log
}

// open reads what is to be measured, and chooses the metrics.
func (c *evalCommand) open(ctx context.Context, s *streams) (*evaluation, error) {
	names := c.Metrics
	if len(names) == 0 && c.Dir == "" {
		names = []string{"all"}
	}
	chosen, err := chooseMetrics(names, c.Option)
	if err != nil {
		return nil, err
	}
	e := &evaluation{chosen: chosen, optional: presetNamed(names)}
	if c.Dir != "" {
		err = e.openRun(ctx, c.Dir, s)
	} else {
		err = c.readFiles(e)
	}
	if err != nil {
		return nil, err
	}
	if err := c.readHierarchies(e.in); err != nil {
		return nil, err
	}
	if err := e.in.Validate(); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	if c.Blocks != "" {
		return e, e.setBlocks(c.Blocks)
	}
	if c.Dir == "" && e.in.Codes.Cols != len(e.in.Factors) { // which columns belong together is not known
		e.setCodes(nil, metrics.AssignBest)
	}
	return e, nil
}

func (e *evaluation) openRun(ctx context.Context, dir string, s *streams) error {
	x, warning, err := train.OpenExperiment(dir)
	if err != nil {
		return err
	}
	if warning != "" {
		fmt.Fprintln(s.log, warning)
	}
	if e.chosen == nil {
		e.chosen = x.Final()
	}
	x = x.Sample()
	x.Progress = train.NewActivity(s.log)
	codes, err := x.Codes(ctx)
	if err != nil {
		return err
	}
	e.in, e.seed = x.Input(codes), x.Config.Seed
	return nil
}

// setBlocks gives the code columns of each factor to the metrics that have sub-codes.
func (e *evaluation) setBlocks(text string) error {
	codes, err := parseBlocks(text, e.in)
	if err != nil {
		return usageError{err}
	}
	if !e.setCodes(codes, metrics.AssignAuto) {
		return usagef("--blocks: none of the metrics has sub-codes; want one such as variance or mpd")
	}
	return nil
}

// setCodes reports whether any metric has sub-codes.
func (e *evaluation) setCodes(codes factor.SubCodes, assign metrics.Assign) (used bool) {
	for _, c := range e.chosen {
		if m, ok := c.Value.(metrics.SubCoded); ok {
			m.SetCodes(codes, assign)
			used = true
		}
	}
	return used
}

// results computes the metrics. Those that do not apply are an error, or left out
// with a line on the log.
func (e *evaluation) results(ctx context.Context, s *streams) ([]metrics.Result, error) {
	if !e.optional {
		if err := metrics.Suits(e.in, e.chosen); err != nil {
			return nil, withOptions(err) // before any is computed
		}
	}
	for _, line := range e.remarks {
		fmt.Fprintln(s.log, line)
	}
	var results []metrics.Result
	for i, c := range e.chosen {
		err := withOptions(metrics.Suits(e.in, e.chosen[i:i+1]))
		if err == nil {
			var r []metrics.Result
			r, err = e.measure(ctx, i, patienceOf(s.log), func() {
				fmt.Fprintf(s.log, "computing %s (%d of %d)\n", c.Name, i+1, len(e.chosen))
			})
			results = append(results, r...)
		}
		switch {
		case err == nil:
		case !e.optional || errors.Is(err, train.ErrStopped):
			return nil, err
		default:
			fmt.Fprintf(s.log, "left out: %v\n", err)
		}
	}
	if e.optional && len(results) == 0 {
		return nil, fmt.Errorf("no metric applies")
	}
	return results, nil
}
