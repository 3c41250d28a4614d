package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/unravel-ml/unravel/internal/show"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train/sweep"
)

// tableEntry is a table in the answer of /api/tables.
type tableEntry struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Source  string   `json:"source"`
	Scales  []string `json:"scales"`
	Printed int      `json:"printed"` // number of cells with published values
	Trains  bool     `json:"trains"`  // rows come from runs; only the command computes other tables
	Command string   `json:"command"`
}

// tableAnswer is the answer of /api/table: a table, filled in from the runs in the folder.
type tableAnswer struct {
	tableEntry
	Scale    string          `json:"scale"`
	Summary  string          `json:"summary"`
	Finished int             `json:"finished"` // number of finished runs for the table at this scale
	Running  int             `json:"running"`
	Recorded int             `json:"recorded"` // number of other runs that the ledger has
	Needed   int             `json:"needed"`
	Third    string          `json:"third"` // meaning of the third number in a cell
	Groups   []show.Span     `json:"groups"`
	Heads    []show.Head     `json:"heads"`
	Lines    []show.Line     `json:"lines"`
	Notes    []show.Footnote `json:"notes"`
	Remarks  []string        `json:"remarks"`
}

type tableCache struct {
	answers
	hashes map[string][]string // hashes of the runs for a table, by name and scale
}

func entryOf(name string) (tableEntry, *tables.Table, error) {
	t, err := tables.Open(name)
	if err != nil {
		return tableEntry{}, nil, err
	}
	_, printed := t.Coverage()
	return tableEntry{Name: t.Name, Title: t.Title, Source: t.Source, Scales: t.Scales.Names(), Printed: printed,
		Trains: t.Trains(), Command: "unravel table " + t.Name}, t, nil
}

// tableList is the answer of /api/tables, which never changes.
var tableList = sync.OnceValues(func() (*content, error) {
	list := []tableEntry{}
	for _, name := range tables.Names() {
		e, _, err := entryOf(name)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return jsonContent(list)
})

func (s *Server) tablesData(w http.ResponseWriter, r *http.Request) error {
	c, err := tableList()
	if err != nil {
		return err
	}
	return c.send(w, r)
}

func (s *Server) tableData(w http.ResponseWriter, r *http.Request) error {
	name, scale := r.URL.Query().Get("name"), r.URL.Query().Get("scale")
	if !slices.Contains(tables.Names(), name) { // a name must not open an arbitrary file
		return notFound("there is no table of that name")
	}
	snap := s.runs.current()
	return s.tables.send(w, r, snap.content, name+" "+scale,
		func() (any, error) { return s.tables.table(r.Context(), s.runs, snap, name, scale) })
}

// table fills in a table from runs. It skips rows without runs: only the command computes them.
func (k *tableCache) table(ctx context.Context, runs *runs, snap *snapshot, name, scale string) (*tableAnswer, error) {
	e, t, err := entryOf(name)
	if err != nil {
		return nil, err
	}
	if scale == "" {
		scale = e.Scales[0]
	}
	if _, err := t.Scales.Find(scale); err != nil {
		return nil, badRequest("scale: " + err.Error())
	}
	a := &tableAnswer{tableEntry: e, Scale: scale}
	a.Command += " --scale " + scale
	needed, err := k.neededHashes(t, scale)
	if err != nil {
		return nil, err
	}
	folders := map[string]string{}
	states := map[string]sweep.State{}
	for _, run := range snap.list {
		if run.Hash == "" || run.base == sweep.Damaged || states[run.Hash] == sweep.Finished {
			continue
		}
		states[run.Hash] = run.progress.state
		folders[run.Hash] = runs.folder(run)
	}
	a.Needed = len(needed)
	for _, hash := range needed {
		switch states[hash] {
		case sweep.Finished:
			a.Finished++
		case sweep.Running:
			a.Running++
		}
	}
	if a.Finished == 0 { // no need to read a config
		folders = nil
	}
	r, err := t.Compute(ctx, tables.Options{Scale: scale, Folders: folders, RunsOnly: true, Ledger: t.Ledger()})
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	if r.Ledger != nil {
		a.Recorded = r.Ledger.Runs
	}
	v := show.Lines(r)
	a.Summary, a.Third, a.Groups, a.Heads, a.Lines, a.Notes, a.Remarks = r.Summary(), v.Third, v.Groups, v.Heads, v.Lines,
		v.Footnotes, v.Remarks
	return a, nil
}

// neededHashes returns the hashes of the runs for a table. They take a while to compute and never change.
func (k *tableCache) neededHashes(t *tables.Table, scale string) ([]string, error) {
	key := t.Name + " " + scale
	if list, ok := k.hashes[key]; ok || !t.Trains() {
		return list, nil
	}
	runs, err := t.Runs(scale)
	if err != nil {
		return nil, err
	}
	list := make([]string, len(runs))
	for i, run := range runs {
		list[i] = run.Hash
	}
	if k.hashes == nil {
		k.hashes = map[string][]string{}
	}
	k.hashes[key] = list
	return list, nil
}
