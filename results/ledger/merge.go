package ledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/train/rundir"
)

// fileOf returns the name of the file, without extension, for runs at a scale.
func fileOf(scale string, real bool) string {
	if real {
		return scale + "-real"
	}
	return scale
}

// Names lists the files, without extension, where the runs belong. A file is named after the scale, with -real for
// runs on public data sets instead of twins.
func Names(f *File, real bool) (list []string) {
	for _, r := range f.Runs {
		if name := fileOf(r.Scale, real); !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// Of returns the runs that belong in a file, with their configs.
func (f *File) Of(name string, real bool) *File {
	part := &File{}
	for _, r := range f.Runs {
		if fileOf(r.Scale, real) == name {
			part.Put(Config{r.Config, f.Config(r.Config)}, r)
		}
	}
	return part
}

// Path returns the path of a named file in a folder. It prefers an existing compressed file. The name has no
// extension.
func Path(dir, name string) string {
	compressed := filepath.Join(dir, name+compressed)
	if _, err := os.Stat(compressed); err == nil {
		return compressed
	}
	return filepath.Join(dir, name+extension)
}

// Replacement is a run that would replace another record with the same settings.
type Replacement struct {
	Run     string
	Changes []string // the recorded value and the new one
}

// Replacements lists what [Merge] would replace in a file of the ledger.
func Replacements(path string, f *File) (list []Replacement, err error) {
	all, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return all.replacements(f)
}

// replacements lists the runs of another file that would replace others.
func (f *File) replacements(by *File) (list []Replacement, err error) {
	for i := range by.Runs {
		r := &by.Runs[i]
		at := slices.IndexFunc(f.Runs, func(old Run) bool { return old.Settings == r.Settings })
		if at < 0 {
			continue
		}
		changes, err := f.Runs[at].changes(r)
		if err != nil {
			return nil, err
		}
		if len(changes) > 0 {
			list = append(list, Replacement{r.Name, changes})
		}
	}
	return list, nil
}

// changes lists the keys where another record differs, with both values. It lists metrics by name.
func (r *Run) changes(now *Run) (list []string, err error) {
	was, err := r.values()
	if err != nil {
		return nil, err
	}
	is, err := now.values()
	if err != nil {
		return nil, err
	}
	both := maps.Clone(was)
	maps.Copy(both, is)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		if was[key] != is[key] {
			list = append(list, fmt.Sprintf("%s: %s recorded, %s now", key, cmp.Or(was[key], "nothing"), cmp.Or(is[key], "nothing")))
		}
	}
	return list, nil
}

// values returns the values of a record by key, as text.
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
		all[key] = brief(string(value))
	}
	delete(all, "metrics")
	for _, m := range r.Metrics {
		text, err := json.Marshal(m.Parts)
		if err != nil {
			return nil, err
		}
		all["metric "+m.Name] = strconv.FormatFloat(m.Value, 'g', -1, 64)
		if len(m.Parts) > 0 {
			all["parts of "+m.Name] = brief(string(text))
		}
	}
	return all, nil
}

// brief shortens a value to a line; its hash tells long ones apart.
func brief(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "... (" + rundir.FileHash([]byte(text))[:8] + ")"
}

// Merge adds runs to a file of the ledger and replaces records with the same settings. It creates a missing file.
func Merge(path string, f *File) (added, replaced int, err error) {
	all, err := readFile(path)
	if err != nil {
		return 0, 0, err
	}
	others, err := all.replacements(f)
	if err != nil {
		return 0, 0, err
	}
	before := len(all.Runs)
	for _, r := range f.Runs {
		all.Put(Config{r.Config, f.Config(r.Config)}, r)
	}
	added = len(all.Runs) - before
	write := all.Write
	if strings.HasSuffix(path, compressed) {
		write = all.writeCompressed
	}
	return added, len(others), disk.WriteFile(path, write, false)
}
