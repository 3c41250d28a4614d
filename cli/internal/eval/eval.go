// Package eval has the command eval, which measures codes.
package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/numeric"

	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/similarity"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train"
)

// Command is `unravel eval (--run DIR | --codes F --factors F | --encoder F dataset=NAME ...)`.
type Command struct {
	Dir       string   `name:"run" xor:"source" placeholder:"DIR" help:"Folder of a run, to measure its model on its data set."`
	Codes     string   `xor:"source" placeholder:"FILE" help:"File of codes, with a row for each image: .npy, .npz, .h5, .mat or .csv, of any number type." detail:"In a file of several arrays, FILE.npz:NAME, FILE.h5:NAME or FILE.mat:NAME selects the array NAME. Without a name, the file must have a single array, or an array called codes."`
	Factors   string   `placeholder:"FILE" help:"File of the factors, with a column for each factor and a row for each code." detail:"The formats are the same as for --codes; in a file of several arrays, the array is called factors. Words are levels of a categorical factor. The default is the array called factors in the file of the codes."`
	Rotations string   `placeholder:"FILE" help:"File of rotations in space for dlsbd: matrices [N, 3, 3] or [N, 9], or quaternions [N, 4]." detail:"The rotations become a factor called rotation. Their rows are the rows of the codes. [N, 9] has matrices row by row, and quaternions have the real part first. The formats are the same as for --codes; in a file of several arrays, the array is called rotations. --factors may then be absent."`
	Types     []string `placeholder:"KIND" help:"Kinds of the factors, one for all or one for each: ordinal, circular, circular:PERIOD, categorical or continuous." detail:"Commas separate the kinds. angular means circular, and discrete means categorical. Without a period, values of a circular factor are evenly spaced around the circle. With a period, values are angles: circular:360 for degrees, circular:64 for levels 0 to 63, in any sample of rows. By default, a column of whole numbers, or of at most --bins distinct numbers, is ordinal, and any other is continuous. contraction-max, contraction-mean, mse, mae and me use continuous factors in their own units, and other factors by levels scaled to [0, 1]. --option mse.units=range scales continuous factors to [0, 1], too. Metrics of rotations, such as dlsbd, need circular factors."`
	Bins      ui.Count `placeholder:"20" help:"Number of bins of equal width for a continuous factor, for metrics of levels (default: 20)."`
	Blocks    string   `placeholder:"\"0-2;3,5;4\"" help:"Code columns of each factor, counted from 0, for metrics of sub-codes." detail:"\"0-1;2\" gives the first factor columns 0 and 1, and the second factor column 2. By default each factor has one column, the best match if there are spare columns. For a run, the default is an equal number of columns for each factor, if possible."`
	Metrics   []string `sep:"none" placeholder:"NAME" help:"Metrics to compute, separated by commas, or all or fast (default: the run's metrics, or all for codes and other data)." detail:"Metrics may have settings as in a config: 'mig, logic: \"forall[mean] i: z(i) =[squared] y(i)\"'. The flag is repeatable. all takes every metric that applies, and fast the metrics that take milliseconds."`
	inputs.WeightFlags
	inputs.DeviceFlags
	pairFlags
	inputs.EncoderFlags

	Option []string `sep:"none" placeholder:"METRIC.KEY=VALUE" help:"Option of one of the metrics, such as downstream.top=2; repeatable." detail:"unravel list metrics NAME lists the options of a metric."`

	Like string `placeholder:"SOURCE" help:"Source that defines all metrics, such as disentanglement_lib, disent or a paper (see unravel list dialects)." detail:"Papers are enriching, lsbd-metric, lsbd-vae, hierarchical and negative-free. Metrics that the source lacks are left out, or refused if --metrics names them. --option still changes an option."`

	Chance int `default:"5" placeholder:"5" help:"Number of shuffles of the codes' rows for the chance level of every metric; 0 for no chance levels." detail:"The chance level is the metric's value for codes without information about the factors. Of many rows, each shuffle measures a sample, which is smaller for slow metrics."`

	Interval float64  `placeholder:"PERCENT" help:"Compute a confidence interval of every metric, with this level, such as 95." detail:"Intervals come from random halves of the rows, corrected for the bias of a finite number of rows, or from repeated draws of the metric's random numbers. A note names metrics without an interval, such as extremes."`
	Repeats  ui.Count `placeholder:"N" help:"Number of repetitions for an interval (default: 20 to 200, by metric)." detail:"The default is 200 for halves of the rows, 50 for draws, and 20 for metrics that fit slow predictors."`

	Hierarchy     string `placeholder:"FILE" help:"Hierarchy of the codes (.json), for r4c and h-error." detail:"The file is a list of dimensions such as [{\"type\": \"continuous\"}, {\"type\": \"categorical\", \"options\": [[], [...]]}]. Code columns are first the categorical dimensions, as 1 + option, then the continuous ones. 0 means inactive."`
	TrueHierarchy string `placeholder:"FILE" help:"Hierarchy of the factors, for h-error and purity, in the format of --hierarchy."`
	Components    string `placeholder:"FILE" help:"File with the component of each code, for purity and coverage: whole numbers, or -1 for discarded codes." detail:"The formats are the same as for --codes; in a file of several arrays, the array is called components."`

	JSON bool   `name:"json" help:"Print one JSON object on standard output."`
	Out  string `placeholder:"DIR" writes:"folder" help:"Folder to write: metrics.json, metrics.csv, and tables and pictures of single metrics." detail:"Each metric's matrix is a .csv and a .png. ranks.csv ranks code columns for each factor. codes.png shows codes against factors, and med-selected.png the columns that med selects. manipulation.csv and .png give the variance of each column while one factor varies. approximation.png shows the product function of the factors and the affine left inverse nearest to the codes. product-approximation.npy and left-inverse.npy hold their values. constancy.png shows levels by the radius and the deviation of their sub-codes. Hierarchies are .png files."`
}

