package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/train"
)

// Files of a ledger end in Extension, or in Compressed if they are compressed by gzip.
const (
	Extension  = ".jsonl"
	Compressed = ".jsonl.gz"
)

// Book is what the files of one folder of the ledger say together.
type Book struct {
	runs       []*Run
	bySettings map[string]*Run
	byHash     map[string]*Run
	named      map[string]bool
	configs    map[string]string // texts, by ID

	lock  sync.Mutex
	words map[string]map[string]bool // of configs, by ID, as far as they were asked for
}

// Open reads the files of a folder of a ledger; a folder that is not there has none. Of two records of the same settings the one of
// the later generation counts, then that of more metrics, then that of the first file.
func Open(ledger fs.FS, folder string) (*Book, error) {
	b := &Book{bySettings: map[string]*Run{}, byHash: map[string]*Run{}, named: map[string]bool{}, configs: map[string]string{}, words: map[string]map[string]bool{}}
	var names []string
	for _, extension := range []string{Extension, Compressed} {
		found, err := fs.Glob(ledger, path.Join(folder, "*"+extension))
		if err != nil {
			return nil, fmt.Errorf("ledger: folder %q: %w", folder, err)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	for _, name := range names {
		in, err := ledger.Open(name)
		if err != nil {
			return nil, err
		}
		f, err := Read(name, in)
		if err := errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
		b.add(f)
	}
	return b, nil
}

func (b *Book) add(f *File) {
	for _, c := range f.Configs {
		b.configs[c.ID] = c.YAML
	}
	for i := range f.Runs {
		r := &f.Runs[i]
		old := b.bySettings[r.Settings]
		switch {
		case old == nil:
			b.runs = append(b.runs, r)
		case old.Generation > r.Generation, old.Generation == r.Generation && len(old.Metrics) >= len(r.Metrics):
			continue
		default:
			b.runs[slices.Index(b.runs, old)] = r
			if b.byHash[old.Hash] == old {
				delete(b.byHash, old.Hash)
			}
		}
		b.bySettings[r.Settings], b.named[r.Name] = r, true
		if other := b.byHash[r.Hash]; r.Hash != "" && (other == nil || cmp.Less(other.Generation, r.Generation)) {
			b.byHash[r.Hash] = r
		}
	}
}

// Len returns the number of runs.
func (b *Book) Len() int {
	if b == nil {
		return 0
	}
	return len(b.runs)
}

// Runs lists the runs in the order of the files.
func (b *Book) Runs() []*Run {
	if b == nil {
		return nil
	}
	return b.runs
}

// Settings returns the run of what a table says of it; nil if there is none.
func (b *Book) Settings(digest string) *Run {
	if b == nil {
		return nil
	}
	return b.bySettings[digest]
}

// Hash returns the run of a config's hash; nil if there is none.
func (b *Book) Hash(hash string) *Run {
	if b == nil {
		return nil
	}
	return b.byHash[hash]
}

// Named reports whether there is a run of this name, whatever its config.
func (b *Book) Named(name string) bool { return b != nil && b.named[name] }

// Load returns the config of a run, with its name and seed.
func (b *Book) Load(r *Run) (train.Config, error) { return loadConfig(b.configs[r.Config], r) }

// Changed returns why the code of today would not give the run's bits; empty if it would.
func (b *Book) Changed(r *Run) string { return b.changed(r, Changes()) }

func (b *Book) changed(r *Run, changes []Change) string {
	return changed(r, changes, func() map[string]bool { return b.wordsOf(r.Config) })
}

// Changed returns why the code of today would not give the run's bits; empty if it would.
func (f *File) Changed(r *Run) string {
	return changed(r, Changes(), func() map[string]bool { return wordsOf(f.Config(r.Config)) })
}

// changed returns the first change after a run, of whose config these are the words, that touches it.
func changed(r *Run, changes []Change, words func() map[string]bool) string {
	for _, c := range changes {
		if c.Generation > r.Generation && c.touches(words) {
			return "trained by an earlier version: " + c.What
		}
	}
	return ""
}

// touches reports whether the change touches a config of these words.
func (c *Change) touches(words func() map[string]bool) bool {
	if len(c.Parts) == 0 {
		return true
	}
	found := 0
	for _, p := range c.Parts {
		if words()[p] {
			found++
		}
	}
	return found == len(c.Parts) || found > 0 && !c.All
}

// wordsOf returns the keys and values of a config.
func (b *Book) wordsOf(id string) map[string]bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	if known := b.words[id]; known != nil {
		return known
	}
	b.words[id] = wordsOf(b.configs[id])
	return b.words[id]
}

func wordsOf(yaml string) map[string]bool {
	words := map[string]bool{}
	if root, err := config.Parse("ledger", []byte(yaml)); err == nil {
		collect(root, words)
	}
	return words
}

func collect(n *config.Node, words map[string]bool) {
	for _, key := range n.Keys() {
		words[key] = true
	}
	if n.IsScalar() {
		words[n.Text()] = true
	}
	for _, item := range n.Items() {
		collect(item, words)
	}
}
