package papers

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // for counted.json
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/results"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
)

// rareCollection is the percentage for the garbage collector while a table is computed. Reading configs creates much
// garbage, but little memory stays in use: collecting at the default of 100 takes a third of the time.
const rareCollection = 400

// Kinds of data sets under a table: public ones, or their twins.
const realData, twinData = "real", "twin"

// ListedTable is a table in the list, on twins or, if it has results, on public data sets.
type ListedTable struct {
	Name   string          `json:"table"`
	Title  string          `json:"title"`
	Source string          `json:"source"`
	Trains bool            `json:"trains"`
	Data   string          `json:"data"`
	Shown  string          `json:"shown"` // the scale that unravel table NAME shows: the largest with runs
	Scales []tables.Counts `json:"scales"`
}

func (c *Command) list(ctx context.Context, s *ui.Streams) error {
	defer debug.SetGCPercent(debug.SetGCPercent(rareCollection))
	all, err := listTables(ctx)
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		return ui.WriteJSON(s.Out, all)
	case c.All:
		return PrintScales(s.Out, all)
	}
	return PrintTables(s.Out, all)
}

// Legend explains the columns of the list.
const Legend = `
SCALE   the largest that has runs, which unravel table NAME shows; "full" if it needs none
` + legend + `
unravel table NAME shows a table, unravel table --all all scales and data sets.
`

// legend explains the columns that the list shares with the list of scales.
const legend = `DATA    "twin": our drawings of a public data set; "own": other drawings; "-": no images
CELLS   numbers that the paper prints
OURS    of these, numbers with a value of ours; times do not count
AGREE   of these, within two standard errors of the printed one
RUNS    runs in the ledger
`

const scalesLegend = `
` + legend + `
DATA may also be "real": the public data set. POSSIBLE counts the CELLS in rows that the scale computes, and STALE the cells
from runs that the present code or config would make differently.
`

// PrintTables prints one line of at most [ui.PlainWidth] characters per table, and a legend.
func PrintTables(out io.Writer, all []ListedTable) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TABLE\tSCALE\tDATA\tCELLS\tOURS\tAGREE\tRUNS\tWHAT")
	for _, t := range all {
		if t.Data == realData {
			continue
		}
		n := t.Scales[max(0, slices.IndexFunc(t.Scales, func(n tables.Counts) bool { return n.Scale == t.Shown }))]
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%d\t%s\n", t.Name, n.Scale, t.Data, n.Printed, n.Computed, reproduced(n),
			n.Ledger, truncate(t.Title, titleWidth))
	}
	w.Flush()
	_, err := io.WriteString(out, Legend)
	return err
}

const titleWidth = 30 // part of [ui.PlainWidth] that the other columns leave for titles

// truncate truncates a text to at most limit characters, and marks the cut with "…".
func truncate(text string, limit int) string {
	letters := []rune(text)
	if len(letters) <= limit {
		return text
	}
	return strings.TrimRight(string(letters[:limit-1]), " ") + "…"
}

// reproduced formats the number of cells that agree, or a dash if no cell is compared: for times, and without runs.
func reproduced(n tables.Counts) string {
	if n.Computed == 0 {
		return "-"
	}
	return strconv.Itoa(n.Reproduced)
}

// PrintScales prints one line for each scale of each table, and a legend.
func PrintScales(out io.Writer, all []ListedTable) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TABLE\tSCALE\tDATA\tCELLS\tPOSSIBLE\tOURS\tAGREE\tSTALE\tRUNS\tWHAT\tSOURCE")
	for _, t := range all {
		title := t.Title + "\t" + t.Source
		for i, n := range t.Scales {
			name := t.Name
			if i > 0 {
				name, title = "", "\t"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%d\t%d\t%s\n", name, n.Scale, t.Data, n.Printed, n.Computable,
				n.Computed, reproduced(n), n.Stale, n.Ledger, title)
		}
	}
	w.Flush()
	_, err := io.WriteString(out, scalesLegend)
	return err
}

// listTables counts the cells of all tables by scale, from runs in the ledger and in the default folders.
func listTables(ctx context.Context) ([]ListedTable, error) {
	names, known := tables.Names(), countedTables()
	lists, errs := make([][]ListedTable, len(names)), make([]error, len(names))
	disk.Each(ctx, len(names), func(i int) {
		if c, ok := known[names[i]]; ok && !c.hasRuns() {
			lists[i] = c.List
			return
		}
		lists[i], errs[i] = listTable(ctx, names[i])
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, train.ErrStopped
	}
	return slices.Concat(lists...), nil
}

// listTable counts the cells of a table on twins, and on public data sets if they have results.
func listTable(ctx context.Context, name string) ([]ListedTable, error) {
	t, err := tables.Open(name)
	if err != nil {
		return nil, err
	}
	l, err := countTable(ctx, t, "-")
	if err != nil || !t.Trains() {
		return []ListedTable{l}, err
	}
	l.Data = "own"
	if twins, err := onTwins(t, tables.QuickScale); err != nil || !twins {
		return []ListedTable{l}, err
	}
	l.Data = twinData
	real, err := countTable(ctx, t.OnReal(), realData)
	if err != nil || !slices.ContainsFunc(real.Scales, func(n tables.Counts) bool { return n.Computed > 0 }) {
		return []ListedTable{l}, err
	}
	return []ListedTable{l, real}, nil
}

func countTable(ctx context.Context, t *tables.Table, data string) (l ListedTable, err error) {
	l = ListedTable{Name: t.Name, Title: t.Title, Source: t.Source, Trains: t.Trains(), Data: data,
		Shown: tables.FullScale}
	o := tables.Options{Runs: runsOf(t), Ledger: t.Ledger()}
	if l.Scales, err = t.Counts(ctx, o); err != nil || !t.Trains() && !t.Quotes() {
		return l, err
	}
	l.Shown, err = t.Held(o)
	l.Shown = cmp.Or(l.Shown, tables.QuickScale)
	return l, err
}

// countedFile has the counts of all tables from runs in the ledger, because counting takes seconds.
// `go test ./cli/internal/papers -run TestCountedTables -update` writes it.
//
//go:embed counted.json
var countedFile []byte

// countedList is the content of counted.json.
type countedList struct {
	Digest string                  `json:"digest"` // of the files that the counts depend on
	Tables map[string]countedTable `json:"tables"`
}

// countedTable has the counts of a table without folders of runs.
type countedTable struct {
	Folders []string      `json:"folders,omitempty"` // folders in runs/tables; runs there change the counts
	List    []ListedTable `json:"list"`
}

func (c countedTable) hasRuns() bool {
	for _, name := range c.Folders {
		if _, err := os.Stat(filepath.Join(filepath.FromSlash(tableRuns), name)); !os.IsNotExist(err) {
			return true
		}
	}
	return false
}

// countedTables returns the stored counts by table, or nil if configs, tables or records have changed since.
func countedTables() map[string]countedTable {
	var stored countedList
	digest, err := digestOfTables()
	if err != nil || json.Unmarshal(countedFile, &stored) != nil || stored.Digest != digest {
		return nil
	}
	return stored.Tables
}

// digestOfTables returns a digest of the experiments, the tables and the ledger of this program.
func digestOfTables() (string, error) {
	h := sha256.New()
	for _, name := range configs.Names() {
		text, err := configs.Read(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
	}
	for _, fsys := range []fs.FS{configs.Tables(), results.Files()} {
		err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(fsys, path)
			fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
