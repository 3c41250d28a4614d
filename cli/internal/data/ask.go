package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/similarity"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/internal/report/sheet"
	"github.com/unravel-ml/unravel/internal/wording"
)

const maxShown = 200 // maximum number of pairs on a sheet

// askCommand is `unravel data ask (NAME [option=value ...] | --run DIR | --codes FILE)`.
type askCommand struct {
	Name    string   `arg:"" optional:"" help:"Name of the data set (see unravel data list)." detail:"The command builds the data set with seed 0."`
	Options []string `arg:"" optional:"" help:"Options of the data set, such as path=photos."`
	Dir     string   `name:"run" xor:"codes" placeholder:"DIR" help:"Folder of a run; its codes decide which pairs of its data set are useful."`
	inputs.WeightFlags
	Codes   string   `xor:"codes" placeholder:"FILE" help:"File of codes that decide which pairs are useful, with a row for each image." detail:"The formats are the same as for eval."`
	Factors []string `placeholder:"NAME" help:"Factors to ask about, separated by commas (\\, in a name), with any names (default: the factors of --answers or of the data set)."`
	Answers string   `placeholder:"FILE" help:"File of earlier answers; questions that they already answer are left out."`
	Count   int      `default:"100" help:"Number of questions, divided evenly among the factors."`
	Explore float64  `default:"0.1" help:"Fraction of random questions, to estimate the probability of the answer same."`
	Random  bool     `help:"Ask about random pairs instead, for comparison."`
	Fill    bool     `help:"Answer the questions from the levels of the data set, for simulations."`
	Seed    uint64   `default:"0" help:"Seed for choosing the rows to consider."`
	Out     string   `default:"pairs.csv" placeholder:"pairs.csv" writes:".csv,.txt" help:"File to write: the earlier answers, then the questions." detail:"Each line has row, row, factor and an empty field for same or different. It may be the file of --answers. The command does not overwrite other answers."`
	Sheet   string   `placeholder:"FILE" writes:".png" help:"PNG of the pairs to draw, with a row for each pair and its line number." detail:"The PNG shows at most 200 pairs."`
}

func (c *askCommand) Run(ctx context.Context, s *ui.Streams) error {
	if c.Dir == "" && (c.Best || c.Average) {
		return ui.Usagef("--best and --average choose weights of a run; want --run DIR")
	}
	if c.Dir != "" && c.Name != "" {
		return ui.Usagef("a run has its own data set; want --run or %s", c.Name)
	}
	q := similarity.Query{Count: c.Count, Factors: c.Factors, Explore: c.Explore, Stream: rng.New(c.Seed, "ask")}
	d, err := c.open(ctx, &q, s)
	if err != nil {
		return err
	}
	answers, err := c.read(d, &q)
	if err != nil {
		return err
	}
	before := len(answers.Open)
	ask := similarity.Ask
	if c.Random {
		ask = similarity.Random
	}
	if err := ask(answers, q); err != nil {
		return ui.Usage(fmt.Errorf("ask: %w", err))
	}
	questions := slices.Clone(answers.Open[before:])
	if c.Fill {
		if err := fillAnswers(d, answers); err != nil {
			return ui.Usage(fmt.Errorf("--fill: %w", err))
		}
	}
	if err := ui.WriteFile(c.Out, func(w io.Writer) error { return similarity.Write(w, answers, nameOf(d)) }); err != nil {
		return err
	}
	if c.Sheet != "" {
		if err := c.draw(d, answers, questions); err != nil {
			return err
		}
	}
	if c.Fill {
		fmt.Fprintf(s.Log, "%s in %s, with answers: %d of %d are same\n",
			wording.Count(len(questions), "question"), c.Out, answers.Same(), len(answers.List))
	} else {
		fmt.Fprintf(s.Log, "%s in %s; write same or different after each\n", wording.Count(len(questions), "question"), c.Out)
	}
	if n := c.Count - len(questions); n > 0 {
		fmt.Fprintf(s.Log, "%s fewer than requested: the examined rows have no more open pairs\n",
			wording.Count(n, "question"))
	}
	return nil
}

