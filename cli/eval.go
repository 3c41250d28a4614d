package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/similarity"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/report"
)

// evalCommand is `unravel eval (--run DIR | --codes F --factors F)`.
type evalCommand struct {
	Dir       string   `name:"run" xor:"source" placeholder:"DIR" help:"Folder of a run, whose model is measured on its data set."`
	Codes     string   `xor:"source" placeholder:"FILE" help:"File of codes, a row for each image: .npy, .npz (FILE.npz:NAME, the only array, or the one called codes) or .csv, of any number type."`
	Factors   string   `placeholder:"FILE" help:"File of the factors of the codes, a column for each factor; formats as for --codes (in .npz, the array called factors). Words are levels of a categorical factor. If absent: the array called factors in the .npz file of the codes."`
	Rotations string   `placeholder:"FILE" help:"File of rotations in space of the same rows, for dlsbd, as a factor called rotation: matrices [N, 3, 3] or [N, 9] (row by row), or quaternions [N, 4] (real part first). Formats as for --codes (in .npz, the array called rotations). --factors may then be absent."`
	Types     []string `placeholder:"KIND" help:"Kinds of the columns of --factors, one for all or one for each, separated by commas: ordinal; circular (or angular: values are evenly spaced around the circle); circular:PERIOD (values are angles, PERIOD to a full turn, such as circular:360 for degrees or circular:64 for levels 0 to 63; any sample of rows); categorical (or discrete); continuous. A circular factor without a period has evenly spaced values. If absent, a column of whole numbers, or of at most --bins distinct numbers, is ordinal, any other continuous. contraction-max, contraction-mean, mse, mae and me use continuous factors in their own units (--option mse.units=range scales them to [0, 1]) and other factors by levels scaled to [0, 1]. Metrics of rotations, such as dlsbd, need circular factors."`
	Bins      int      `placeholder:"20" help:"Number of bins, of equal width, of a continuous factor, for metrics of levels. If absent, 20."`
	Blocks    string   `placeholder:"\"0-2;3,5;4\"" help:"Code columns of each factor, counted from 0, for metrics of sub-codes: \"0-1;2\" gives the first factor two and the second one. If absent: one column for each factor, the best match if there are spare columns; of a run, equally many for each factor where that fits."`
	Metrics   []string `sep:"none" placeholder:"NAME" help:"Metrics to compute, separated by commas, with their settings as a config has them: 'mig, logic: \"forall[mean] i: z(i) =[squared] y(i)\"'; repeatable. all: every metric that applies; fast: those that take milliseconds. If absent: the run's metrics, or all."`
	weightsFlags
	pairFlags

	Option []string `sep:"none" placeholder:"METRIC.KEY=VALUE" help:"Option of one of these metrics, such as downstream.top=2 (see unravel list metrics NAME); repeatable."`

	Like string `placeholder:"SOURCE" help:"Define all metrics as a source does: disentanglement_lib, disent, or a paper (enriching, lsbd-metric, lsbd-vae, hierarchical, negative-free); see unravel list dialects. Metrics that it does not have are left out, or refused if --metrics names them. --option still changes an option."`

	Chance int `default:"5" placeholder:"5" help:"Number of times to shuffle the rows of the codes against those of the factors, for the chance level of every metric: what it says of codes that know nothing of the factors. Metrics of many rows, and slow ones, shuffle fewer. 0: no chance levels."`

	Interval float64 `placeholder:"95" help:"Give every metric a confidence interval of so many percent: from random halves of the rows, without the bias of finitely many rows, or from repeated draws of the metric's random numbers. A note says which metrics have none, such as extremes."`
	Repeats  int     `placeholder:"N" help:"Values that make an interval. If absent, 200 from halves of the rows, 50 from draws, 20 of metrics that fit slow predictors."`

	Hierarchy     string `placeholder:"FILE" help:"Hierarchy of the codes, for r4c and h-error: a .json list of dimensions such as [{\"type\": \"continuous\"}, {\"type\": \"categorical\", \"options\": [[], [...]]}]. Code columns are the categorical dimensions, as 1 + option, then the continuous ones; 0 is inactive."`
	TrueHierarchy string `placeholder:"FILE" help:"Hierarchy of the factors, for h-error and purity; format as for --hierarchy."`
	Components    string `placeholder:"FILE" help:"File of the component of each code, for purity and coverage: whole numbers, -1 for discarded codes; formats as for --codes (in .npz, the array called components)."`

	JSON bool   `name:"json" help:"Print one JSON object on standard output."`
	Out  string `placeholder:"DIR" writes:"folder" help:"Write a folder: metrics.json and .csv; each metric's matrix as .csv and .png; ranks.csv, a ranking of code columns for each factor; codes.png, codes against factors; med-selected.png, the columns that med selects; manipulation.csv and .png, the variance of each column while one factor varies; approximation.png, the product function of the factors and the affine left inverse that are nearest to the codes, with product-approximation.npy and left-inverse.npy; constancy.png, levels by the radius and the deviation of their sub-codes; and the hierarchies as .png."`
}

