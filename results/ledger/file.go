package ledger

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/train/rundir"
)

// File is a file of the ledger: configs and their runs.
type File struct {
	Configs []Config
	Runs    []Run
}

// line is a line of the file: a config if it has YAML text, otherwise a run.
type line struct {
	Run
	YAML string `json:"yaml"`
}

var (
	shortHash = regexp.MustCompile(`^[0-9a-f]{16}$`)
	hash      = regexp.MustCompile(`^[0-9a-f]{32}$`)
	longHash  = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Read reads a file and decompresses it if its name ends in Compressed. Messages use the name. Errors give the line
// of an unknown key, of a run without its config above, and of a repeated run.
func Read(name string, r io.Reader) (*File, error) {
	if strings.HasSuffix(name, compressed) {
		unzipped, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r = unzipped
	}
	f := &File{}
	configs, settings := map[string]bool{}, map[string]bool{}
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(text) == 0 {
			return f, nil
		}
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s:%d: the last line has no end: the file may be cut off", name, n)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := f.add(text, configs, settings); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
}

// add parses a line.
func (f *File) add(text []byte, configs, settings map[string]bool) error {
	var l line
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return fmt.Errorf("not a line of a ledger: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind the JSON object; want one for each line")
	}
	if l.YAML != "" {
		c := Config{l.Run.Config, l.YAML}
		if want := idOf(c.YAML); c.ID != want {
			return fmt.Errorf("config: the text was changed: its hash is %s, want %q", want, c.ID)
		}
		if l.Name != "" || configs[c.ID] {
			return fmt.Errorf("config: %s belongs to a run, too, or is listed twice", c.ID)
		}
		configs[c.ID] = true
		f.Configs = append(f.Configs, c)
		return nil
	}
	if err := l.Run.valid(); err != nil {
		return err
	}
	switch {
	case !configs[l.Run.Config]:
		return fmt.Errorf("config: no line above has the config %q of the run %s", l.Run.Config, l.Name)
	case settings[l.Settings]:
		return fmt.Errorf("settings: there are two lines of the settings %q", l.Settings)
	}
	settings[l.Settings] = true
	f.Runs = append(f.Runs, l.Run)
	return nil
}

// valid checks the form of a run.
func (r *Run) valid() error {
	if err := rundir.CheckName(r.Name); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if err := rundir.CheckName(r.Scale); err != nil { // it names the file
		return fmt.Errorf("scale: %w", err)
	}
	if now := version.Generation(); r.Generation < 1 || r.Generation > now {
		return fmt.Errorf("generation: %d is out of range; want 1 to %d, this code's generation", r.Generation, now)
	}
	for _, h := range []struct {
		key, value string
		form       *regexp.Regexp
		needed     bool
	}{
		{"settings", r.Settings, shortHash, true}, {"config", r.Config, shortHash, true}, {"hash", r.Hash, hash, false},
		{"codes", r.Codes, longHash, false}, {"parameters", r.Parameters, longHash, false},
	} {
		if !h.form.MatchString(h.value) && (h.needed || h.value != "") {
			return fmt.Errorf("%s: %q is not a hash; want hexadecimal digits", h.key, h.value)
		}
	}
	for _, n := range []struct {
		key   string
		value float64
	}{{"epochs", float64(r.Epochs)}, {"steps", float64(r.Steps)}, {"seconds", r.Seconds}, {"cpu_seconds", r.CPU}} {
		if n.value < 0 {
			return fmt.Errorf("%s: %v is out of range; want 0 or more", n.key, n.value)
		}
	}
	if !r.Finished() && len(r.Metrics)+len(r.Stored) > 0 {
		return errors.New("metrics: the run has failed; want none")
	}
	for file := range r.Stored {
		if !slices.ContainsFunc(analyses, func(a analysis) bool { return a.named(file) }) {
			return fmt.Errorf("stored: no analysis is stored as %q", file)
		}
	}
	return nil
}

// Write writes every config followed by its runs. Configs and runs keep their order.
func (f *File) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, c := range f.Configs {
		if err := e.Encode(c); err != nil {
			return err
		}
		for i := range f.Runs {
			if f.Runs[i].Config != c.ID {
				continue
			}
			if err := e.Encode(&f.Runs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeCompressed is Write with gzip. The same file gives the same bytes.
func (f *File) writeCompressed(w io.Writer) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(f.Write(z), z.Close())
}

// Config returns the text of a config; empty if the file lacks it.
func (f *File) Config(id string) string {
	if at := slices.IndexFunc(f.Configs, func(c Config) bool { return c.ID == id }); at >= 0 {
		return f.Configs[at].YAML
	}
	return ""
}

// Put adds a run with its config, or replaces the run with the same settings.
func (f *File) Put(c Config, r Run) {
	if f.Config(c.ID) == "" {
		f.Configs = append(f.Configs, c)
	}
	if at := slices.IndexFunc(f.Runs, func(old Run) bool { return old.Settings == r.Settings }); at >= 0 {
		f.Runs[at] = r
	} else {
		f.Runs = append(f.Runs, r)
	}
	f.Configs = slices.DeleteFunc(f.Configs, func(c Config) bool {
		return !slices.ContainsFunc(f.Runs, func(r Run) bool { return r.Config == c.ID })
	})
}
