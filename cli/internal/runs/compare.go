package runs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/cli/internal/eval"
	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/ranking"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// Compare is `unravel compare SOURCE SOURCE ...`.
type Compare struct {
	Sources   []string `arg:"" name:"source" help:"Two or more runs, folders of runs, files of metrics (.json) or files of codes (.npy, .npz, .h5, .mat, .csv)." detail:"eval --out and training write files of metrics. A file of codes has a row for each image."`
	Factors   string   `placeholder:"FILE" help:"File of the factors for the files of codes, as for eval." detail:"The command computes the metrics of these files."`
	Types     []string `placeholder:"KIND" help:"Kinds of the factors, as for eval."`
	Bins      ui.Count `placeholder:"20" help:"Number of bins of a continuous factor, as for eval (default: 20)."`
	Metrics   []string `sep:"none" placeholder:"NAME" help:"Metrics to compare, separated by commas (default: the stored metrics; for files of codes, all that apply)." detail:"Metrics with settings, such as 'logic: \"forall ...\"', are computed, and so are metrics that a run has not stored."`
	Blocks    string   `placeholder:"\"0-2;3,5;4\"" help:"Code columns of each factor in all runs, as for eval (default: the columns of each run's own losses)." detail:"The columns apply to the metrics of --metrics."`
	Chance    int      `default:"5" placeholder:"5" help:"Number of shuffles for the chance level of computed metrics, as for eval; 0 for no chance levels."`
	UDR       string   `name:"udr" default:"lasso" enum:"lasso,spearman,none" help:"Similarity of code columns for the unsupervised disentanglement ranking (UDR): lasso, spearman or none." detail:"UDR needs codes of the same images."`
	Threshold float64  `default:"0.05" help:"Minimum standard deviation of a code column for UDR."`
	JSON      bool     `name:"json" help:"Print one JSON object on standard output."`
	Out       string   `placeholder:"DIR" writes:"folder" help:"Folder to write, with the comparison as compare.json, .csv and .png." detail:"The metrics have a .csv. Ranks, UDR by pairs of runs and, for three runs or more, Kendall's tau between metrics have a .csv and a .png."`
}

func (c *Compare) Run(ctx context.Context, s *ui.Streams) error {
	c.Sources = expandRuns(c.Sources)
	if err := c.check(); err != nil {
		return err
	}
	if c.Out != "" {
		if err := disk.MakeDir(c.Out); err != nil {
			return err
		}
	}
	var runs []*compared
	var failed []error
	for _, source := range c.Sources {
		r, err := c.open(ctx, source, s)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", source, cmp.Or(err, ctx.Err()))
		case err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", source, err))
		default:
			runs = append(runs, r)
		}
	}
	if len(failed) > 0 && len(runs) < 2 {
		return failed[0]
	}
	settings := make([]*index.Run, len(runs))
	for i, r := range runs {
		settings[i] = &index.Run{Dir: r.name} // without settings
		if inputs.IsRun(r.name) {
			settings[i] = index.Read(r.name, r.name)
		}
	}
	agreement, err := c.rank(ctx, runs, settings, s)
	if err != nil {
		return err
	}
	x := newComparison(runs, agreement)
	x.Notes = append(x.Notes, c.narrowColumns(runs, agreement)...)
	if agreement != nil {
		x.Notes = append(x.Notes, equalCodes(runs)...)
	}
	x.compareSettings(settings)
	if len(x.Metrics) == 0 {
		return errors.New("there is nothing to compare; want metrics, or codes of the same images")
	}
	if c.Out != "" {
		if err := x.writeFiles(c.Out); err != nil {
			return err
		}
		fmt.Fprintf(s.Log, "%s by %s with tables and figures in %s\n",
			wording.Count(len(runs), "run"), wording.Count(len(x.Metrics), "metric"), c.Out)
	}
	if c.JSON {
		err = ui.WriteJSON(s.Out, x)
	} else {
		x.print(s.Out)
	}
	return errors.Join(append([]error{err}, failed...)...)
}

// expandRuns replaces a folder of runs by its runs. It skips lists of runs, which a pattern such as runs/* also matches.
func expandRuns(sources []string) (list []string) {
	for _, source := range sources {
		if name := filepath.Base(source); name == index.File || name == "runs.sqlite" { // the list of earlier versions
			continue
		}
		before := len(list)
		if !inputs.IsRun(source) {
			entries, _ := os.ReadDir(source) // opening the source reports the error
			for _, e := range entries {
				if dir := filepath.Join(source, e.Name()); inputs.IsRun(dir) {
					list = append(list, dir)
				}
			}
		}
		if len(list) == before {
			list = append(list, source)
		}
	}
	return list
}

