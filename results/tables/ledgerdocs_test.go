package tables_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/show"
	. "github.com/unravel-ml/unravel/results/tables"
)

// quote is a place on a page with numbers of the ledger; see testdata/quoted.yaml.
type quote struct {
	Page    string            `yaml:"page" doc:"its file in docs"`
	Table   string            `yaml:"table" doc:"name of a table"`
	Scale   string            `yaml:"scale" doc:"its scale"`
	Text    string            `yaml:"text" doc:"a part of the page, with the numbers in braces"`
	Cells   [][2]string       `yaml:"cells" doc:"with text: row and column of each number"`
	Head    string            `yaml:"head" doc:"in place of text: the first line of a table in Markdown, whose rows are rows of the table"`
	Columns []string          `yaml:"columns" doc:"with head: the columns, where a / separates several numbers; none: those of the heading, behind the label of the first one"`
	Rows    map[string]string `yaml:"rows" doc:"with head: rows by another label"`
	Row     string            `yaml:"row" doc:"with head: the row of all lines, whose first cells stand for $ in columns"`
	Only    []string          `yaml:"only" doc:"with head: the lines that are from the ledger; none: all"`
}

// ledgerResults caches tables computed from the ledger, by table and scale.
type ledgerResults map[[2]string]*Result

func (l ledgerResults) of(t *testing.T, name, scale string) *Result {
	t.Helper()
	key := [2]string{name, scale}
	if l[key] == nil {
		table := open(t, name)
		r := must.Get(table.Compute(t.Context(), Options{Scale: scale, Ledger: table.Ledger(), RunsOnly: true}))(t)
		l[key] = r
	}
	return l[key]
}

// quotes reads testdata/quoted.yaml.
func quotes(t *testing.T) []quote {
	t.Helper()
	source := must.Read(t, "testdata/quoted.yaml")
	root := must.Get(config.Parse("testdata/quoted.yaml", source))(t)
	var all struct {
		Quotes []quote `yaml:"quotes"`
	}
	must.OK(t, root.Decode(&all))
	return all.Quotes
}

// page reads a page of docs. With joined, all white space becomes single spaces.
func page(t *testing.T, name string, joined bool) string {
	t.Helper()
	source := must.Read(t, filepath.Join("../../docs", name))
	if joined {
		return strings.Join(strings.Fields(string(source)), " ")
	}
	return strings.ReplaceAll(string(source), "\r\n", "\n")
}

var braced = regexp.MustCompile(`\{([^}]*)\}`)

// Numbers on pages agree with the ledger.
func TestQuotedNumbers(t *testing.T) {
	long.NotShort(t)
	known, numbers := ledgerResults{}, 0
	for _, q := range quotes(t) {
		r := known.of(t, q.Table, q.Scale)
		if q.Text != "" {
			if !strings.Contains(page(t, q.Page, true), strings.NewReplacer("{", "", "}", "").Replace(q.Text)) {
				t.Errorf("docs/%s has no %q", q.Page, q.Text)
			}
			found := braced.FindAllStringSubmatch(q.Text, -1)
			if len(found) != len(q.Cells) || len(found) == 0 {
				t.Errorf("docs/%s: %q has %d numbers of %d cells", q.Page, q.Text, len(found), len(q.Cells))
				continue
			}
			for i, number := range found {
				checkNumber(t, q, r, q.Cells[i][0], q.Cells[i][1], number[1])
				numbers++
			}
			continue
		}
		numbers += q.check(t, r)
	}
	if numbers < 500 {
		t.Errorf("%d numbers are compared; want 500 and more", numbers)
	}
}

