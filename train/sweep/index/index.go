// Package index maintains an SQLite database of run folders: their settings, results, durations and program versions.
// The folders are authoritative: if the database is removed, it is rebuilt from them.
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
	"slices"
	"strings"

	"modernc.org/sqlite" // the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// File is the name of the database in a folder of runs.
const File = "runs.sqlite"

const version = 3 // version of the schema; a database of another version is rebuilt

// application is SQLite's application_id of an index of runs. The first versions did not set it.
const application = 0x756e7276 // "unrv"

// errForeign is the error of [Open] if the database file belongs to another program. Move the file away, or name
// another folder.
var errForeign = errors.New("it is not an index of runs, and stays unchanged; move it away, or name another folder")

// Index is an open database.
type Index struct {
	db   *sql.DB
	dir  string
	book *book       // content of the database
	runs []storedRun // sorted by folder
}

// Open opens the database of a folder, and updates it to the runs in the folder. It rebuilds a damaged database. If the
// folder is not writable, it builds the database in memory. If another program created the file, the error is
// errForeign.
func Open(ctx context.Context, dir string) (*Index, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", dir)
	}
	path := filepath.Join(dir, File)
	x, err := open(ctx, dir, path)
	if err != nil && ctx.Err() == nil && !unwritable(err) { // also for errForeign: a bit of our mark may have flipped
		if err = discard(ctx, dir, path); err == nil {
			x, err = open(ctx, dir, path)
		}
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, errForeign) {
		x, err = open(ctx, dir, ":memory:")
	}
	switch {
	case err == nil:
		return x, nil
	case ctx.Err() != nil:
		return nil, train.ErrStopped
	case errors.Is(err, errForeign):
		return nil, fmt.Errorf("%s: %w", path, errForeign)
	}
	return nil, fmt.Errorf("index of %s: %w", dir, err)
}

// unwritable reports whether the database may be valid but cannot be written, for example on a full disk.
func unwritable(err error) bool {
	failed, ok := errors.AsType[*sqlite.Error](err)
	return ok && slices.Contains([]int{sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}, failed.Code()&0xff)
}

func discard(ctx context.Context, dir, path string) error {
	unlock, err := rundir.Lock(ctx, dir)
	if err != nil {
		return err
	}
	if err = checkMark(path); err == nil {
		err = os.Remove(path)
		_ = os.Remove(path + "-journal") // the file may not exist
	}
	return errors.Join(err, unlock())
}

// checkMark returns nil for SQLite's header and our mark, with at most one wrong byte, and errForeign otherwise.
func checkMark(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	f, err := disk.Open(path)
	if err != nil {
		return errors.Join(errForeign, err)
	}
	defer f.Close() // only read
	const magic, mark = "SQLite format 3\x00", 68
	header := make([]byte, mark+4)
	if _, err := io.ReadFull(f, header); err != nil || !info.Mode().IsRegular() {
		return errForeign
	}
	wrong, expected := 0, binary.BigEndian.AppendUint32([]byte(magic), application)
	for i, b := range slices.Concat(header[:len(magic)], header[mark:]) {
		if b != expected[i] {
			wrong++
		}
	}
	if wrong > 1 {
		return errForeign
	}
	return nil
}

var escapes = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23") // quotes paths in the name of a database

func open(ctx context.Context, dir, path string) (x *Index, err error) {
	db, err := sql.Open("sqlite", "file:"+escapes.Replace(path)+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // a database in memory belongs to one connection
	x = &Index{db: db, dir: dir}
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
