package index

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/content"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/progress"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

type storedRun struct {
	*Run
	folder int64 // time of the last change of the folder; 0: the folder may have changed after it was read
}

// unsound reports whether a run must always be read again: damaged, or with unreadable files.
func (s *storedRun) unsound() bool {
	return s.State == sweep.Damaged || s.State == sweep.Unfinished && s.Problem != ""
}

const (
	// maxExactRuns is the maximum number of runs with a check of all files of each run. With more runs, a run counts as
	// unchanged if the time of its folder is unchanged. This works because a run replaces its files, which changes this
	// time.
	maxExactRuns = 10000

	// settledAge is the minimum age of a folder's time. A later change then certainly gives a different time.
	settledAge = 2 * time.Second

	batchSize = 1000 // runs per write
)

// update reads new and changed folders, and removes runs without a folder.
func (x *Index) update(ctx context.Context) error {
	folders, known, err := x.loadAndLook(ctx)
	if err != nil {
		return err
	}
	runs := make([]storedRun, len(folders))
	disk.Each(ctx, len(folders), func(i int) {
		s := unchanged(known, folders[i])
		if s == nil {
			if s = known[folders[i].Name]; s == nil || s.unsound() || s.Stamp != Stamp(x.path(s.Dir)) {
				return
			}
		}
		runs[i] = *s
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var changed []int
	for i := range runs {
		if runs[i].Run == nil {
			changed = append(changed, i)
		}
		delete(known, folders[i].Name)
	}
	if err := x.forget(ctx, known); err != nil {
		return err
	}
	x.runs = runs
	return x.readAgain(ctx, folders, changed)
}

// loadAndLook loads the stored runs, by folder in known, and looks for folders of runs at the same time.
func (x *Index) loadAndLook(ctx context.Context) (folders []sweep.Folder, known map[string]*storedRun, err error) {
	loaded, looked := make(chan struct{}), make(chan struct{})
	var lookErr error
	go func() {
		defer close(looked)
		folders, lookErr = sweep.Look(ctx, x.dir, func(f sweep.Folder) bool {
			<-loaded
			return unchanged(known, f) != nil
		})
	}()
	err = x.load(ctx)
	known = make(map[string]*storedRun, len(x.runs))
	for i := range x.runs {
		known[x.runs[i].Dir] = &x.runs[i]
	}
	close(loaded)
	<-looked
	return folders, known, cmp.Or(err, lookErr)
}

// unchanged returns the stored run of a folder if it counts as unchanged without a check of its files, or nil.
func unchanged(known map[string]*storedRun, f sweep.Folder) *storedRun {
	s := known[f.Name]
	if len(known) <= maxExactRuns || s == nil || s.folder != f.Changed || s.folder == 0 || s.unsound() {
		return nil
	}
	return s
}

func (x *Index) path(name string) string { return filepath.Join(x.dir, filepath.FromSlash(name)) }

// readAgain reads the folders of some runs again, and writes their content to the database.
func (x *Index) readAgain(ctx context.Context, folders []sweep.Folder, indices []int) error {
	reader := &sweep.Reader{}
	finished := 0
	for part := range slices.Chunk(indices, batchSize) {
		entries, stamps := make([]sweep.Entry, len(part)), make([]string, len(part))
		start := time.Now()
		disk.Each(ctx, len(part), func(i int) {
			path := x.path(folders[part[i]].Name)
			stamps[i] = Stamp(path) // computed before reading the files, so the next update sees a concurrent change
			entries[i] = reader.Read(path)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := x.transact(ctx, func(tx *sql.Tx) error {
			insert, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
			if err != nil {
				return err
			}
			w := &writer{x.book, tx, insert}
			for i, index := range part {
				f := folders[index]
				if start.Sub(time.Unix(0, f.Changed)) < settledAge {
					f.Changed = 0
				}
				if x.runs[index], err = w.write(ctx, f, stamps[i], entries[i]); err != nil {
					return fmt.Errorf("%s: %w", entries[i].Dir, err)
				}
			}
			return nil
		}); err != nil {
			return err
		}
		finished += len(part)
		progress.Report(ctx, "reading runs", int64(finished), int64(len(indices)))
	}
	return nil
}

// forget removes runs, and the values that only these runs use.
func (x *Index) forget(ctx context.Context, gone map[string]*storedRun) error {
	if len(gone) == 0 {
		return nil
	}
	return x.transact(ctx, func(tx *sql.Tx) error {
		for dir := range gone {
			if _, err := tx.ExecContext(ctx, "DELETE FROM entries WHERE dir = ?", dir); err != nil {
				return err
			}
		}
		return nil
	})
}

// Stamp returns a text that changes with any file in a run's folder that [Read] or the database reads. Inode times also
// reveal a change whose author restored the modification time.
func Stamp(path string) string {
	var b strings.Builder
	for _, name := range []string{rundir.Config, rundir.RecordFile, rundir.MetricsFile, rundir.FitFile} {
		if info, err := os.Stat(filepath.Join(path, name)); err == nil {
			fmt.Fprintf(&b, "%x %x %x ", info.Size(), info.ModTime().UnixNano(), content.Changed(info))
		} else {
			b.WriteString("- ")
		}
	}
	return b.String()
}

const timeLayout = "2006-01-02T15:04:05Z"

type writer struct {
	book   *book
	tx     *sql.Tx
	insert *sql.Stmt
}

func (w *writer) write(ctx context.Context, f sweep.Folder, stamp string, e sweep.Entry) (s storedRun, err error) {
	r := runOf(f.Name, stamp, e)
	var kindID, namesID int64
	if e.State != sweep.Damaged {
		if kindID, err = w.book.kindID(ctx, w.tx, e); err != nil {
			return s, err
		}
		r.Results = resultsOf(e)
		if namesID, err = w.book.namesID(ctx, w.tx, r.Results); err != nil {
			return s, err
		}
		r.Settings = Settings{w.book.kinds[kindID], e.Config.Name, strconv.FormatUint(e.Config.Seed, 10)}
		if namesID > 0 {
			r.Results.names = w.book.names[namesID]
		}
	}
	machineID, err := w.book.machineID(ctx, w.tx, machine{r.Version, r.Machine})
	if err != nil {
		return s, err
	}
	facts, err := json.Marshal([]any{stamp, string(r.State), r.Problem, r.Hash, e.Config.Name, strconv.FormatUint(e.Config.Seed, 10), r.Begun, r.Ended,
		r.Seconds, r.Epochs, r.Steps})
	if err != nil {
		return s, err
	}
	numbers := "[" + r.Results.values + "]"
	b := w.book
	sum := b.sums.rowSum([]byte(r.Dir), facts, []byte(numbers), f.Changed, b.kinds[kindID], b.names[namesID], b.machines[machineID])
	_, err = w.insert.ExecContext(ctx, r.Dir, f.Changed, kindID, namesID, machineID, string(facts), numbers, sum)
	return storedRun{r, f.Changed}, err
}

func (x *Index) load(ctx context.Context) error {
	x.book, x.runs = newBook(), nil
	if err := x.book.load(ctx, x); err != nil {
		return err
	}
	return x.read(ctx, "SELECT dir, folder, kind, named, machine, facts, numbers, sum FROM entries", func(rows *sql.Rows) error {
		var dir, facts, numbers sql.RawBytes
		var folder, kindID, namesID, machineID, sum int64
		if err := rows.Scan(&dir, &folder, &kindID, &namesID, &machineID, &facts, &numbers, &sum); err != nil {
			return err
		}
		m, kind, names := x.book.machines[machineID], x.book.kinds[kindID], x.book.names[namesID]
		if m == nil || kindID > 0 && kind == nil || namesID > 0 && names == nil {
			return nil // the next update reads the run again
		}
		if sum != x.book.sums.rowSum(dir, facts, numbers, folder, kind, names, m) {
			return fmt.Errorf("the row of %s is not as it was written", dir)
		}
		text := string(slices.Concat(dir, facts, numbers)) // one allocation for all texts
		r := &Run{Dir: text[:len(dir)], Version: m.version, Machine: m.Machine}
		var name, seed string
		if !r.parse(text[len(dir):len(dir)+len(facts)], &name, &seed) {
			return nil
		}
		if kind != nil {
			r.Settings = Settings{kind, name, seed}
		}
		if names != nil {
			r.Results = Results{names, strings.Trim(text[len(dir)+len(facts):], "[]")}
		}
		x.runs = append(x.runs, storedRun{r, folder})
		return nil
	})
}

// states are the states by name; runs share these strings.
var states = map[string]sweep.State{
	string(sweep.Finished): sweep.Finished, string(sweep.Unfinished): sweep.Unfinished, string(sweep.Failed): sweep.Failed, string(sweep.Damaged): sweep.Damaged,
}

// parse parses the data of a row. It returns false if the text is invalid.
func (r *Run) parse(facts string, name, seed *string) bool {
	var state string
	f := fields{rest: facts}
	for _, text := range []*string{&r.Stamp, &state, &r.Problem, &r.Hash, name, seed, &r.Begun, &r.Ended} {
		*text = f.text()
	}
	r.State = states[state]
	var errs [3]error
	r.Seconds, errs[0] = strconv.ParseFloat(f.number(), 64)
	r.Epochs, errs[1] = strconv.Atoi(f.number())
	r.Steps, errs[2] = strconv.Atoi(f.number())
	return !f.invalid && r.State != "" && errors.Join(errs[:]...) == nil
}

// fields is the rest of a JSON array of strings and numbers without spaces.
type fields struct {
	rest    string
	invalid bool
}

func (f *fields) text() (text string) {
	if len(f.rest) < 2 || f.rest[1] != '"' {
		f.invalid = true
		return ""
	}
	end := 2
	for end < len(f.rest) && f.rest[end] != '"' {
		if f.rest[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(f.rest) {
		f.invalid = true
		return ""
	}
	quoted := f.rest[1 : end+1]
	f.rest = f.rest[end+1:]
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	f.invalid = json.Unmarshal([]byte(quoted), &text) != nil || f.invalid
	return text
}

func (f *fields) number() string {
	if len(f.rest) < 2 {
		f.invalid = true
		return ""
	}
	end := 1
	for end < len(f.rest) && f.rest[end] != ',' && f.rest[end] != ']' {
		end++
	}
	text := f.rest[1:end]
	f.rest = f.rest[end:]
	return text
}