// Run computes and prints the metrics.
func (c *evalCommand) Run(ctx context.Context, s *streams) error {
	if c.Dir == "" && c.Factors == "" && c.Rotations == "" && c.Pairs == "" {
		c.Factors = table.Beside(c.Codes, "factors")
	}
	if err := c.check(); err != nil {
		return err
	}
	e, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	if c.Out != "" { // a mistake in it should not cost the time of measuring
		if err := disk.MakeDir(c.Out); err != nil {
			return err
		}
	}
	results, err := e.results(ctx, s)
	stopped := errors.Is(err, train.ErrStopped)
	if err != nil && len(results) > 0 && (!stopped || e.intervals.Percent > 0) { // keep the finished metrics
		return errors.Join(c.write(context.WithoutCancel(ctx), s, e, results), err)
	}
	if err != nil {
		return err
	}
	return c.write(ctx, s, e, results)
}

// write writes results to the folder of --out and prints them.
func (c *evalCommand) write(ctx context.Context, s *streams, e *evaluation, results []metrics.Result) error {
	if c.Out != "" {
		if err := e.writeFiles(ctx, c.Out, results); err != nil {
			return err
		}
		e.remark(s)
		fmt.Fprintf(s.log, "%s with tables and figures in %s\n", counted(len(results), "metric"), c.Out)
	}
	if c.JSON {
		return writeSummary(s.out, results)
	}
	return report.Metrics(s.out, results)
}

// check returns an error for flags that exclude or need each other.
func (c *evalCommand) check() error {
	if c.Interval == 0 && c.Repeats != 0 {
		return usagef("--repeats needs --interval, such as --interval 95")
	}
	if c.Chance != 0 {
		if err := (metrics.Chances{Shuffles: c.Chance}).Validate(); err != nil {
			return usagef("--chance: %w", err)
		}
	}
	if c.Interval != 0 {
		if err := (metrics.Intervals{Percent: c.Interval, Repeats: c.Repeats}).Validate(); err != nil {
			return usagef("--interval and --repeats: %w", err)
		}
	}
	switch {
	case c.Dir != "" && (c.Factors != "" || c.Rotations != ""):
		return usagef("--factors belongs to --codes, and so does --rotations: a run has its own")
	case c.Pairs == "" && (c.Conflicts != "" || c.Noise != 0):
		return usagef("--conflicts and --noise belong to --pairs, which is absent")
	case c.Pairs != "" && (c.Factors != "" || c.Rotations != "" || len(c.Types) > 0 || c.Bins != 0 || c.TrueHierarchy != ""):
		return usagef("--pairs takes the place of factors; want it without --factors, --rotations, --types, --bins and --true-hierarchy")
	case c.Dir != "" && (len(c.Types) > 0 || c.Bins != 0):
		return usagef("--types and --bins belong to --codes: the factors of a run have their kinds")
	case c.Dir != "":
		return nil
	case c.Best || c.Average:
		return usagef("--best and --average choose weights of a run; want --run DIR")
	case c.Codes == "" && c.ofHierarchies():
		return nil
	case c.Codes == "" && slices.Equal(c.Metrics, []string{"h-error"}):
		return usagef("h-error compares two hierarchies; want --hierarchy FILE and --true-hierarchy FILE, or --run DIR")
	case c.Codes == "":
		return usagef("nothing to evaluate; want --run DIR, or --codes FILE, with --factors FILE for metrics of factors")
	case c.Factors == "" && len(c.Types) > 0:
		return usagef("--types belong to --factors, which are absent")
	case c.Bins < 0:
		return usagef("--bins %d is negative; want at least one bin", c.Bins)
	}
	return nil
}

// ofHierarchies reports whether the metrics only compare two hierarchies and need no codes.
func (c *evalCommand) ofHierarchies() bool {
	return c.Hierarchy != "" && c.TrueHierarchy != "" && c.Factors == "" && slices.Equal(c.Metrics, []string{"h-error"})
}

// evaluation is the input of metrics, with the metrics to compute.
type evaluation struct {
	in             *metrics.Input
	seed           uint64
	chosen         []metrics.Choice
	files          bool     // codes and factors come from files
	withoutFactors bool     // codes come from files, without factors
	optional       bool     // metrics that do not apply are left out
	remarks        []string // lines for the log

	codes  factor.SubCodes // for metrics without their own
	assign metrics.Assign

	chances   metrics.Chances   // 0 shuffles: no chance levels
	intervals metrics.Intervals // 0 percent: no intervals
}