func (c *Command) Run(ctx context.Context, s *ui.Streams) error {
	if c.Codes != "" && c.Factors == "" && c.Rotations == "" && c.Pairs == "" {
		c.Factors = table.Beside(c.Codes, "factors")
	}
	if err := c.check(); err != nil {
		return err
	}
	e, err := c.Open(ctx, s)
	if err != nil {
		return err
	}
	if c.Out != "" { // find mistakes in --out before measuring
		if err := disk.MakeDir(c.Out); err != nil {
			return err
		}
	}
	results, err := e.Results(ctx, s)
	if err != nil {
		if len(results) == 0 || errors.Is(err, train.ErrStopped) && e.intervals.Percent == 0 {
			return err
		}
		ctx = context.WithoutCancel(ctx) // keep the finished metrics
	}
	return errors.Join(c.write(ctx, s, e, results), err)
}

func (c *Command) write(ctx context.Context, s *ui.Streams, e *Evaluation, results []metrics.Result) error {
	if c.Out != "" {
		if err := e.writeFiles(ctx, c.Out, results); err != nil {
			return err
		}
		e.remark(s)
		fmt.Fprintf(s.Log, "%s with tables and figures in %s\n", wording.Count(len(results), "metric"), c.Out)
	}
	if c.JSON {
		return writeSummary(s.Out, results)
	}
	return report.Metrics(s.Out, results)
}

func (c *Command) check() error {
	if err := cmp.Or(c.EncoderFlags.Check(), c.DeviceFlags.Check(c.Dir), c.checkRepeats()); err != nil {
		return err
	}
	factors, kinds := c.Factors != "" || c.Rotations != "", len(c.Types) > 0 || c.Bins != 0
	switch {
	case c.Dir != "" && factors:
		return ui.Usagef("--factors and --rotations belong to --codes: a run has its own factors")
	case c.Pairs == "" && (c.Conflicts != "" || c.Noise != 0):
		return ui.Usagef("--conflicts and --noise belong to --pairs; want --pairs FILE too")
	case c.Pairs != "" && (factors || kinds || c.TrueHierarchy != ""):
		return ui.Usagef("--pairs replaces the factors; want it without --factors, --rotations, --types, --bins and --true-hierarchy")
	case c.Dir != "" && kinds:
		return ui.Usagef("--types and --bins belong to --codes: the factors of a run have their kinds")
	case c.Codes != "" && len(c.Set) > 0:
		return ui.Usagef("unexpected argument %s: a data set is for --run or --encoder", c.Set[0])
	case c.Encoder != "" && (factors || kinds):
		return ui.Usagef("--factors, --rotations, --types and --bins belong to --codes: the data set of --encoder has its own factors")
	case c.Encoder != "" && c.Pairs != "" && c.Sample != 0:
		return ui.Usagef("--pairs counts all images of the data set; want it without --sample")
	case c.Dir != "":
		return nil
	case c.Best || c.Average:
		return ui.Usagef("--best and --average choose weights of a run; want --run DIR")
	case c.Encoder != "":
		return nil
	case c.Codes == "" && slices.Equal(c.Metrics, []string{"h-error"}):
		if c.Hierarchy != "" && c.TrueHierarchy != "" && c.Factors == "" {
			return nil
		}
		return ui.Usagef("h-error compares two hierarchies; want --hierarchy FILE and --true-hierarchy FILE, or --run DIR")
	case c.Codes == "":
		return ui.Usagef("nothing to evaluate; want --run DIR, --encoder FILE dataset=NAME, or --codes FILE, with --factors FILE for metrics of factors")
	case c.Factors == "" && len(c.Types) > 0:
		return ui.Usagef("--types belong to --factors; want --factors FILE too")
	}
	return nil
}