func (c *Compare) check() error {
	switch len(c.Sources) {
	case 0:
		return ui.Usagef("there is no run; want two or more to compare")
	case 1:
		if _, err := os.Stat(c.Sources[0]); errors.Is(err, fs.ErrNotExist) {
			return ui.Usagef("%s does not exist; want two or more runs, or a folder of runs", c.Sources[0])
		}
		return ui.Usagef("there is one run, %s; want two or more to compare", c.Sources[0])
	}
	for i, source := range c.Sources {
		if slices.Contains(c.Sources[:i], source) {
			return ui.Usagef("%s is named twice", source)
		}
	}
	switch {
	case (len(c.Types) > 0 || c.Bins != 0) &&
		!slices.ContainsFunc(c.Sources, func(source string) bool { return c.factorsOf(source) != "" }):
		return ui.Usagef("--types and --bins belong to --factors, or to files with both (.npz, .h5, .mat)")
	case c.Blocks != "" && (len(c.Metrics) == 0 || eval.PresetNamed(c.Metrics)):
		return ui.Usagef("--blocks belongs to --metrics, which computes metrics such as variance of these columns")
	case c.Chance != 0:
		if err := (metrics.Chances{Shuffles: c.Chance}).Validate(); err != nil {
			return ui.Usagef("--chance: %w, or 0 for no chance levels", err)
		}
	}
	if _, err := eval.ChooseMetrics(c.Metrics, nil, ""); err != nil {
		return err
	}
	if err := c.ranking().Validate(); err != nil {
		return ui.Usagef("--threshold: %w", err)
	}
	return nil
}

func (c *Compare) ranking() *ranking.UDR {
	relation := ranking.Relation(c.UDR)
	if c.UDR == "none" {
		relation = ranking.Lasso
	}
	u := ranking.NewUDR(relation)
	u.Threshold = c.Threshold
	return u
}

type compared struct {
	name    string
	results []metrics.Result
	codes   *matrix.Matrix // nil: unknown
	factors *table.Table   // factors of the codes; nil: unknown
}

// open reads a run and computes the metrics that it has not stored.
func (c *Compare) open(ctx context.Context, source string, s *ui.Streams) (*compared, error) {
	info, err := os.Stat(source)
	switch {
	case errors.Is(err, fs.ErrNotExist) && filepath.Ext(source) == "":
		return nil, errors.New("the folder does not exist; want the folder of a run, or a file of codes or metrics")
	case err == nil && info.IsDir():
		return c.openFolder(ctx, source, s)
	case filepath.Ext(source) == ".json":
		results, err := readResults(source)
		if err != nil {
			return nil, err
		}
		results, err = selectResults(results, c.Metrics)
		return &compared{name: source, results: results}, err
	}
	r, factors := &compared{name: source}, c.factorsOf(source)
	if factors != "" || len(c.Metrics) > 0 {
		r.results, r.codes, err = c.measure(ctx,
			&eval.Command{Codes: source, Factors: factors, Types: c.Types, Bins: c.Bins}, s)
		return r, err
	}
	t, err := inputs.ReadCodes(source, s.Log)
	if err != nil {
		return nil, err
	}
	r.codes = &matrix.Matrix{Rows: t.Rows, Cols: t.Cols, Data: t.Data}
	return r, nil
}

// factorsOf returns the file with the factors for a file of codes, or "" if there is none.
func (c *Compare) factorsOf(source string) string {
	return cmp.Or(c.Factors, table.Beside(source, "factors"))
}

// openFolder reads a run's folder. The codes come from training or encode. It measures the newest checkpoint of a run
// that has not ended.
func (c *Compare) openFolder(ctx context.Context, dir string, s *ui.Streams) (*compared, error) {
	r := &compared{name: dir}
	var err error
	if inputs.IsRun(dir) && !rundir.Ended(dir) {
		fmt.Fprintf(s.Log, "%s: the run has not ended; the newest checkpoint is measured\n", dir)
		r.results, r.codes, err = c.measure(ctx, &eval.Command{Dir: dir}, s)
		return r, err
	}
	if r.results, err = c.folderResults(ctx, dir, s); err != nil {
		return nil, err
	}
	edited, err := rundir.Edited(dir)
	if err != nil {
		return nil, err
	}
	if edited != "" {
		fmt.Fprintf(s.Log, "warning: %s: files changed after the run: %s\n", dir, edited)
	}
	t, err := inputs.ReadTable(filepath.Join(dir, rundir.CodesFile), "codes")
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	r.codes = &matrix.Matrix{Rows: t.Rows, Cols: t.Cols, Data: t.Data}
	r.factors, err = readLevels(dir)
	return r, err
}

