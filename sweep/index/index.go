// Package index keeps an SQLite database of run folders: their settings, results, durations and program versions. The
// folders are authoritative; the database can be removed at any time and is built again from them.
package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/unravel-ml/unravel/rundir"
	"github.com/unravel-ml/unravel/sweep"
	"github.com/unravel-ml/unravel/train"
)

// File is the name of the database in a folder of runs.
const File = "runs.sqlite"

// version is the version of the schema; a database of another version is built again.
const version = 1

// application is SQLite's application_id of an index of runs. The first versions lack it.
const application = 0x756e7276 // "unrv"

// ErrForeign is returned for a file in place of the database that Unravel did not make.
var ErrForeign = errors.New("it is no index of runs, and is left alone; move it away, or name another folder")

const schema = `
CREATE TABLE runs (
	dir TEXT PRIMARY KEY, stamp TEXT NOT NULL, name TEXT, state TEXT NOT NULL, problem TEXT, hash TEXT,
	model TEXT, dataset TEXT, seed INTEGER, begun TEXT, ended TEXT, seconds REAL, epochs INTEGER, steps INTEGER, version TEXT,
	os TEXT, arch TEXT, kernels TEXT, cores INTEGER, threads INTEGER, go TEXT
) STRICT;
CREATE TABLE settings (dir TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (dir, key)) STRICT, WITHOUT ROWID;
CREATE TABLE results (dir TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (dir, name)) STRICT, WITHOUT ROWID;
`

// Index is an open database.
type Index struct {
	db  *sql.DB
	dir string
}

// Open opens the database of a folder, updated to the runs in it. A damaged database is built again; if the folder is not
// writable, it is built in memory. Another file in its place gives [ErrForeign].
func Open(ctx context.Context, dir string) (*Index, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", dir)
	}
	path := filepath.Join(dir, File)
	for _, try := range []func() (*Index, error){
		func() (*Index, error) { return open(ctx, dir, path) },
		func() (*Index, error) {
			if err := discard(ctx, dir, path); err != nil {
				return nil, err
			}
			return open(ctx, dir, path)
		},
		func() (*Index, error) { return open(ctx, dir, ":memory:") },
	} {
		var x *Index
		if x, err = try(); err == nil {
			return x, nil
		}
		if ctx.Err() != nil {
			return nil, train.ErrStopped
		}
		if errors.Is(err, ErrForeign) {
			return nil, fmt.Errorf("%s: %w", path, ErrForeign)
		}
	}
	return nil, fmt.Errorf("index of %s: %w", dir, err)
}

// discard removes a database that cannot be used.
func discard(ctx context.Context, dir, path string) error {
	unlock, err := rundir.Lock(ctx, dir)
	if err != nil {
		return err
	}
	if err = damaged(path); err == nil {
		err = os.Remove(path)
		_ = os.Remove(path + "-journal") // it need not be there
	}
	return errors.Join(err, unlock())
}

// damaged returns nil if a file begins as a database of ours, with SQLite's header and our mark, and ErrForeign if not.
func damaged(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	const magic, mark = "SQLite format 3\x00", 68
	header := make([]byte, mark+4)
	if _, err := io.ReadFull(f, header); err != nil || !info.Mode().IsRegular() ||
		string(header[:len(magic)]) != magic || binary.BigEndian.Uint32(header[mark:]) != application {
		return ErrForeign
	}
	return nil
}

// escapes quotes paths in the name of a database.
var escapes = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23")