// open reads the codes and factors, and chooses the metrics.
func (c *evalCommand) open(ctx context.Context, s *streams) (*evaluation, error) {
	names := c.Metrics
	if len(names) == 0 && (c.Dir == "" || c.Like != "") {
		names = []string{"all"}
	}
	chosen, leftOut, err := chooseMetrics(names, c.Option, c.Like)
	if err != nil {
		return nil, err
	}
	e := &evaluation{chosen: chosen, chances: metrics.Chances{Shuffles: c.Chance}, optional: presetNamed(names), intervals: metrics.Intervals{Percent: c.Interval, Repeats: c.Repeats}}
	if len(leftOut) > 0 {
		e.remarks = append(e.remarks, fmt.Sprintf("left out: %s: not in %s", strings.Join(leftOut, ", "), c.Like))
	}
	if c.Dir != "" {
		err = c.openRun(ctx, e, s, setKeys(names, leftOut, c.Option, c.Like))
	} else if e.files, err = true, c.readFiles(e); err == nil && c.Pairs != "" {
		err = c.readPairs(e, similarity.Rows{Count: e.in.Codes.Rows})
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
	if c.Pairs != "" {
		e.matchCodes()
		return e, nil
	}
	if c.Dir == "" && e.in.Codes.Cols != len(e.in.Factors) { // the grouping of columns is unknown
		e.setCodes(nil, metrics.AssignBest)
	}
	return e, nil
}

// openRun reads a run's model and codes. Metrics of --metrics take the settings of the run's losses, except for
// settings that the user has set according to set.
func (c *evalCommand) openRun(ctx context.Context, e *evaluation, s *streams, set func(i int, key string) bool) error {
	x, err := c.weightsFlags.open(ctx, c.Dir, s)
	if err != nil {
		return err
	}
	if e.chosen == nil {
		e.chosen = x.Final()
	} else {
		named := e.chosen
		if e.chosen, err = x.Config.Inherit(named, set); err != nil {
			return err
		}
		for _, m := range e.chosen {
			if c.Blocks == "" && !slices.ContainsFunc(named, func(o metrics.Choice) bool { return o.Name == m.Name && reflect.DeepEqual(o.Value, m.Value) }) {
				e.remarks = append(e.remarks, m.Name+" has the columns and settings of the run's loss; --option or --blocks would change them")
			}
		}
	}
	if c.Pairs != "" {
		return c.openPairs(ctx, e, x, s)
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

// setBlocks sets the code columns of each factor in metrics that take sub-codes.
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

// setCodes sets sub-codes in the metrics that take them, and reports whether there is such a metric.
func (e *evaluation) setCodes(codes factor.SubCodes, assign metrics.Assign) (used bool) {
	e.codes, e.assign = codes, assign
	for _, c := range e.chosen {
		if m, ok := c.Value.(metrics.SubCoded); ok {
			m.SetCodes(codes, assign)
			used = true
		}
	}
	return used
}

// results computes the metrics. A metric that does not apply or fails is an error if the user named it. Otherwise it
// is left out, with a line in the log. An error comes with the results of all other metrics.
func (e *evaluation) results(ctx context.Context, s *streams) ([]metrics.Result, error) {
	if !e.optional {
		if err := metrics.Suits(e.in, e.chosen); err != nil {
			return nil, e.withOptions(err) // before computing any metric
		}
	}
	e.remark(s)
	var results []metrics.Result
	var failed []error
	var needFactors, needLevels []string // metrics that are left out
	for i, c := range e.chosen {
		err := e.withOptions(metrics.Suits(e.in, e.chosen[i:i+1]))
		if err == nil {
			var r []metrics.Result
			r, err = e.measure(ctx, i, patienceOf(s.log), func() {
				fmt.Fprintf(s.log, "computing %s (%d of %d)\n", c.Name, i+1, len(e.chosen))
			})
			results = append(results, r...)
		}
		if err == nil && e.chances.Shuffles > 0 {
			err = e.chance(ctx, i, results[len(results)-1:], s)
		}
		if err == nil && e.intervals.Percent > 0 {
			err = e.interval(ctx, i, results[len(results)-1:], s)
		}
		switch {
		case err == nil:
		case errors.Is(err, train.ErrStopped):
			return results, err
		case !e.optional:
			failed = append(failed, err)
		case errors.Is(err, metrics.MissingFactors):
			needFactors = append(needFactors, c.Name)
		case errors.Is(err, metrics.MissingLevels):
			needLevels = append(needLevels, c.Name)
		default:
			fmt.Fprintf(s.log, "left out: %v\n", err)
		}
	}
	if len(needFactors) > 0 {
		fmt.Fprintf(s.log, "left out: %s: %v\n", strings.Join(needFactors, ", "), e.withOptions(metrics.MissingFactors))
	}
	if len(needLevels) > 0 {
		fmt.Fprintf(s.log, "left out: %s: %v\n", strings.Join(needLevels, ", "), metrics.MissingLevels)
	}
	if e.optional && len(results) == 0 {
		return nil, fmt.Errorf("no metric applies")
	}
	return results, errors.Join(failed...)
}

// remark logs the remarks, once.
func (e *evaluation) remark(s *streams) {
	for _, line := range e.remarks {
		fmt.Fprintln(s.log, line)
	}
	e.remarks = nil
}
