package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// schema stores shared values once: pairs of a key and a value, lists of pairs, lists of names, and machines. The data
// of a run are one JSON array, because reading columns is slower than reading text. The views show each run with all
// its values.
const schema = `
CREATE TABLE pairs (id INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (key, value)) STRICT;
CREATE TABLE kinds (id INTEGER PRIMARY KEY, pairs TEXT NOT NULL UNIQUE, model TEXT, dataset TEXT) STRICT;
CREATE TABLE names (id INTEGER PRIMARY KEY, list TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE machines (id INTEGER PRIMARY KEY, version TEXT NOT NULL, os TEXT NOT NULL, arch TEXT NOT NULL, kernels TEXT NOT NULL,
	cores INTEGER NOT NULL, threads INTEGER NOT NULL, go TEXT NOT NULL, UNIQUE (version, os, arch, kernels, cores, threads, go)) STRICT;
CREATE TABLE entries (
	dir TEXT PRIMARY KEY, folder INTEGER NOT NULL, kind INTEGER NOT NULL, named INTEGER NOT NULL, machine INTEGER NOT NULL,
	facts TEXT NOT NULL, numbers TEXT NOT NULL, sum INTEGER NOT NULL
) STRICT;
CREATE VIEW runs AS SELECT dir, facts ->> 4 AS name, facts ->> 1 AS state, facts ->> 2 AS problem, facts ->> 3 AS hash, model, dataset,
	CAST(facts ->> 5 AS INTEGER) AS seed, facts ->> 6 AS begun, facts ->> 7 AS ended, facts ->> 8 AS seconds, facts ->> 9 AS epochs, facts ->> 10 AS steps,
	version, os, arch, kernels, cores, threads, go
	FROM entries LEFT JOIN kinds ON kinds.id = kind LEFT JOIN machines ON machines.id = machine;
CREATE VIEW settings AS
	SELECT dir, 'name' AS key, facts ->> 4 AS value FROM entries WHERE kind > 0 UNION ALL
	SELECT dir, 'seed', facts ->> 5 FROM entries WHERE kind > 0 UNION ALL
	SELECT dir, pairs.key, pairs.value FROM entries JOIN kinds ON kinds.id = kind, json_each(kinds.pairs) AS one JOIN pairs ON pairs.id = one.value;
CREATE VIEW results AS SELECT dir, one.value AS name, numbers ->> one.key AS value
	FROM entries JOIN names ON names.id = named, json_each(names.list) AS one;
`

// prepare creates the missing tables in a database that is empty or ours.
func (x *Index) prepare(ctx context.Context) error {
	return x.transact(ctx, func(tx *sql.Tx) error {
		var mark, fileVersion, tables, foreign, ours int
		for query, target := range map[string]*int{
			"PRAGMA application_id": &mark, "PRAGMA user_version": &fileVersion,
			"SELECT count(*) FROM sqlite_master": &tables,
			"SELECT count(*) FROM sqlite_master WHERE name NOT IN ('runs', 'settings', 'results') AND name NOT LIKE 'sqlite_%'": &foreign,
			"SELECT count(*) FROM pragma_table_info('runs') WHERE name IN ('dir', 'stamp', 'hash', 'kernels')":                  &ours,
		} {
			if err := tx.QueryRowContext(ctx, query).Scan(target); err != nil {
				return err
			}
		}
		empty := mark == 0 && fileVersion == 0 && tables == 0
		firstVersion := mark == 0 && fileVersion == 1 && foreign == 0 && ours == 4
		switch {
		case mark == application && fileVersion == version:
			return nil
		case mark != application && !empty && !firstVersion:
			return errForeign
		}
		if err := clear(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", version, application))
		return err
	})
}

// clear drops the tables of other versions.
func clear(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'")
	if err != nil {
		return err
	}
	var drops []string
	for rows.Next() {
		var kind, name string
		if err := rows.Scan(&kind, &name); err != nil {
			return errors.Join(err, rows.Close())
		}
		drops = append(drops, fmt.Sprintf("DROP %s IF EXISTS %q", kind, name))
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, drop := range drops {
		if _, err := tx.ExecContext(ctx, drop); err != nil {
			return err
		}
	}
	return nil
}

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