// readLevels reads the levels of the factors of a run's codes, or its factors. Without both files it returns nil.
func readLevels(dir string) (*table.Table, error) {
	for _, name := range []string{rundir.LevelsFile, rundir.FactorsFile} {
		t, err := inputs.ReadFactors(filepath.Join(dir, name), nil)
		if !errors.Is(err, fs.ErrNotExist) {
			return t, err
		}
	}
	return nil, nil
}

// folderResults returns the stored results of a run if they include all wanted metrics, and computes them otherwise.
func (c *Compare) folderResults(ctx context.Context, dir string, s *ui.Streams) ([]metrics.Result, error) {
	stored, err := readResults(filepath.Join(dir, "metrics.json"))
	if len(c.Metrics) == 0 && !errors.Is(err, fs.ErrNotExist) {
		return stored, err
	}
	if err == nil && !eval.PresetNamed(c.Metrics) && c.Blocks == "" {
		if stored, err = selectResults(stored, c.Metrics); err == nil {
			return stored, nil
		}
	}
	results, _, err := c.measure(ctx, &eval.Command{Dir: dir}, s)
	return results, err
}

// measure returns the results and the measured codes.
func (c *Compare) measure(ctx context.Context, e *eval.Command, s *ui.Streams) ([]metrics.Result, *matrix.Matrix, error) {
	e.Metrics, e.Blocks, e.Chance = c.Metrics, c.Blocks, c.Chance
	opened, err := e.Open(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	results, err := opened.Results(ctx, s)
	return results, opened.Codes(), err
}

func readResults(path string) ([]metrics.Result, error) {
	src, err := rundir.ReadFile(filepath.Split(path))
	if err != nil {
		return nil, err
	}
	return ParseResults(src)
}

// selectResults returns the results of the metrics in --metrics, or all results without that flag. A metric with
// settings only matches the result of its sentence. Stored results of other metrics may have other settings.
func selectResults(results []metrics.Result, texts []string) ([]metrics.Result, error) {
	if len(texts) == 0 || len(texts) == 1 && texts[0] == "all" {
		return results, nil
	}
	choice, err := eval.ChooseMetrics(texts, nil, "")
	if err != nil {
		return nil, err
	}
	var selected []metrics.Result
	for k, name := range metrics.ResultNames(choice.Metrics) {
		i := slices.IndexFunc(results, func(r metrics.Result) bool {
			if choice.Items[k].With == nil {
				return r.Name == name
			}
			l, ok := choice.Metrics[k].Value.(*metrics.Logic)
			return ok && r.Sentence == l.Sentence.String()
		})
		if i < 0 {
			return nil, fmt.Errorf("the metric %s is not among its %d metrics", name, len(results))
		}
		r := results[i]
		r.Name = name
		selected = append(selected, r)
	}
	return selected, nil
}

// rank computes UDR if all runs have codes of the same images. Otherwise it logs the reason.
func (c *Compare) rank(
	ctx context.Context, runs []*compared, settings []*index.Run, s *ui.Streams,
) (*ranking.Agreement, error) {
	if c.UDR == "none" {
		return nil, nil
	}
	var codes []matrix.Matrix
	for i, r := range runs {
		switch {
		case r.codes == nil:
			fmt.Fprintf(s.Log, "left out: udr: %s has no codes\n", r.name)
			return nil, nil
		case r.codes.Rows != runs[0].codes.Rows:
			fmt.Fprintf(s.Log, "left out: udr: %s has codes of %d images, and %s of %d\n",
				r.name, r.codes.Rows, runs[0].name, runs[0].codes.Rows)
			return nil, nil
		case !r.varies() && differentSamples(settings[0], settings[i], r.codes.Rows):
			fmt.Fprintf(s.Log, "left out: udr: %s and %s have codes of other random images (metrics.sample); "+
				"want codes of all images, from unravel encode\n", r.name, runs[0].name)
			return nil, nil
		case !r.varies() && differentFiles(runs[0].name, r.name):
			fmt.Fprintf(s.Log, "left out: udr: %s and %s are runs with other images: their files differ\n", r.name, runs[0].name)
			return nil, nil
		case r.factors != nil && runs[0].factors != nil && !slices.EqualFunc(r.factors.Data, runs[0].factors.Data,
			func(x, y float64) bool { return x == y || x != x && y != y }):
			fmt.Fprintf(s.Log, "left out: udr: %s and %s are runs with other images: their factors differ\n",
				r.name, runs[0].name)
			return nil, nil
		}
		codes = append(codes, *r.codes)
	}
	return c.ranking().Compare(ctx, codes)
}

// varies reports whether factors are known that tell the images apart.
func (r *compared) varies() bool {
	if r.factors == nil {
		return false
	}
	last := make([]float64, r.factors.Cols)
	for i, v := range r.factors.Data {
		if i >= len(last) && v != last[i%len(last)] && v == v {
			return true
		}
		last[i%len(last)] = v
	}
	return false
}

// differentSamples reports whether two runs have codes of different random images: the seed draws them.
func differentSamples(a, b *index.Run, rows int) bool {
	isSampled := func(r *index.Run) bool {
		sample, _ := r.Settings.Get("metrics.sample")
		return sample == strconv.Itoa(rows)
	}
	seedA, hasA := a.Settings.Get(seedColumn)
	seedB, hasB := b.Settings.Get(seedColumn)
	return hasA && hasB && seedA != seedB && (isSampled(a) || isSampled(b))
}

// differentFiles reports whether two runs read different files of images with the same key of the config.
func differentFiles(a, b string) bool {
	images := func(dir string) map[string]string {
		hashes := map[string]string{}
		if d, err := rundir.ReadData(dir); err == nil && d != nil {
			for _, in := range d.Inputs {
				key, isDataset := strings.CutPrefix(in.Key, "dataset.")
				if isDataset && (strings.HasSuffix(key, "path") || strings.Contains(key, "path/images")) {
					hashes[in.Key] = in.SHA256
				}
			}
		}
		return hashes
	}
	hashes := images(a)
	for key, hash := range images(b) {
		if hashes[key] != "" && hashes[key] != hash {
			return true
		}
	}
	return false
}

// equalCodes returns a note for each run with the codes of an earlier run.
func equalCodes(runs []*compared) (notes []string) {
	for i, r := range runs {
		same := func(other *compared) bool { return slices.Equal(other.codes.Data, r.codes.Data) }
		if earlier := slices.IndexFunc(runs[:i], same); earlier >= 0 {
			notes = append(notes, fmt.Sprintf("runs %d and %d have the same codes, which raises their udr", earlier+1, i+1))
		}
	}
	return notes
}

// narrowColumns returns a note on the code columns that UDR ignores.
func (c *Compare) narrowColumns(runs []*compared, a *ranking.Agreement) []string {
	var dropped []string
	for i, r := range runs {
		if a != nil && a.Used[i] < r.codes.Cols {
			dropped = append(dropped, fmt.Sprintf("%d of %d in run %d", r.codes.Cols-a.Used[i], r.codes.Cols, i+1))
		}
	}
	if dropped == nil {
		return nil
	}
	return []string{fmt.Sprintf("udr leaves out columns with a standard deviation below %g (--threshold): %s",
		c.Threshold, strings.Join(dropped, ", "))}
}

// ParseResults reads results from metrics.json. A run writes a list; eval writes an object with the results by name
// below the key metrics. A result without a value (null) is left out. The results keep the list's order, or take the
// order of [metrics.Registry].
func ParseResults(src []byte) ([]metrics.Result, error) {
	var list []storedResult
	if text := bytes.TrimLeft(src, " \t\r\n"); len(text) > 0 && text[0] == '[' {
		if err := json.Unmarshal(src, &list); err != nil {
			return nil, fmt.Errorf("results of metrics: %w", err)
		}
		return known(list)
	}
	var all struct {
		Metrics map[string]storedResult `json:"metrics"`
	}
	if err := json.Unmarshal(src, &all); err != nil {
		return nil, fmt.Errorf("results of metrics: %w", err)
	}
	if all.Metrics == nil {
		return nil, fmt.Errorf("results of metrics: there is no key \"metrics\"; want a file of training or eval")
	}
	names := metrics.Registry.Names()
	for name, r := range all.Metrics {
		r.Name = name
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b storedResult) int {
		return cmp.Or(slices.Index(names, a.Name)-slices.Index(names, b.Name), strings.Compare(a.Name, b.Name))
	})
	return known(list)
}

// storedResult is a result whose value and direction may be missing.
type storedResult struct {
	metrics.Result
	Value  *float64           `json:"value"`
	Better *metrics.Direction `json:"better"`
}

// known returns the results that have a value. A result without a direction has the direction of its metric.
func known(list []storedResult) (results []metrics.Result, err error) {
	names := map[string]bool{}
	for i, r := range list {
		if r.Name == "" || names[r.Name] {
			return nil, fmt.Errorf("results of metrics: the name %q of result %d is empty or repeated; want distinct names",
				r.Name, i)
		}
		names[r.Name] = true
		if r.Value == nil {
			continue
		}
		if r.Result.Value = *r.Value; r.Better != nil {
			r.Result.Better = *r.Better
		} else if m, err := metrics.Registry.Lookup(r.Name); err == nil {
			r.Result.Better = m.New().Better()
		}
		results = append(results, r.Result)
	}
	return results, nil
}
