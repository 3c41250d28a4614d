package sweep

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/content"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Reader reads folders of runs. It decodes configs that differ only in name and seed once. It therefore reads a large
// sweep much faster than one call of [Read] per folder. Its entries share the values that their configs point to: treat
// these as read-only. A Reader is safe for concurrent use.
type Reader struct {
	known sync.Map // [sha256.Size]byte, of a config's text without name and seed, to *knownConfig
}

// knownConfig is the common part of configs that differ only in name and seed.
type knownConfig struct {
	config   train.Config
	identity func(seed uint64) []byte // nil: the config has a start, which often depends on the seed
	settings func() ([]Setting, error)
}

// Read reads the folder of a run.
func (r *Reader) Read(dir string) Entry {
	e := r.read(dir)
	e.Config = e.Config.WithoutSource()
	return e
}

// read is Read. It keeps the source of the config if it has decoded the config.
func (r *Reader) read(dir string) Entry {
	e := Entry{Dir: dir, Name: filepath.Base(dir), State: Damaged}
	text, err := train.ConfigText(dir)
	if err == nil {
		err = r.decode(&e, text)
	}
	if err != nil {
		e.Problem = err
		return e
	}
	e.State = Unfinished
	e.Record, e.Problem = rundir.RecordOf(dir, text)
	e.identify(text)
	if e.Record == nil {
		return e
	}
	if e.Record.Error != "" {
		e.State, e.Problem = Failed, errors.New(e.Record.Error)
		return e
	}
	if e.Problem = e.readResults(); e.Problem != nil {
		e.Metrics, e.Fit = nil, nil // edited results do not count
		return e
	}
	e.State = Finished
	return e
}

// identify sets the hash that identifies the run, by the history in the record or in the state.
func (e *Entry) identify(text []byte) {
	e.ConfigHash = e.Hash
	var h rundir.History
	if r := e.Record; r == nil || r.Error != "" {
		h, e.Other = train.Unlike(e.Dir, e.Config, text)
	} else {
		h, e.Other = r.History, r.History.Other()
		if most := e.Config.Train.Epochs; r.Epochs > most { // code without a history allowed shortening a run
			e.Other = fmt.Sprintf("train.epochs is %d in its config, and it was trained for %d", most, r.Epochs)
		} else if err := h.Check(r.Steps); err != nil {
			e.Other = err.Error()
		}
	}
	if e.Hash = h.Identity(e.ConfigHash); e.Other != "" && e.Hash == e.ConfigHash {
		e.Hash = rundir.FileHash([]byte(e.ConfigHash + e.Other))
	}
}

func (r *Reader) decode(e *Entry, text []byte) error {
	key, own, ok := splitConfig(text)
	if ok {
		if found, there := r.known.Load(key); there {
			e.known = found.(*knownConfig)
			e.Config = e.known.config
			e.Config.Name, e.Config.Seed = own.Name, own.Seed
			e.Hash = rundir.FileHash(e.known.identity(own.Seed))
			return nil
		}
	}
	c, err := train.LoadRun(e.Dir, text)
	e.Config = c
	if err != nil {
		return err
	}
	identity, err := c.Identity()
	if err != nil {
		return err
	}
	c = c.WithoutSource()
	e.Hash = rundir.FileHash(identity)
	e.known = &knownConfig{config: c, settings: sync.OnceValues(func() ([]Setting, error) { return settingsOf(c) })}
	if c.Init == nil {
		e.known.identity = content.Reseed(identity, c.Seed)
	}
	if ok && e.known.identity != nil {
		r.known.Store(key, e.known)
	}
	return nil
}

// ownLines are the lines of a config with its name and seed.
type ownLines struct {
	Name string `yaml:"name"`
	Seed uint64 `yaml:"seed"`
}

// splitConfig returns the hash of a config's text without its name and seed, and both, if each is on a plain line.
func splitConfig(text []byte) (key [sha256.Size]byte, own ownLines, ok bool) {
	var kept, lines bytes.Buffer
	names, seeds := 0, 0
	for line := range bytes.Lines(text) {
		name, seed := bytes.HasPrefix(line, []byte("name: ")), bytes.HasPrefix(line, []byte("seed: "))
		if !name && !seed {
			kept.Write(line)
			continue
		}
		if name {
			names++
		} else {
			seeds++
		}
		kept.Write(line[:len("name:")])
		lines.Write(line)
	}
	if names != 1 || seeds != 1 {
		return key, own, false
	}
	if n, err := config.Parse("", lines.Bytes()); err != nil || n.Decode(&own) != nil ||
		rundir.CheckName(own.Name) != nil {
		return key, own, false
	}
	return sha256.Sum256(kept.Bytes()), own, true
}

// Settings lists an entry's settings by key path, without name and seed, in the order of the config. Entries of a
// [Reader] that differ only in name and seed share the list.
func (e Entry) Settings() ([]Setting, error) {
	if e.known == nil {
		return nil, e.Problem
	}
	list, err := e.known.settings()
	if e.Other != "" { // the settings do not fully describe such a run
		list = append(slices.Clone(list), Setting{Key: "history", Value: e.Other})
	}
	return list, err
}

// settingsOf lists the settings of a config without its name and seed.
func settingsOf(c train.Config) ([]Setting, error) {
	text, err := c.Encode()
	if err != nil {
		return nil, err
	}
	root, err := config.Parse("", text)
	if err != nil {
		return nil, err
	}
	var list []Setting
	for _, n := range root.Leaves() {
		value := n.Inline()
		if n.IsScalar() {
			value = n.Text()
		}
		if path := n.Path(); path != "name" && path != "seed" {
			list = append(list, Setting{Key: path, Value: value})
		}
	}
	return list, nil
}
