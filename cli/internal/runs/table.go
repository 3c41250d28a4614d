package runs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// shownColumn is a column of a printed table.
type shownColumn struct {
	header string
	cells  []string
	rank   int // columns with high ranks are left out first
}

// maxCell is the greatest width of a cell of settings, in letters.
const maxCell = 28

// cut shortens a text in its middle.
func cut(s string, width int) string {
	letters := []rune(s)
	if len(letters) <= width {
		return s
	}
	head := (width - 1) / 2
	return string(letters[:head]) + "…" + string(letters[len(letters)-(width-1-head):])
}

// width returns the width of a column, in letters.
func (c *shownColumn) width() int {
	w := utf8.RuneCountInString(c.header)
	for _, cell := range c.cells {
		w = max(w, utf8.RuneCountInString(cell))
	}
	return w
}

const columnGap = 2

func widthOfAll(list []shownColumn) int {
	sum := -columnGap
	for _, c := range list {
		sum += c.width() + columnGap
	}
	return sum
}

// fit makes columns fit a width. It shortens headers and cells first. Then it leaves out the columns with the highest
// ranks, and returns their names.
func fit(list []shownColumn, width int) (fitting []shownColumn, left []string) {
	if widthOfAll(list) <= width {
		return list, nil
	}
	full := make([]string, len(list))
	for i, c := range list {
		full[i] = c.header
	}
	for i := range list {
		list[i].header = shortName(full[i], full)
		for r, cell := range list[i].cells {
			list[i].cells[r] = cut(cell, max(maxCell, width/3))
		}
	}
	for len(list) > 1 && widthOfAll(list) > width {
		worst := 0
		for i, c := range list {
			if c.rank >= list[worst].rank {
				worst = i
			}
		}
		if list[worst].rank == neverOut {
			break
		}
		left = append(left, full[worst])
		list, full = slices.Delete(list, worst, worst+1), slices.Delete(full, worst, worst+1)
	}
	return list, left
}

// shortName returns the shortest suffix of a key that no other key has.
func shortName(name string, all []string) string {
	parts := strings.Split(name, ".")
	for n := 1; n < len(parts); n++ {
		short := strings.Join(parts[len(parts)-n:], ".")
		others := slices.ContainsFunc(all, func(o string) bool { return o != name && (o == short || strings.HasSuffix(o, "."+short)) })
		if _, err := strconv.Atoi(parts[len(parts)-n]); err != nil && !others {
			return short
		}
	}
	return name
}

// printFitted prints the columns that fit, and logs the names of the others.
func printFitted(s *ui.Streams, list []shownColumn) error {
	fitting, left := fit(list, ui.Width(s.Out))
	t := tabwriter.NewWriter(s.Out, 0, 0, columnGap, ' ', 0)
	for row := -1; row < len(list[0].cells); row++ {
		var line []string
		for _, c := range fitting {
			if row < 0 {
				line = append(line, c.header)
			} else {
				line = append(line, c.cells[row])
			}
		}
		fmt.Fprintln(t, strings.Join(line, "\t"))
	}
	if err := t.Flush(); err != nil || left == nil {
		return err
	}
	slices.Sort(left)
	const most = 6
	more := ""
	if n := len(left) - most; n > 0 {
		left, more = left[:most], fmt.Sprintf(" and %d more", n)
	}
	fmt.Fprintf(s.Log, "there is no room for %s%s; --csv has all columns\n", strings.Join(left, ", "), more)
	return nil
}

// The rank of columns that always stay, and the rank of columns that are left out first.
const (
	neverOut = -1
	afterAll = math.MaxInt32
)

// mostRows is the largest number of rows on a terminal. More would scroll for minutes.
const mostRows = 1000

// printRuns prints runs with their differing settings and their results.
func printRuns(s *ui.Streams, runs []*index.Run) error {
	if len(runs) == 0 {
		_, err := fmt.Fprintln(s.Out, "no runs")
		return err
	}
	columns := shownColumns(runs)
	shown := runs
	if plain.Terminal(s.Out) != nil {
		shown = runs[:min(len(runs), mostRows)]
	}
	records := runRecords(columns, shown, true)
	list := make([]shownColumn, len(columns))
	for i, c := range columns {
		list[i].header = c.Name
		for _, row := range records[1:] {
			list[i].cells = append(list[i].cells, row[i])
		}
	}
	rank(list, runs)
	if err := printFitted(s, list); err != nil {
		return err
	}
	if len(shown) < len(runs) {
		fmt.Fprintf(s.Log, "the first %d of %d runs; --filter, --by and --csv have the others\n", len(shown), len(runs))
	}
	sayDamaged(s, runs)
	return nil
}

// sayDamaged says why the first damaged run is damaged, and how many others are.
func sayDamaged(s *ui.Streams, runs []*index.Run) {
	var damaged []*index.Run
	for _, r := range runs {
		if r.State == sweep.Damaged {
			damaged = append(damaged, r)
		}
	}
	if len(damaged) == 0 {
		return
	}
	fmt.Fprintf(s.Log, "%s is damaged: %s\n", damaged[0].Dir, damaged[0].Problem)
	if n := len(damaged) - 1; n > 0 {
		fmt.Fprintf(s.Log, "also damaged: %d; --json says why\n", n)
	}
}

// rank orders columns by importance. Settings and results alternate, and columns with values in most runs come first.
func rank(list []shownColumn, runs []*index.Run) {
	var settings, results []int
	for i, c := range list {
		switch {
		case i == 0, c.header == "state" && slices.ContainsFunc(runs, func(r *index.Run) bool { return r.State != sweep.Finished }):
			list[i].rank = neverOut
		case c.header == "state" || c.header == "seconds" || c.header == "fit.converged":
			list[i].rank = afterAll
		case isResult(runs, c.header):
			results = append(results, i)
		default:
			settings = append(settings, i)
		}
	}
	for turn, columns := range [][]int{settings, results} {
		slices.SortStableFunc(columns, func(i, j int) int { return cmp.Compare(missing(list[i].cells), missing(list[j].cells)) })
		for n, i := range columns {
			list[i].rank = 2*n + turn
		}
	}
}

// missing counts the runs without a value.
func missing(cells []string) (n int) {
	for _, c := range cells {
		if c == "-" {
			n++
		}
	}
	return n
}

func isResult(runs []*index.Run, name string) bool {
	return slices.ContainsFunc(runs, func(r *index.Run) bool { _, ok := r.Results.Get(name); return ok })
}
