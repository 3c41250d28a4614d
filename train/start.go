package train

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/internal/checkpoint"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/weights"
)

// Init gives some parameters of a model initial values from a run or a file. The seed draws all others.
type Init struct {
	Run     string            `yaml:"run" doc:"folder of a run, to load its last checkpoint; {seed} stands for this config's seed"`
	File    string            `yaml:"file" doc:"safetensors file from unravel export or another program, instead of run; {seed} as in run"`
	Only    []string          `yaml:"only" doc:"patterns of this model's parameters and states to load, such as encoder/*; * stands for any characters. If absent: all"`
	As      map[string]string `yaml:"as" doc:"prefixes of names in the file and their replacements in the model, such as {backbone/: encoder/}; the longest match counts"`
	Layout  weights.Layout    `yaml:"layout" doc:"order of axes and names in the file, unravel or pytorch; if absent, as the file says, otherwise unravel"`
	Strict  bool              `yaml:"strict" doc:"require every requested name in the file, and every name of the file in the model with equal shape; false: load only matches"`
	Content string            `yaml:"content" doc:"expected hash of the loaded values, as a run writes it to its config.yaml; another hash is an error; empty: no check"`
}

// SetDefaults makes a start strict.
func (s *Init) SetDefaults() { s.Strict = true }

// Validate checks the settings.
func (s *Init) Validate() error {
	switch {
	case s.Run == "" && s.File == "":
		return config.Invalid("run", "neither run nor file is given; want the folder of a run, or a safetensors file")
	case s.Run != "" && s.File != "":
		return config.Invalid("file", "both run and file are given; want only one")
	case s.Layout != "" && s.Layout != weights.Native && s.Layout != weights.PyTorch:
		return config.Invalid("layout", "unknown layout %q; want %s or %s", string(s.Layout), weights.Native, weights.PyTorch)
	case s.Layout != "" && s.Run != "":
		return config.Invalid("layout", "a run has the layout %s; want a layout with file only", weights.Native)
	}
	if _, ok := s.As[""]; ok {
		return config.Invalid("as", "a prefix of names is empty; want, for example, {backbone/: encoder/}")
	}
	return validPatterns("only", s.Only)
}

// validPatterns checks patterns of parameter names, as far as that is possible without a model.
func validPatterns(key string, patterns []string) error {
	for i, p := range patterns {
		if p == "" {
			return config.Invalid(fmt.Sprintf("%s.%d", key, i), "the pattern is empty; want one such as encoder/*")
		}
		if slices.Contains(patterns[:i], p) {
			return config.Invalid(fmt.Sprintf("%s.%d", key, i), "%q is in the list twice; want it once", p)
		}
	}
	return nil
}

func (s *Init) source() string { return s.Run + s.File }

func (s *Init) key() string {
	if s.Run != "" {
		return "init.run"
	}
	return "init.file"
}

func (s *Init) options() weights.LoadOptions {
	o := weights.LoadOptions{Layout: s.Layout, Only: s.Only, Partial: !s.Strict, Fitting: !s.Strict}
	prefixes := slices.Sorted(maps.Keys(s.As))
	slices.SortStableFunc(prefixes, func(a, prefix string) int { return len(prefix) - len(a) })
	for _, prefix := range prefixes {
		o.Renames = append(o.Renames, [2]string{prefix, s.As[prefix]})
	}
	return o
}

// forSeed returns the start with the seed in place of {seed} in its source.
func (s *Init) forSeed(seed uint64) *Init {
	start, number := *s, strconv.FormatUint(seed, 10)
	start.Run, start.File = strings.ReplaceAll(s.Run, "{seed}", number), strings.ReplaceAll(s.File, "{seed}", number)
	return &start
}

// open reads the source. It warns if a run's newest checkpoint is damaged.
func (s *Init) open() (f *weights.File, warning string, err error) {
	if s.Run != "" {
		return OpenWeights(s.Run)
	}
	f, err = weights.Open(s.File)
	return f, "", err
}

// OpenWeights reads the parameters and states of a run's model from its last checkpoint, for weights.Source.Load. If
// that checkpoint is damaged, it warns and reads the previous one.
func OpenWeights(dir string) (f *weights.File, warning string, err error) {
	if _, err := os.Stat(filepath.Join(dir, rundir.Config)); errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%s: there is no run: %w%s", dir, fs.ErrNotExist, nearRun(dir))
	}
	c, err := checkpoint.Read(dir)
	if err != nil {
		return nil, "", err
	}
	return c.Weights(dir), c.Warning, nil
}

// nearRun suggests a run with a similar name in the same parent folder, or returns "".
func nearRun(dir string) string {
	parent := filepath.Dir(dir)
	entries, err := os.ReadDir(parent)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(parent, e.Name(), rundir.Config)); err == nil {
			names = append(names, filepath.Join(parent, e.Name()))
		}
	}
	if near := registry.Suggest(filepath.Clean(dir), names); strings.Contains(near, "did you mean") {
		return near
	}
	return ""
}

// Resolve completes the start of a config: it adds the hash of its content, which is part of [Config.Hash], and
// replaces the seed in the names of its source. A config without a start, or with known content, stays unchanged.
func (c Config) Resolve() (Config, error) {
	if c.Init == nil || c.Init.Content != "" {
		return c, nil
	}
	f, _, err := c.Init.forSeed(c.Seed).open()
	if err != nil {
		return c, c.mistake(c.Init.key(), err)
	}
	return c.resolved(f)
}

