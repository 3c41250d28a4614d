package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unique"

	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// book holds the values that the runs of a database share, by number.
type book struct {
	pairs     map[sweep.Setting]int64
	kinds     map[int64]*kind
	kindIDs   map[string]int64 // by the text of their pairs
	names     map[int64]*names
	nameIDs   map[string]int64 // by their text
	machines  map[int64]*machine
	machIDs   map[machine]int64
	keys      map[string]*names        // names of settings, by their text
	kindCache map[*sweep.Setting]int64 // by the address of the first setting of a list
	sums      sums
}

// machine is the machine and the version of the program that trained a run.
type machine struct {
	version string
	rundir.Machine
}

func newBook() *book {
	return &book{map[sweep.Setting]int64{}, map[int64]*kind{}, map[string]int64{}, map[int64]*names{}, map[string]int64{},
		map[int64]*machine{}, map[machine]int64{}, map[string]*names{}, map[*sweep.Setting]int64{}, sums{shared: map[any]uint32{}}}
}

func (x *Index) read(ctx context.Context, query string, scan func(*sql.Rows) error) error {
	rows, err := x.db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (b *book) load(ctx context.Context, x *Index) error {
	type pair struct {
		key   string
		value unique.Handle[string]
	}
	pairs := map[int64]pair{}
	if err := x.read(ctx, "SELECT id, key, value FROM pairs", func(rows *sql.Rows) error {
		var id int64
		var s sweep.Setting
		err := rows.Scan(&id, &s.Key, &s.Value)
		b.pairs[s], pairs[id] = id, pair{s.Key, unique.Make(s.Value)}
		return err
	}); err != nil {
		return err
	}
	if err := x.read(ctx, "SELECT id, pairs FROM kinds", func(rows *sql.Rows) error {
		var id int64
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		var keys []string
		var values []unique.Handle[string]
		for number := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
			n, err := strconv.ParseInt(number, 10, 64)
			p, ok := pairs[n]
			if err != nil || !ok {
				return fmt.Errorf("the kind %d has no pair %q", id, number)
			}
			keys, values = append(keys, p.key), append(values, p.value)
		}
		b.kinds[id], b.kindIDs[text] = b.kindOf(keys, values), id
		return nil
	}); err != nil {
		return err
	}
	if err := x.read(ctx, "SELECT id, list FROM names", func(rows *sql.Rows) error {
		var id int64
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		var list []string
		err := json.Unmarshal([]byte(text), &list)
		b.names[id], b.nameIDs[text] = newNames(list), id
		return err
	}); err != nil {
		return err
	}
	return x.read(ctx, "SELECT id, version, os, arch, kernels, cores, threads, go FROM machines", func(rows *sql.Rows) error {
		var id int64
		m := &machine{}
		err := rows.Scan(&id, &m.version, &m.OS, &m.Arch, &m.Kernels, &m.Cores, &m.Threads, &m.Go)
		b.machines[id], b.machIDs[*m] = m, id
		return err
	})
}

// kindOf returns the kind with the given values of sorted keys, with positions for name and seed.
func (b *book) kindOf(keys []string, values []unique.Handle[string]) *kind {
	for _, key := range []string{nameKey, seedKey} {
		position, _ := slices.BinarySearch(keys, key)
		keys, values = slices.Insert(keys, position, key), slices.Insert(values, position, unique.Make(""))
	}
	text := strings.Join(keys, "\n")
	if b.keys[text] == nil {
		b.keys[text] = newNames(keys)
	}
	return &kind{b.keys[text], values}
}

// row is a row of a table. Its method number inserts it unless an equal row exists.
type row struct {
	table, columns, key string // key is the WHERE condition of the row
	values              []any  // values of the columns
	keys                int    // number of leading values in the condition
}

// number returns the number of a row. It inserts the row if it is missing.
func (r row) number(ctx context.Context, tx *sql.Tx) (id int64, err error) {
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(r.values)), ", ")
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT OR IGNORE INTO %s (%s) VALUES (%s)", r.table, r.columns, marks), r.values...); err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, fmt.Sprintf("SELECT id FROM %s WHERE %s", r.table, r.key), r.values[:r.keys]...).Scan(&id)
	return id, err
}

// kindID returns the number of the kind of an entry, or 0 without settings. It inserts the kind if it is new.
func (b *book) kindID(ctx context.Context, tx *sql.Tx, e sweep.Entry) (int64, error) {
	list, err := e.Settings()
	if err != nil || len(list) == 0 {
		return 0, err
	}
	if id := b.kindCache[&list[0]]; id > 0 {
		return id, nil
	}
	firstSetting := &list[0]
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b sweep.Setting) int { return strings.Compare(a.Key, b.Key) })
	list = slices.CompactFunc(list, func(a, b sweep.Setting) bool { return a.Key == b.Key })
	text := []byte{'['}
	var keys []string
	var values []unique.Handle[string]
	for _, s := range list {
		id := b.pairs[s]
		if id == 0 {
			if id, err = (row{"pairs", "key, value", "key = ? AND value = ?", []any{s.Key, s.Value}, 2}).number(ctx, tx); err != nil {
				return 0, err
			}
			b.pairs[s] = id
		}
		keys, values = append(keys, s.Key), append(values, unique.Make(s.Value))
		text = append(strconv.AppendInt(text, id, 10), ',')
	}
	text[len(text)-1] = ']'
	id := b.kindIDs[string(text)]
	if id == 0 {
		if id, err = (row{"kinds", "pairs, model, dataset", "pairs = ?", []any{string(text), e.Config.Model.Name, e.Config.Dataset.Name}, 1}).number(ctx, tx); err != nil {
			return 0, err
		}
		b.kinds[id], b.kindIDs[string(text)] = b.kindOf(keys, values), id
	}
	b.kindCache[firstSetting] = id
	return id, nil
}

// namesID returns the number of the list of a run's result names. It inserts the list if it is new.
func (b *book) namesID(ctx context.Context, tx *sql.Tx, r Results) (int64, error) {
	if r.Len() == 0 {
		return 0, nil
	}
	text, err := json.Marshal(r.names.list)
	if err != nil {
		return 0, err
	}
	id := b.nameIDs[string(text)]
	if id == 0 {
		if id, err = (row{"names", "list", "list = ?", []any{string(text)}, 1}).number(ctx, tx); err != nil {
			return 0, err
		}
		b.names[id], b.nameIDs[string(text)] = r.names, id
	}
	return id, nil
}

func (b *book) machineID(ctx context.Context, tx *sql.Tx, m machine) (int64, error) {
	id := b.machIDs[m]
	if id == 0 {
		var err error
		if id, err = (row{"machines", "version, os, arch, kernels, cores, threads, go",
			"version = ? AND os = ? AND arch = ? AND kernels = ? AND cores = ? AND threads = ? AND go = ?",
			[]any{m.version, m.OS, m.Arch, m.Kernels, m.Cores, m.Threads, m.Go}, 7}).number(ctx, tx); err != nil {
			return 0, err
		}
		b.machines[id], b.machIDs[m] = &m, id
	}
	return id, nil
}