// checkRepeats returns an error for an invalid number of shuffles, or of repetitions of an interval.
func (c *Command) checkRepeats() error {
	if c.Interval == 0 && c.Repeats != 0 {
		return ui.Usagef("--repeats needs --interval, such as --interval 95")
	}
	if c.Chance != 0 {
		if err := (metrics.Chances{Shuffles: c.Chance}).Validate(); err != nil {
			return ui.Usagef("--chance: %w, or 0 for no chance levels", err)
		}
	}
	if c.Interval != 0 {
		if err := (metrics.Intervals{Percent: c.Interval, Repeats: int(c.Repeats)}).Validate(); err != nil {
			return ui.Usagef("--interval and --repeats: %w", err)
		}
	}
	return nil
}

// Evaluation has the input of metrics, and the metrics to compute.
type Evaluation struct {
	in             *metrics.Input
	seed           uint64
	chosen         []metrics.Choice
	files          bool         // codes and factors come from files
	withoutFactors bool         // codes come from files, without factors
	optional       bool         // skip metrics that do not apply
	remarks        []string     // lines for the log
	notes          []string     // those on the tables
	factors        *table.Table // of --factors, or nil

	codes  factor.SubCodes // for metrics without sub-codes in their settings
	assign metrics.Assign

	chances   metrics.Chances   // 0 shuffles: no chance levels
	intervals metrics.Intervals // 0 percent: no intervals
}

// Open reads the codes and factors, and determines the metrics.
func (c *Command) Open(ctx context.Context, s *ui.Streams) (*Evaluation, error) {
	names := c.Metrics
	if len(names) == 0 && (c.Dir == "" || c.Like != "" || len(c.Set) > 0) {
		names = []string{"all"}
	}
	choice, err := ChooseMetrics(names, c.Option, c.Like)
	if err != nil {
		return nil, err
	}
	e := &Evaluation{chosen: choice.Metrics, chances: metrics.Chances{Shuffles: c.Chance}, optional: PresetNamed(names),
		intervals: metrics.Intervals{Percent: c.Interval, Repeats: int(c.Repeats)}}
	if len(choice.LeftOut) > 0 {
		e.remarks = append(e.remarks, fmt.Sprintf("left out: %s: not in %s", strings.Join(choice.LeftOut, ", "), c.Like))
	}
	set := choice.sets(c.Option, c.Like)
	switch {
	case c.Dir != "":
		err = c.openRun(ctx, e, s, set)
	case c.Encoder != "":
		err = c.openEncoder(ctx, e, s)
	default:
		if e.files, err = true, c.readFiles(e); err == nil && c.Pairs != "" {
			err = c.readPairs(e, similarity.Rows{Count: e.in.Codes.Rows})
		}
	}
	if err != nil {
		return nil, err
	}
	if err := c.readHierarchies(e); err != nil {
		return nil, err
	}
	if err := e.in.Validate(); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	switch {
	case c.Blocks != "":
		codes, err := parseBlocks(c.Blocks, e.in)
		if err != nil {
			return nil, ui.Usage(err)
		}
		if !e.setCodes(codes, metrics.AssignAuto, set) {
			return nil, ui.Usagef("--blocks: none of the metrics has sub-codes; want one such as variance or mpd")
		}
	case c.Pairs != "":
		e.matchCodes()
	case c.Dir == "" && e.in.Codes.Cols != len(e.in.Factors): // it is unknown which columns form a sub-code
		e.setCodes(nil, metrics.AssignBest, set)
	}
	return e, nil
}

// Codes returns the codes to measure.
func (e *Evaluation) Codes() *matrix.Matrix { return &e.in.Codes }

