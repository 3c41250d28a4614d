package ledger

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/train/rundir"
)

// File is a file of the ledger: configs and their runs.
type File struct {
	Configs []Config
	Runs    []Run
}

// line is a line of the file: a config if it has YAML, and otherwise a run.
type line struct {
	Run
	YAML string `json:"yaml"`
}

var (
	shortHash = regexp.MustCompile(`^[0-9a-f]{16}$`)
	hash      = regexp.MustCompile(`^[0-9a-f]{32}$`)
	longHash  = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Read reads a file, and decompresses it if its name ends in Compressed. Errors contain the name, and the line of an
// unknown key, of a run without a preceding config, or of a repeated run.
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
			return nil, fmt.Errorf("%s:%d: the last line does not end with a line break: the file may be cut off", name, n)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := f.add(text, configs, settings); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
}

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
		if want := configID(c.YAML); c.ID != want {
			return fmt.Errorf("config: the text was changed: its hash is %s, want %q", want, c.ID)
		}
		if l.Name != "" || configs[c.ID] {
			return fmt.Errorf("config: %s belongs to a run, too, or is listed twice", c.ID)
		}
		configs[c.ID] = true
		f.Configs = append(f.Configs, c)
		return nil
	}
	if err := l.Run.check(); err != nil {
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

func (r *Run) check() error {
	if err := rundir.CheckName(r.Name); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if err := rundir.CheckName(r.Scale); err != nil { // the scale is part of a file name
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
		if !slices.ContainsFunc(analyses, func(a analysis) bool { return a.matches(file) }) {
			return fmt.Errorf("stored: no analysis is stored as %q", file)
		}
	}
	return nil
}

// Write writes every config followed by its runs, in their order.
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

// writeCompressed is Write with gzip. Equal files give equal bytes.
func (f *File) writeCompressed(w io.Writer) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(f.Write(z), z.Close())
}

// Config returns the text of a config, or "" if it is not in the file.
func (f *File) Config(id string) string {
	if index := slices.IndexFunc(f.Configs, func(c Config) bool { return c.ID == id }); index >= 0 {
		return f.Configs[index].YAML
	}
	return ""
}

// Put adds a run and its config. If the file has a run with the same settings, Put replaces it.
func (f *File) Put(c Config, r Run) {
	if f.Config(c.ID) == "" {
		f.Configs = append(f.Configs, c)
	}
	if index := slices.IndexFunc(f.Runs, func(old Run) bool { return old.Settings == r.Settings }); index >= 0 {
		f.Runs[index] = r
	} else {
		f.Runs = append(f.Runs, r)
	}
	f.Configs = slices.DeleteFunc(f.Configs, func(c Config) bool {
		return !slices.ContainsFunc(f.Runs, func(r Run) bool { return r.Config == c.ID })
	})
}

// Update is a file of the ledger with the runs to add to it.
type Update struct {
	Path     string
	Added    int           // number of runs without a record
	Replaced []Replacement // runs that would replace a record with other values

	merged *File
}

// Replacement is a run that would replace a record with the same settings.
type Replacement struct {
	Run     string
	Changes []string // recorded and new values
}

// Updates divides runs among the files of a folder, and adds them to the records there without writing. The name of a
// file is the scale, with -real for runs on public data sets instead of their twins. A compressed file stays compressed.
func Updates(dir string, f *File, real bool) (list []*Update, err error) {
	byScale := map[string]*Update{}
	for _, r := range f.Runs {
		u := byScale[r.Scale]
		if u == nil {
			u = &Update{Path: updatePath(dir, r.Scale, real)}
			if u.merged, err = readFile(u.Path); err != nil {
				return nil, err
			}
			byScale[r.Scale], list = u, append(list, u)
		}
		if err := u.add(Config{r.Config, f.Config(r.Config)}, r); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// updatePath returns the path of a file in a folder. It prefers an existing compressed file.
func updatePath(dir, scale string, real bool) string {
	name := filepath.Join(dir, scale)
	if real {
		name += "-real"
	}
	if _, err := os.Stat(name + compressed); err == nil {
		return name + compressed
	}
	return name + extension
}

func (u *Update) add(c Config, r Run) error {
	index := slices.IndexFunc(u.merged.Runs, func(old Run) bool { return old.Settings == r.Settings })
	if index < 0 {
		u.Added++
	} else if changes, err := u.merged.Runs[index].changes(&r); err != nil {
		return err
	} else if len(changes) > 0 {
		u.Replaced = append(u.Replaced, Replacement{r.Name, changes})
	}
	u.merged.Put(c, r)
	return nil
}

// Write writes the file with the added runs.
func (u *Update) Write() error {
	write := u.merged.Write
	if strings.HasSuffix(u.Path, compressed) {
		write = u.merged.writeCompressed
	}
	return disk.WriteFile(u.Path, write, false)
}

// changes lists the keys with a different value in now, with both values. It lists metrics by name.
func (r *Run) changes(now *Run) (list []string, err error) {
	oldValues, err := r.values()
	if err != nil {
		return nil, err
	}
	newValues, err := now.values()
	if err != nil {
		return nil, err
	}
	allKeys := maps.Clone(oldValues)
	maps.Copy(allKeys, newValues)
	for _, key := range slices.Sorted(maps.Keys(allKeys)) {
		if oldValues[key] != newValues[key] {
			list = append(list, fmt.Sprintf("%s: %s recorded, %s now", key, cmp.Or(oldValues[key], "nothing"),
				cmp.Or(newValues[key], "nothing")))
		}
	}
	return list, nil
}

func (r *Run) values() (map[string]string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	all := map[string]string{}
	for key, value := range raw {
		all[key] = shorten(string(value))
	}
	delete(all, "metrics")
	for _, m := range r.Metrics {
		text, err := json.Marshal(m.Parts)
		if err != nil {
			return nil, err
		}
		all["metric "+m.Name] = strconv.FormatFloat(m.Value, 'g', -1, 64)
		if len(m.Parts) > 0 {
			all["parts of "+m.Name] = shorten(string(text))
		}
	}
	return all, nil
}

// shorten shortens a value to one line; a hash distinguishes long values.
func shorten(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "... (" + rundir.FileHash([]byte(text))[:8] + ")"
}