// open builds the data set and reads the codes. The data set is nil if the flags name only codes.
func (c *askCommand) open(ctx context.Context, q *similarity.Query, s *ui.Streams) (datasets.Dataset, error) {
	var d datasets.Dataset
	switch {
	case c.Dir != "":
		x, err := c.WeightFlags.Open(ctx, c.Dir, s)
		if err != nil {
			return nil, err
		}
		codes, err := x.Codes(ctx)
		if err != nil {
			return nil, err
		}
		q.Codes, q.Width = codes.Data, codes.Cols
		return x.Data, nil
	case c.Name != "":
		var err error
		if _, d, err = (namedSet{c.Name, c.Options}).build(ctx, 0, s); err != nil {
			return nil, err
		}
	case c.Codes == "":
		return nil, ui.Usagef("nothing to ask about; want the name of a data set, --run DIR or --codes FILE")
	}
	if c.Codes == "" {
		return d, nil
	}
	t, err := inputs.ReadCodes(c.Codes, s.Log)
	if err != nil {
		return nil, err
	}
	if d != nil && t.Rows != d.Len() {
		return nil, fmt.Errorf("%s: codes have %s; want %d, one for each image of dataset %s",
			c.Codes, wording.Count(t.Rows, "row"), d.Len(), d.Name())
	}
	q.Codes, q.Width = t.Data, t.Cols
	return d, nil
}

func (c *askCommand) read(d datasets.Dataset, q *similarity.Query) (*similarity.Answers, error) {
	rows := similarity.Rows{}
	if q.Width > 0 {
		rows.Count = len(q.Codes) / q.Width
	}
	if d != nil {
		rows = supervision.RowsOf(d)
	}
	answers := &similarity.Answers{Rows: rows.Count}
	if c.Answers != "" {
		var err error
		if answers, err = similarity.ReadFile(c.Answers, rows); err != nil {
			return nil, fmt.Errorf("answers: %w", err)
		}
	}
	info, err := os.Stat(c.Out)
	if err == nil && info.Mode().IsRegular() && filepath.Clean(c.Out) != filepath.Clean(c.Answers) {
		if lost, err := similarity.ReadFile(c.Out, rows); err == nil && len(lost.List) > 0 {
			const want = "want --answers %[1]s, which keeps them, or another --out"
			return nil, ui.Usagef("%s has %s; "+want, c.Out, wording.Count(len(lost.List), "answer"))
		}
	}
	if len(q.Factors) == 0 && len(answers.Factors) == 0 && d != nil {
		for _, f := range d.Factors() {
			if f.Size > 1 {
				q.Factors = append(q.Factors, f.Name)
			}
		}
	}
	if len(q.Factors) == 0 && len(answers.Factors) == 0 {
		return nil, ui.Usagef("there is no factor to ask about; want --factors with names, such as --factors colour,shape")
	}
	return answers, nil
}

// fillAnswers answers open questions from the levels of a data set.
func fillAnswers(d datasets.Dataset, a *similarity.Answers) error {
	if d == nil {
		return errors.New("codes have no levels; want a data set or a run")
	}
	names, levels := factor.Names(d.Factors()), make([]int, len(d.Factors()))
	return a.Fill(func(name string, row int) (int, error) {
		k := slices.Index(names, name)
		if k < 0 {
			return 0, fmt.Errorf("dataset %s has no factor %q to answer by", d.Name(), name)
		}
		d.FactorsAt(row, levels)
		return levels[k], nil
	})
}

// nameOf returns a function that names rows by the files of the data set, or nil if rows only have numbers.
func nameOf(d datasets.Dataset) func(row int) string {
	if named, ok := d.(datasets.FileNamed); ok && named.FileName(0) != "" {
		return named.FileName
	}
	return nil
}

func (c *askCommand) draw(d datasets.Dataset, a *similarity.Answers, questions []similarity.Answer) error {
	if d == nil {
		return ui.Usagef("--sheet: codes have no images; want a data set or a run")
	}
	if len(questions) == 0 {
		return ui.Usagef("--sheet: there is no question to draw")
	}
	shown := questions[:min(len(questions), maxShown)]
	first := len(a.List) + len(a.Open) - len(questions) + 2 // line number, after the header
	var pairs [][2]int
	var labels []string
	for n, x := range shown {
		pairs = append(pairs, [2]int{int(x.A), int(x.B)})
		labels = append(labels, fmt.Sprintf("line %d: %s?", first+n, a.Factors[x.Factor]))
	}
	sheet, err := sheet.Pairs(d, fmt.Sprintf("%s: %d of %d questions", d.Name(), len(shown), len(questions)),
		"same or different", pairs, labels, 0)
	if err != nil {
		return err
	}
	return ui.WriteFile(c.Sheet, func(w io.Writer) error { return raster.WritePNG(w, sheet) })
}