// openRun reads the model and codes of a run. Metrics take the settings of its losses, unless set reports the key.
func (c *Command) openRun(ctx context.Context, e *Evaluation, s *ui.Streams, set func(i int, key string) bool) error {
	x, err := c.OpenData(ctx, c.Dir, &c.OtherData, c.DeviceFlags, s)
	if err != nil {
		return err
	}
	if e.chosen == nil {
		if e.chosen = x.Final(); len(e.chosen) == 0 {
			e.remarks = append(e.remarks, "the config of the run has no metrics; --metrics all computes all that apply")
		}
	} else {
		named := e.chosen
		if e.chosen, err = x.Config.Inherit(named, set); err != nil {
			return err
		}
		for _, m := range e.chosen {
			if c.Blocks == "" && !slices.ContainsFunc(named, func(o metrics.Choice) bool {
				return o.Name == m.Name &&
					reflect.DeepEqual(o.Value, m.Value)
			}) {
				e.remarks = append(e.remarks,
					m.Name+" has the columns and settings of the run's loss; --option and --blocks change them")
			}
		}
	}
	switch {
	case c.Pairs != "": // there is one row per image of the set
	case len(c.Set) > 0:
		x = x.Some(int(c.Sample))
	default:
		x = x.Sample()
	}
	codes, err := x.Codes(ctx)
	if err != nil {
		return err
	}
	if e.seed = x.Config.Seed; c.Pairs == "" {
		e.in = x.Input(codes)
		return nil
	}
	e.in = x.InputOf(codes, numeric.UpTo(codes.Rows))
	return c.readPairs(e, supervision.RowsOf(x.Data))
}

// setCodes sets sub-codes in the metrics with this setting, and reports whether there is such a metric. A metric keeps
// the columns that the user has set, as set reports.
func (e *Evaluation) setCodes(codes factor.SubCodes, assign metrics.Assign, set func(i int, key string) bool) (used bool) {
	e.codes, e.assign = codes, assign
	for i, c := range e.chosen {
		m, ok := c.Value.(metrics.SubCoded)
		if used = used || ok; ok && !set(i, "codes") && !set(i, "assign") {
			m.SetCodes(codes, assign)
		}
	}
	return used
}

