package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Extensions of the files of a ledger, without and with gzip.
const extension, compressed = ".jsonl", ".jsonl.gz"

// Book holds all runs and configs in one folder of the ledger. The zero value is empty.
type Book struct {
	runs       []*Run
	bySettings map[string]*Run
	byHash     map[string]*Run
	names      map[string]bool
	configs    map[string]configText // by ID
}

// Open reads the files in a folder of a ledger. For a missing folder, it returns an empty Book. If two records have the
// same settings, Open takes the one with the later generation, then the one with more metrics, then the one in the
// first file.
func Open(ledger fs.FS, folder string) (*Book, error) {
	b := &Book{bySettings: map[string]*Run{}, byHash: map[string]*Run{}, names: map[string]bool{},
		configs: map[string]configText{}}
	var names []string
	for _, extension := range []string{extension, compressed} {
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
		b.configs[c.ID] = textOf(c.YAML)
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
		b.bySettings[r.Settings], b.names[r.Name] = r, true
		if other := b.byHash[r.Hash]; r.Hash != "" && (other == nil || cmp.Less(other.Generation, r.Generation)) {
			b.byHash[r.Hash] = r
		}
	}
}

// Len returns the number of runs.
func (b *Book) Len() int { return len(b.runs) }

// Runs returns the runs, file by file.
func (b *Book) Runs() []*Run { return b.runs }

// Settings returns the run with a digest of settings ([Run].Settings), or nil if there is none.
func (b *Book) Settings(digest string) *Run { return b.bySettings[digest] }

// Hash returns the run with a config hash, or nil if there is none.
func (b *Book) Hash(hash string) *Run { return b.byHash[hash] }

// Named reports whether a run has this name, with any config.
func (b *Book) Named(name string) bool { return b.names[name] }

// Load returns the config of a run, with its name and seed.
func (b *Book) Load(r *Run) (train.Config, error) { return b.configs[r.Config].load(r) }

// Changed says why today's code would give other bits than the run, or returns "" if it would give the same bits.
func (b *Book) Changed(r *Run) string { return b.configs[r.Config].changed(r, version.Changes) }

type configText struct {
	yaml  string
	words func() map[string]bool
}

func textOf(yaml string) configText {
	return configText{yaml, sync.OnceValue(func() map[string]bool {
		words := map[string]bool{}
		if root, err := config.Parse("ledger", []byte(yaml)); err == nil {
			collectWords(root, words)
		}
		return words
	})}
}

// changed describes the first change since a run that affects its config.
func (t configText) changed(r *Run, changes []version.Change) string {
	for _, c := range changes {
		if c.Generation > r.Generation && t.affectedBy(&c) {
			return "trained by an earlier version: " + c.What
		}
	}
	return ""
}

// affectedBy reports whether a change affects the config.
func (t configText) affectedBy(c *version.Change) bool {
	matches := 0
	for _, p := range c.Parts {
		if strings.Contains(t.yaml, p) && t.words()[p] { // checked first, because splitting into words is slower
			matches++
		}
	}
	return matches == len(c.Parts) || matches > 0 && !c.All
}

// hash returns the hash that [train.Config.Hash] returned when the text was resolved.
func (t configText) hash(seed uint64) string {
	return rundir.FileHash(fmt.Appendf(nil, "name: \"\"\nseed: %d\n%s", seed, t.yaml))
}

// load returns the config of a run, with its name and seed. The recorded hash must match the recorded text. Today's hash
// may be another one: later keys with defaults change the text of a resolved config, but not its results.
func (t configText) load(r *Run) (train.Config, error) {
	if t.yaml == "" {
		return train.Config{}, fmt.Errorf("run %s: there is no config %q", r.Name, r.Config)
	}
	if hash := t.hash(r.Seed); r.Hash != "" && hash != r.Hash {
		return train.Config{}, fmt.Errorf("run %s: hash: the hash of its config is %s; got %s", r.Name, hash, r.Hash)
	}
	c, err := train.LoadWhole("ledger", []byte(t.yaml), "name="+r.Name, fmt.Sprint("seed=", r.Seed),
		fmt.Sprint("train.keep.last=", train.Defaults().Train.Keep.Last))
	if err != nil {
		return c, fmt.Errorf("run %s: %w", r.Name, err)
	}
	return c, nil
}

func collectWords(n *config.Node, words map[string]bool) {
	for _, key := range n.Keys() {
		words[key] = true
	}
	if n.IsScalar() {
		words[n.Text()] = true
	}
	for _, item := range n.Items() {
		collectWords(item, words)
	}
}
