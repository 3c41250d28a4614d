package cli

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/unravel-ml/unravel/registry"
	"github.com/unravel-ml/unravel/runs/index"
)

// choiceKeys are settings of which a run names one or more by name: their columns show the names.
var choiceKeys = []string{"dataset", "supervision", "model", "losses"}

// choiceColumn has the names that a run has for a choice: those below the key, without places in a list.
func choiceColumn(key string) runColumn {
	return runColumn{key, func(r *index.Run) (string, bool) {
		at := map[int][]string{}
		for path := range r.Settings {
			rest, ok := strings.CutPrefix(path, key+".")
			if !ok {
				continue
			}
			place, inList := 0, false
			first, more, _ := strings.Cut(rest, ".")
			if n, err := strconv.Atoi(first); err == nil {
				place, inList = n, true
			}
			if inList {
				first, _, _ = strings.Cut(more, ".")
			}
			if !slices.Contains(at[place], first) {
				at[place] = append(at[place], first)
			}
		}
		var names []string
		for _, place := range slices.Sorted(maps.Keys(at)) {
			names = append(names, at[place]...)
		}
		return strings.Join(names, "+"), len(names) > 0
	}}
}

// differing lists the columns of what runs were asked for in which they differ: names of choices, and settings.
// That a run lacks a setting of what it has not chosen is no difference.
func differing(runs []*index.Run) (list []runColumn) {
	for _, key := range choiceKeys {
		if c := choiceColumn(key); countValues(runs, c, true) > 1 {
			list = append(list, c)
		}
	}
	for _, key := range index.Varying(runs) {
		top, _, _ := strings.Cut(key, ".")
		if key == "name" || key == "train.threads" || key == "train.figures" || key == "train.checkpoint" || top == "metrics" {
			continue
		}
		if c := setting(key); countValues(runs, c, !slices.Contains(choiceKeys, top)) > 1 {
			list = append(list, c)
		}
	}
	return list
}

// countValues counts the different values of a column; none may be one.
func countValues(runs []*index.Run, c runColumn, none bool) int {
	seen := map[string]bool{}
	for _, r := range runs {
		if text, ok := c.of(r); ok {
			seen["="+text] = true
		} else if none && len(r.Settings) > 0 { // a damaged run has no settings
			seen[""] = true
		}
	}
	return len(seen)
}

// shownColumn is a column of a printed table.
type shownColumn struct {
	header string
	cells  []string
	rank   int // columns of high ranks go first where there is no room
}

// maxCell is the width of the cells of settings, in letters.
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

// width is that of a column.
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

// fit makes columns fit a width: first by short names, then by shorter names of runs, then by leaving out those of
// the highest ranks, whose names it returns.
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
		left = append(left, full[worst])
		list, full = slices.Delete(list, worst, worst+1), slices.Delete(full, worst, worst+1)
	}
	return list, left
}

// shortName is the shortest end of a key that no other key has.
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

// printFitted prints columns as far as they fit, and says which do not.
func printFitted(s *streams, list []shownColumn) error {
	fitting, left := fit(list, widthOf(s.out))
	t := tabwriter.NewWriter(s.out, 0, 0, columnGap, ' ', 0)
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
	fmt.Fprintf(s.log, "there is no room for %s%s; --csv has all columns\n", strings.Join(left, ", "), more)
	return nil
}

// The ranks of columns that stay, and of those that go first.
const (
	neverOut = -1
	afterAll = math.MaxInt32
)

// printRuns prints what tells runs apart, and what they have found.
func printRuns(s *streams, runs []*index.Run) error {
	if len(runs) == 0 {
		_, err := fmt.Fprintln(s.out, "no runs")
		return err
	}
	columns := columnsOf(runs, false)
	records := runRecords(columns, runs, true)
	list := make([]shownColumn, len(columns))
	for i, c := range columns {
		list[i].header = c.name
		for _, row := range records[1:] {
			list[i].cells = append(list[i].cells, row[i])
		}
	}
	rank(list, runs)
	return printFitted(s, list)
}

// rank gives columns of runs their ranks: settings and results in turns, each with those first that most runs have.
func rank(list []shownColumn, runs []*index.Run) {
	var settings, results []int
	for i, c := range list {
		switch {
		case i == 0:
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
	return slices.ContainsFunc(runs, func(r *index.Run) bool { _, ok := r.Results[name]; return ok })
}

// nearestColumn is the column that is called most like a name, or that ends like it.
func nearestColumn(name string, columns []string) string {
	parts := strings.Count(name, ".") + 1
	best, distance := "", math.MaxInt
	for _, c := range columns {
		segments := strings.Split(c, ".")
		end := strings.Join(segments[max(0, len(segments)-parts):], ".")
		d := min(registry.Distance(name, c), registry.Distance(name, end))
		if d < distance || d == distance && cmp.Less(len(c), len(best)) {
			best, distance = c, d
		}
	}
	return best
}