// Results computes the metrics. If the user has named a metric that does not apply or fails, Results returns an error.
// It skips other metrics, with a line in the log. An error comes with the results of all other metrics.
func (e *Evaluation) Results(ctx context.Context, s *ui.Streams) ([]metrics.Result, error) {
	if !e.optional {
		if err := metrics.Suits(e.in, e.chosen); err != nil {
			if err = e.addOption(err); len(e.notes) > 0 {
				err = fmt.Errorf("%w (%s)", err, strings.Join(e.notes, "; "))
			}
			return nil, err // before computing any metric
		}
	}
	e.remark(s)
	var results []metrics.Result
	var failed []error
	var needFactors, needLevels []string // skipped metrics
	for i, c := range e.chosen {
		err := e.addOption(metrics.Suits(e.in, e.chosen[i:i+1]))
		if err == nil {
			var r []metrics.Result
			r, err = e.measure(ctx, i, ui.Patience(s.Log), func() {
				fmt.Fprintf(s.Log, "computing %s (%d of %d)\n", c.Name, i+1, len(e.chosen))
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
			fmt.Fprintf(s.Log, "left out: %v\n", err)
		}
	}
	if len(needFactors) > 0 {
		fmt.Fprintf(s.Log, "left out: %s: %v\n", strings.Join(needFactors, ", "), e.addOption(metrics.MissingFactors))
	}
	if len(needLevels) > 0 {
		fmt.Fprintf(s.Log, "left out: %s: %v\n", strings.Join(needLevels, ", "), metrics.MissingLevels)
	}
	if e.optional && len(results) == 0 {
		return nil, fmt.Errorf("no metric applies")
	}
	return results, errors.Join(failed...)
}

func (e *Evaluation) remark(s *ui.Streams) {
	for _, line := range e.remarks {
		fmt.Fprintln(s.Log, line)
	}
	e.remarks = nil
}

// pairFlags choose a file of answers instead of factors.
type pairFlags struct {
	Pairs     string  `placeholder:"FILE" help:"File of answers instead of --factors: row, row, factor, and same or different on each line." detail:"unravel data ask writes the questions. Metrics of modularity need no other factors. Rows count from 0. For a run, rows are images or files of pictures."`
	Conflicts string  `placeholder:"RULE" help:"Rule for contradicting answers of --pairs: error, drop or majority (default: error; with --noise, majority)." detail:"drop leaves out the classes of contradicting answers. majority takes the classes that most answers agree with."`
	Noise     float64 `placeholder:"RATE" help:"Rate of wrong answers of --pairs, less than 0.5." detail:"Rows stay in a class only if their answers make it likely."`
}

// readPairs sets the classes from a file as factors.
func (p *pairFlags) readPairs(e *Evaluation, rows similarity.Rows) error {
	o := similarity.Options{Noise: p.Noise}
	if err := o.Conflicts.UnmarshalText([]byte(p.Conflicts)); err != nil {
		return ui.Usagef("pairs: --conflicts: %v", err)
	}
	if err := o.Validate(); err != nil {
		return ui.Usagef("pairs: --pairs: %v", err)
	}
	answers, err := similarity.ReadFile(p.Pairs, rows)
	if err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	classes, err := similarity.Unite(answers, o)
	if err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	if err := e.in.SetClasses(classes); err != nil {
		return fmt.Errorf("pairs: %s: %w", p.Pairs, err)
	}
	e.remarks = append(e.remarks, describeClasses(answers, classes)...)
	return nil
}

// matchCodes assigns the best column to each factor, unless a config or --blocks assigns columns. The order of factors
// in a file of answers has no meaning.
func (e *Evaluation) matchCodes() {
	match := func(m metrics.SubCoded, codes factor.SubCodes, assign metrics.Assign) {
		if len(codes) == 0 && assign == metrics.AssignAuto {
			m.SetCodes(nil, metrics.AssignBest)
		}
	}
	for _, c := range e.chosen {
		switch m := c.Value.(type) {
		case *metrics.SubCodeDeviation:
			match(m, m.Codes, m.Assign)
		case *metrics.Separation:
			match(m, m.Codes, m.Assign)
		}
	}
}

func describeClasses(a *similarity.Answers, c *similarity.Classes) []string {
	var parts []string
	for k, name := range c.Factors {
		rows := 0
		for _, class := range c.Of[k] {
			if class >= 0 {
				rows++
			}
		}
		parts = append(parts, fmt.Sprintf("%s %d %s of %s", name, c.Count[k],
			map[bool]string{true: "class", false: "classes"}[c.Count[k] == 1], wording.Count(rows, "row")))
	}
	lines := []string{fmt.Sprintf("pairs: %s, %d of them same: %s",
		wording.Count(len(a.List), "answer"), a.Same(), strings.Join(parts, ", "))}
	if c.Dropped+c.Overruled > 0 {
		lines = append(lines, fmt.Sprintf("pairs: %d answers are dropped and %d overruled by others; %d rows have too few answers", c.Dropped, c.Overruled, c.Unsure))
	}
	return lines
}

// measure computes the i-th chosen metric; see patiently.
func (e *Evaluation) measure(ctx context.Context, i int, patience time.Duration, slow func()) ([]metrics.Result, error) {
	results, err := ui.Patiently(ctx, patience, func() ([]metrics.Result, error) {
		return metrics.Evaluate(ctx, e.in, e.seed, e.chosen[i:i+1])
	}, slow)
	if errors.Is(err, train.ErrStopped) {
		err = fmt.Errorf("metric %s: %w", e.chosen[i].Name, err)
	}
	for j := range results { // repeated metrics are numbered, as in a run
		results[j].Name = metrics.ResultNames(e.chosen)[i]
	}
	return results, err
}

// chance adds the chance level of metric i to its result, and logs the progress of slow work.
func (e *Evaluation) chance(ctx context.Context, i int, results []metrics.Result, s *ui.Streams) error {
	x := e.chances
	x.Watch = ui.Watch(s, "chance level of %s: %d of %d shuffles\n")
	return stopError(ctx, "chance level of "+e.chosen[i].Name, x.Add(ctx, e.in, e.seed, e.chosen[i:i+1], results))
}

// interval adds the interval of metric i. When the context ends, it uses the finished repetitions.
func (e *Evaluation) interval(ctx context.Context, i int, results []metrics.Result, s *ui.Streams) error {
	ui.Allow(ctx, ui.SavePatience)
	x := e.intervals
	x.Watch = ui.Watch(s, "interval of %s: %d of %d repeats\n")
	return stopError(ctx, "interval of "+e.chosen[i].Name, x.Add(ctx, e.in, e.seed, e.chosen[i:i+1], results))
}

// stopError converts the error of a context that has ended to [train.ErrStopped].
func stopError(ctx context.Context, what string, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%s: %w", what, train.ErrStopped)
	}
	return err
}

// openEncoder encodes a data set, and uses its factors or the answers in --pairs.
func (c *Command) openEncoder(ctx context.Context, e *Evaluation, s *ui.Streams) error {
	d, codes, err := c.Encode(ctx, s)
	if err != nil {
		return err
	}
	if e.in = train.InputOf(d, codes, numeric.UpTo(codes.Rows)); c.Pairs != "" {
		return c.readPairs(e, supervision.RowsOf(d))
	}
	return nil
}