func open(ctx context.Context, dir, path string) (x *Index, err error) {
	db, err := sql.Open("sqlite", "file:"+escapes.Replace(path)+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // a database in memory belongs to its connection
	x = &Index{db, dir}
	if err = x.prepare(ctx); err == nil {
		err = x.update(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return x, nil
}

// Close closes the database.
func (x *Index) Close() error { return x.db.Close() }

// prepare makes the missing tables in a database that is empty or ours.
func (x *Index) prepare(ctx context.Context) error {
	return x.transact(ctx, func(tx *sql.Tx) error {
		var mark, have, tables, others, ours int
		for query, into := range map[string]*int{
			"PRAGMA application_id": &mark, "PRAGMA user_version": &have,
			"SELECT count(*) FROM sqlite_master": &tables,
			"SELECT count(*) FROM sqlite_master WHERE name NOT IN ('runs', 'settings', 'results') AND name NOT LIKE 'sqlite_%'": &others,
			"SELECT count(*) FROM pragma_table_info('runs') WHERE name IN ('dir', 'stamp', 'hash', 'kernels')":                  &ours,
		} {
			if err := tx.QueryRowContext(ctx, query).Scan(into); err != nil {
				return err
			}
		}
		empty := mark == 0 && have == 0 && tables == 0
		first := mark == 0 && have == 1 && others == 0 && ours == 4
		switch {
		case mark == application && have == version:
			return nil
		case mark != application && !empty && !first:
			return ErrForeign
		case !first:
			for _, table := range []string{"runs", "settings", "results"} {
				if _, err := tx.ExecContext(ctx, "DROP TABLE IF EXISTS "+table); err != nil {
					return err
				}
			}
			if _, err := tx.ExecContext(ctx, schema); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", version, application))
		return err
	})
}

// transact runs a function in a transaction.
func (x *Index) transact(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// update reads new and changed folders, and removes the runs of missing ones.
func (x *Index) update(ctx context.Context) error {
	stamps, err := x.stamps(ctx)
	if err != nil {
		return err
	}
	folders, err := sweep.Folders(x.dir)
	if err != nil {
		return err
	}
	return x.transact(ctx, func(tx *sql.Tx) error {
		for _, name := range folders {
			path := filepath.Join(x.dir, filepath.FromSlash(name))
			stamp := Stamp(path)
			if stamps[name] == stamp {
				delete(stamps, name)
				continue
			}
			delete(stamps, name)
			if err := forget(ctx, tx, name); err != nil {
				return err
			}
			if err := add(ctx, tx, name, stamp, sweep.Read(path)); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		for gone := range stamps {
			if err := forget(ctx, tx, gone); err != nil {
				return err
			}
		}
		return nil
	})
}

// stamps returns the stamps of the runs in the database. Damaged runs, which may have parts that another program knows, and others with
// files that could not be read have none: they are read again every time.
func (x *Index) stamps(ctx context.Context) (map[string]string, error) {
	rows, err := x.db.QueryContext(ctx, "SELECT dir, stamp, state, problem FROM runs")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	stamps := map[string]string{}
	for rows.Next() {
		var dir, stamp, state, problem string
		if err := rows.Scan(&dir, &stamp, &state, &problem); err != nil {
			return nil, err
		}
		if state == string(sweep.Damaged) || state == string(sweep.Unfinished) && problem != "" {
			stamp = ""
		}
		stamps[dir] = stamp
	}
	return stamps, rows.Err()
}

// Stamp returns a text that changes when a file of a run's folder that [Read] and the database read changes.
func Stamp(path string) string {
	var b strings.Builder
	for _, name := range []string{rundir.Config, rundir.RecordFile, rundir.MetricsFile, rundir.FitFile} {
		if info, err := os.Stat(filepath.Join(path, name)); err == nil {
			fmt.Fprintf(&b, "%d %d ", info.Size(), info.ModTime().UnixNano())
		} else {
			b.WriteString("- ")
		}
	}
	return b.String()
}

func forget(ctx context.Context, tx *sql.Tx, dir string) error {
	for _, table := range []string{"runs", "settings", "results"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE dir = ?", dir); err != nil {
			return err
		}
	}
	return nil
}

// add writes the run of a folder.
func add(ctx context.Context, tx *sql.Tx, dir, stamp string, e sweep.Entry) error {
	problem := ""
	if e.Problem != nil {
		problem = e.Problem.Error()
	}
	r := e.Record
	if r == nil {
		r = &rundir.Record{}
	}
	begun, ended := times(r)
	if _, err := tx.ExecContext(ctx, "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		dir, stamp, e.Config.Name, string(stateOf(e)), problem, e.Hash, e.Config.Model.Name, e.Config.Dataset.Name, int64(e.Config.Seed),
		begun, ended, r.Seconds, r.Epochs, r.Steps, r.Version,
		r.Machine.OS, r.Machine.Arch, r.Machine.Kernels, r.Machine.Cores, r.Machine.Threads, r.Machine.Go); err != nil {
		return err
	}
	if e.State == sweep.Damaged {
		return nil
	}
	settings, err := settingsOf(e.Config)
	if err != nil {
		return err
	}
	for _, s := range settings {
		if _, err := tx.ExecContext(ctx, "INSERT INTO settings VALUES (?, ?, ?)", dir, s.Key, s.Value); err != nil {
			return err
		}
	}
	for _, v := range resultsOf(e) {
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO results VALUES (?, ?, ?)", dir, v.name, v.value); err != nil {
			return err
		}
	}
	return nil
}

const timeLayout = "2006-01-02T15:04:05Z"