// resolved is Resolve with the opened source of the start.
func (c Config) resolved(f *weights.File) (Config, error) {
	content, err := f.Digest(c.Init.options())
	if err != nil {
		return c, c.mistake("init.as", err)
	}
	c.Init = c.Init.forSeed(c.Seed)
	c.Init.Content = content
	return c, nil
}

// Continuing returns the config with the recorded content of another config's start, if both have the same start and
// this one lacks the content. A resumed run needs this if its source is gone.
func (c Config) Continuing(other Config) Config {
	if c.Init == nil || other.Init == nil || c.Init.Content != "" {
		return c
	}
	start := c.Init.forSeed(c.Seed)
	start.Content = other.Init.Content
	mine, err := config.Encode(start)
	theirs, theirsErr := config.Encode(other.Init)
	if err == nil && theirsErr == nil && bytes.Equal(mine, theirs) {
		c.Init = start
	}
	return c
}

// byContent removes the location and options of a start with recorded content, and keeps its hash.
func (c Config) byContent() Config {
	if c.Init != nil && c.Init.Content != "" {
		c.Init = &Init{Content: c.Init.Content}
	}
	return c
}

func (e *Experiment) loadStart() error {
	c := &e.Config
	if c.Init == nil {
		return nil
	}
	c.Init = c.Init.forSeed(c.Seed)
	f, warning, err := c.Init.open()
	if err != nil {
		return c.mistake(c.Init.key(), err)
	}
	resolved, err := c.resolved(f)
	if err != nil {
		return err
	}
	if content := c.Init.Content; content != "" && content != resolved.Init.Content {
		return c.mistake("init.content",
			fmt.Errorf("%s has other parameters than this start: their hash is %s; want %s, or remove content to accept these",
				c.Init.source(), resolved.Init.Content, content))
	}
	params := e.Model.Params()
	if c.Init.Strict {
		for i, p := range c.Init.Only {
			if _, err := params.Matching(p); err != nil {
				return c.mistake(fmt.Sprintf("init.only.%d", i), err)
			}
		}
	}
	source := e.source()
	loaded, err := source.Load(f, c.Init.options())
	if err != nil && c.Init.Strict {
		err = fmt.Errorf("%w; want only: [...] with patterns of the parameters to load, or strict: false to load all that fit", err)
	}
	if err != nil {
		return c.mistake("init", err)
	}
	c.Init = resolved.Init
	e.Start = &rundir.Start{From: c.Init.source(), Only: c.Init.Only, Content: c.Init.Content, Taken: loaded.Names,
		Derived: loaded.Derived, Misfits: loaded.Misfits, Warning: cmp.Or(warning, loaded.Warning)}
	for _, name := range params.Names() {
		if !slices.Contains(loaded.Names, name) && !slices.Contains(loaded.Derived, name) {
			e.Start.Fresh = append(e.Start.Fresh, name)
		}
	}
	return nil
}

// Begin creates the folder of an untrained run with given parameters, which load sets. The run can be measured and
// encoded, and its training can continue. learned holds the results of the earlier stage; nil without a stage.
func Begin(c Config, dir string, learned *models.Learned, load func(*Experiment) error) (e *Experiment, err error) {
	if err := c.Validate(); err != nil {
		return nil, config.AsError(err)
	}
	if learned == nil {
		e, err = NewExperiment(c)
	} else {
		e, err = newExperiment(c, learned)
	}
	if err != nil {
		return nil, err
	}
	if err := load(e); err != nil {
		return nil, err
	}
	l, err := e.Loop()
	if err != nil {
		return nil, err
	}
	defer l.Close()
	text, err := e.Config.Encode()
	if err != nil {
		return nil, err
	}
	hash, err := e.Config.Hash()
	if err != nil {
		return nil, err
	}
	f, state, err := checkpoint.Encode(l, checkpoint.State{Config: string(text), Start: e.Start,
		History: rundir.History{{Config: hash, Other: "it had parameters from elsewhere"}}})
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	store, err := rundir.Create(dir)
	if errors.Is(err, rundir.ErrExists) {
		return nil, fmt.Errorf("%s: %w; want another folder", dir, rundir.ErrExists)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return e, store.Begin(func() error { return e.writeUntrained(store, f, state, text) })
}

// writeUntrained writes the files of an untrained run.
func (e *Experiment) writeUntrained(store *rundir.Run, f *safetensors.File, state, config []byte) error {
	if e.Learned != nil {
		if err := store.WriteLearned(e.Config.stage().Name, e.Learned); err != nil {
			return err
		}
	}
	if err := writeCheckpoint(store, 1, f, state); err != nil {
		return err
	}
	if err := rundir.WriteBeginning(store, config); err != nil {
		return err
	}
	return store.Write(rundir.Config, rundir.Bytes(config)) // last, because this file makes the folder a run
}

// maxNames limits the names of parameters in a line.
const maxNames = 4

func startLines(s *rundir.Start) (lines []string) {
	if s.Warning != "" {
		lines = append(lines, s.Warning)
	}
	total := len(s.Taken) + len(s.Derived) + len(s.Fresh)
	line := fmt.Sprintf("init: %d of %d parameters and states from %s", len(s.Taken), total, s.From)
	if len(s.Only) > 0 {
		line += fmt.Sprintf(" (%s)", strings.Join(s.Only, ", "))
	}
	for _, x := range []struct {
		label string
		names []string
	}{{"copies of them", s.Derived}, {"fresh", s.Fresh}, {"of another shape", s.Misfits}} {
		if len(x.names) > 0 {
			line += "; " + x.label + ": " + registry.Some(x.names, maxNames)
		}
	}
	return append(lines, line)
}