// check compares a table in Markdown and returns how many numbers it has.
func (q *quote) check(t *testing.T, r *Result) (numbers int) {
	t.Helper()
	_, rest, ok := strings.Cut(page(t, q.Page, false), "\n"+q.Head+"\n")
	if !ok {
		t.Errorf("docs/%s has no %q", q.Page, q.Head)
		return 0
	}
	cells := func(line string) []string {
		list := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "\x00"), "| "), "|")
		for i, c := range list {
			list[i] = strings.TrimSpace(strings.NewReplacer("\x00", "|", "**", "", `\`, "").Replace(c))
		}
		return list
	}
	heads := strings.Split(strings.Trim(q.Head, "|"), "|")
	columns := q.Columns
	for _, h := range heads[1:] {
		if len(q.Columns) == 0 {
			columns = append(columns, strings.TrimSpace(strings.ReplaceAll(heads[0], `\`, ""))+", "+strings.TrimSpace(h))
		}
	}
	for i, line := range strings.Split(rest, "\n") {
		if i == 0 { // the line of dashes
			continue
		}
		if !strings.HasPrefix(line, "|") {
			break
		}
		list := cells(line)
		row := list[0]
		if len(q.Only) > 0 && !slices.Contains(q.Only, row) {
			continue
		}
		if other := q.Rows[row]; other != "" {
			row = other
		}
		for c, text := range list[1:] {
			if c >= len(columns) || columns[c] == "" || text == "" {
				continue
			}
			row, column := row, columns[c]
			if q.Row != "" {
				row, column = q.Row, strings.ReplaceAll(column, "$", row)
			}
			parts, of := strings.Split(text, "/"), strings.Split(column, "/")
			if len(parts) != len(of) {
				t.Errorf("docs/%s, row %q: %q has no number for each of %q", q.Page, row, text, column)
				continue
			}
			for k, part := range parts {
				checkNumber(t, *q, r, row, strings.TrimSpace(of[k]), strings.TrimSpace(part))
				numbers++
			}
		}
	}
	return numbers
}

// checkNumber compares a number such as .48 or 0.540±0.085 with a cell.
func checkNumber(t *testing.T, q quote, r *Result, row, column, text string) {
	t.Helper()
	c := r.Cell(row, column)
	if c == nil || c.Ours == nil {
		t.Errorf("docs/%s quotes %s: %s has no value in row %q, column %q", q.Page, text, r.Name, row, column)
		return
	}
	mean, deviation, spread := strings.Cut(strings.ReplaceAll(text, " ", ""), "±")
	got := shortened(*c.Ours, mean)
	want := strings.TrimLeft(mean, "+")
	if spread {
		got, want = got+"±"+shortened(c.Deviation, deviation), want+"±"+deviation
	}
	must.Equal(t, got, want, "docs/", q.Page, "quotes", text, "of", r.Name, "row", row, "column", column)
}

// shortened writes a number like another one: with the same number of decimals, and with or without a 0 before the
// point.
func shortened(v float64, like string) string {
	_, fraction, _ := strings.Cut(like, ".")
	text := strconv.FormatFloat(v, 'f', len(fraction), 64)
	if strings.HasPrefix(strings.TrimPrefix(like, "-"), ".") {
		text = strings.Replace(text, "0.", ".", 1)
	}
	return text
}

func TestShortened(t *testing.T) {
	for like, want := range map[string]string{".25": "-.12", "0.2": "-0.1", "3": "-0", "-.123": "-.125"} {
		must.Equal(t, shortened(-0.12456, like), want, "like", like)
	}
}

// If a page has a whole table of the ledger, it shows the output of unravel table NAME --out at the largest scale of
// the ledger.
func TestDocsLedger(t *testing.T) {
	long.NotShort(t)
	shown := map[string]int{"papers/square.md": 0, "papers/arrow.md": 0, "papers/turntable.md": 0,
		"papers/hierarchical.md": 0, "papers/contrastive.md": 0, "papers/tables.md": 0, "pairs.md": 0, "energy.md": 0}
	texts := map[string]string{}
	for name := range shown {
		texts[name] = page(t, name, false)
	}
	for _, name := range Names() {
		table := open(t, name)
		if !table.Trains() {
			continue
		}
		summary := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(table.Source) +
			`(; runs trained .*)?\. (No numbers are printed|\d+ of \d+ printed cells)`)
		for file, text := range texts {
			if !summary.MatchString(text) {
				continue
			}
			shown[file]++
			scale := must.Get(table.Held(Options{Ledger: table.Ledger()}))(t)
			_, written, _ := strings.Cut(written(t, ledgerResults{}.of(t, name, scale), show.Markdown), "\n")
			if !strings.Contains(text, strings.TrimSpace(written)) {
				t.Errorf("docs/%s does not show what unravel table %s --out DIR writes", file, name)
			}
		}
	}
	if shown["papers/square.md"] != 1 || shown["papers/arrow.md"] != 2 || shown["papers/turntable.md"] != 3 {
		t.Errorf("%v tables; want 1 on papers/square.md, 2 on papers/arrow.md and 3 on papers/turntable.md", shown)
	}
}

// The reason for a difference comes from an experiment with the row, so a note of a trained table names one row.
func TestNotesOfOneRow(t *testing.T) {
	notes := 0
	for _, name := range Names() {
		table := open(t, name)
		if !table.Trains() {
			continue
		}
		for _, n := range table.Notes {
			if notes++; len(n.Rows) != 1 {
				t.Errorf("table %s: a note is about %q; want one row, the experiment's: %s", name, n.Rows, n.Reason)
			}
		}
	}
	if notes < 10 {
		t.Errorf("%d notes", notes)
	}
}
