package index

import (
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

type stored struct {
	*Run
	folder int64 // time of the last change of the folder; 0: the folder may have changed after it was read
}

// unsound reports whether a run must always be read again: damaged, or with unreadable files.
func (s *stored) unsound() bool {
	return s.State == sweep.Damaged || s.State == sweep.Unfinished && s.Problem != ""
}

const (
	// exact is the maximum number of runs with a check of all files of each run. With more runs, a run counts as
	// unchanged if the time of its folder is unchanged. This works because a run replaces its files, which changes this
	// time.
	exact = 10000

	// settled is the minimum age of a folder's time. A later change then certainly gives a different time.
	settled = 2 * time.Second

	batch = 1000 // runs per write
)

// update reads new and changed folders, and removes runs without a folder.
func (x *Index) update(ctx context.Context) error {
	var known map[string]*stored
	loaded := make(chan struct{})
	as := func(f sweep.Folder) *stored { // known run, if it counts as unchanged without checking its files
		<-loaded
		if s := known[f.Name]; len(known) > exact && s != nil && s.folder == f.Changed && s.folder != 0 && !s.unsound() {
			return s
		}
		return nil
	}
	var folders []sweep.Folder
	var failure error
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		folders, failure = sweep.Look(ctx, x.dir, func(f sweep.Folder) bool { return as(f) != nil })
	}()
	err := x.load(ctx)
	known = make(map[string]*stored, len(x.runs))
	for i := range x.runs {
		known[x.runs[i].Dir] = &x.runs[i]
	}
	close(loaded)
	<-looked
	if err != nil {
		return err
	}
	if failure != nil {
		return failure
	}
	next := make([]stored, len(folders))
	disk.Each(ctx, len(folders), func(i int) {
		s := as(folders[i])
		if s == nil {
			if s = known[folders[i].Name]; s == nil || s.unsound() || s.Stamp != Stamp(x.path(s.Dir)) {
				return
			}
		}
		next[i] = *s
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var changed []int
	for i := range next {
		if next[i].Run == nil {
			changed = append(changed, i)
		}
		delete(known, folders[i].Name)
	}
	if err := x.forget(ctx, known); err != nil {
		return err
	}
	x.runs = next
	return x.readAgain(ctx, folders, changed)
}

func (x *Index) path(name string) string { return filepath.Join(x.dir, filepath.FromSlash(name)) }

// readAgain reads the folders of some runs again, and writes their content to the database.
func (x *Index) readAgain(ctx context.Context, folders []sweep.Folder, which []int) error {
	reader := &sweep.Reader{}
	done := 0
	for part := range slices.Chunk(which, batch) {
		entries, stamps := make([]sweep.Entry, len(part)), make([]string, len(part))
		begin := time.Now()
		disk.Each(ctx, len(part), func(i int) {
			path := x.path(folders[part[i]].Name)
			stamps[i] = Stamp(path) // computed before reading the files, so the next update sees a concurrent change
			entries[i] = reader.Read(path)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := x.transact(ctx, func(tx *sql.Tx) error {
			put, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
			if err != nil {
				return err
			}
			w := &writer{x.book, tx, put}
			for i, at := range part {
				f := folders[at]
				if begin.Sub(time.Unix(0, f.Changed)) < settled {
					f.Changed = 0
				}
				if x.runs[at], err = w.write(ctx, f, stamps[i], entries[i]); err != nil {
					return fmt.Errorf("%s: %w", entries[i].Dir, err)
				}
			}
			return nil
		}); err != nil {
			return err
		}
		done += len(part)
		progress.Report(ctx, "reading runs", int64(done), int64(len(which)))
	}
	return nil
}

// forget removes runs, and the values that only these runs use.
func (x *Index) forget(ctx context.Context, gone map[string]*stored) error {
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
	book *book
	tx   *sql.Tx
	put  *sql.Stmt
}

func (w *writer) write(ctx context.Context, f sweep.Folder, stamp string, e sweep.Entry) (s stored, err error) {
	r := runOf(f.Name, stamp, e)
	var kindID, namesID int64
	if e.State != sweep.Damaged {
		if kindID, err = w.book.kind(ctx, w.tx, e); err != nil {
			return s, err
		}
		r.Results = resultsOf(e)
		if namesID, err = w.book.named(ctx, w.tx, r.Results); err != nil {
			return s, err
		}
		r.Settings = Settings{w.book.kinds[kindID], e.Config.Name, strconv.FormatUint(e.Config.Seed, 10)}
		if namesID > 0 {
			r.Results.names = w.book.names[namesID]
		}
	}
	machineID, err := w.book.machine(ctx, w.tx, machine{r.Version, r.Machine})
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
	sum := b.sums.of([]byte(r.Dir), facts, []byte(numbers), f.Changed, b.kinds[kindID], b.names[namesID], b.machines[machineID])
	_, err = w.put.ExecContext(ctx, r.Dir, f.Changed, kindID, namesID, machineID, string(facts), numbers, sum)
	return stored{r, f.Changed}, err
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
		if sum != x.book.sums.of(dir, facts, numbers, folder, kind, names, m) {
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
		x.runs = append(x.runs, stored{r, folder})
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
	var wrong [3]error
	r.Seconds, wrong[0] = strconv.ParseFloat(f.number(), 64)
	r.Epochs, wrong[1] = strconv.Atoi(f.number())
	r.Steps, wrong[2] = strconv.Atoi(f.number())
	return !f.bad && r.State != "" && errors.Join(wrong[:]...) == nil
}

// fields is the rest of a JSON array of strings and numbers without spaces.
type fields struct {
	rest string
	bad  bool
}

func (f *fields) text() (text string) {
	if len(f.rest) < 2 || f.rest[1] != '"' {
		f.bad = true
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
		f.bad = true
		return ""
	}
	quoted := f.rest[1 : end+1]
	f.rest = f.rest[end+1:]
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	f.bad = json.Unmarshal([]byte(quoted), &text) != nil || f.bad
	return text
}

func (f *fields) number() string {
	if len(f.rest) < 2 {
		f.bad = true
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
