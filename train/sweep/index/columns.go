package index

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
)

// Column is a property of every run: its folder, its state, a setting or a result.
type Column struct {
	Name string
	Of   func(*Run) (value string, ok bool) // value of a run; false: the run has no value
}

// Cell returns the value of a run, or nil if the run has none.
func (c Column) Cell(r *Run) *string {
	if text, ok := c.Of(r); ok {
		return &text
	}
	return nil
}

// fixedColumns are the columns that every run has.
var fixedColumns = []Column{
	{"run", func(r *Run) (string, bool) { return r.Dir, true }},
	{"state", func(r *Run) (string, bool) { return string(r.State), true }},
	{"problem", func(r *Run) (string, bool) { return r.Problem, r.Problem != "" }},
	{"seconds", func(r *Run) (string, bool) { return formatFloat(r.Seconds), r.Ended != "" }},
	{"epochs_done", func(r *Run) (string, bool) { return strconv.Itoa(r.Epochs), r.Ended != "" }},
	{"steps_done", func(r *Run) (string, bool) { return strconv.Itoa(r.Steps), r.Ended != "" }},
	{"begun", func(r *Run) (string, bool) { return r.Begun, r.Begun != "" }},
	{"ended", func(r *Run) (string, bool) { return r.Ended, r.Ended != "" }},
	{"version", func(r *Run) (string, bool) { return r.Version, r.Version != "" }},
	{"os", func(r *Run) (string, bool) { return r.Machine.OS, r.Machine.OS != "" }},
	{"arch", func(r *Run) (string, bool) { return r.Machine.Arch, r.Machine.Arch != "" }},
	{"kernels", func(r *Run) (string, bool) { return r.Machine.Kernels, r.Machine.Kernels != "" }},
	{"cores", func(r *Run) (string, bool) { return strconv.Itoa(r.Machine.Cores), r.Machine.Cores > 0 }},
	{"threads", func(r *Run) (string, bool) { return strconv.Itoa(r.Machine.Threads), r.Machine.Threads > 0 }},
	{"go", func(r *Run) (string, bool) { return r.Machine.Go, r.Machine.Go != "" }},
	{"hash", func(r *Run) (string, bool) { return r.Hash, r.Hash != "" }},
}

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func setting(key string) Column {
	return Column{key, func(r *Run) (string, bool) { return r.Settings.Get(key) }}
}

// Result returns the column of a result.
func Result(name string) Column {
	return Column{name, func(r *Run) (string, bool) { v, ok := r.Results.Get(name); return formatFloat(v), ok }}
}

// ResultNames lists the results of runs, sorted by name.
func ResultNames(runs []*Run) []string {
	return namesOf(runs, func(r *Run) *names { return r.Results.names })
}

// namesOf returns the union of the lists of names, sorted.
func namesOf(runs []*Run, listOf func(*Run) *names) []string {
	union, seen := map[string]bool{}, map[*names]bool{nil: true}
	for _, r := range runs {
		if n := listOf(r); !seen[n] {
			seen[n] = true
			for _, name := range n.list {
				union[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(union))
}

// SettingKeys lists the settings of runs, sorted by key.
func SettingKeys(runs []*Run) []string {
	return namesOf(runs, func(r *Run) *names {
		if r.Settings.kind == nil {
			return nil
		}
		return r.Settings.kind.names
	})
}

// Columns lists all columns of runs: the fixed columns, the names of choices, the settings and the results.
func Columns(runs []*Run) (list []Column) {
	list = append(list, fixedColumns...)
	for _, key := range choiceKeys {
		list = append(list, choiceColumn(key))
	}
	for _, key := range SettingKeys(runs) {
		list = append(list, setting(key))
	}
	for _, name := range ResultNames(runs) {
		list = append(list, Result(name))
	}
	return list
}

// UnknownColumnError is the error of [FindColumn] for a column that no run has. Nearest is the most similar column, if
// there is one. [Columns] lists all columns.
type UnknownColumnError struct{ Name, Nearest string }

func (e *UnknownColumnError) Error() string {
	if e.Nearest == "" {
		return fmt.Sprintf("no run has %q", e.Name)
	}
	return fmt.Sprintf("no run has %q; did you mean %q?", e.Name, e.Nearest)
}

// FindColumn returns the column with a name, or an [UnknownColumnError]. The path of several settings, such as
// model.vae.encoder, is a column of the names below it, and the path of a ramp a column of its settings.
func FindColumn(runs []*Run, name string) (Column, error) {
	has := func(r *Run) bool { _, ok := branch(name).Of(r); return ok }
	if len(runs) == 0 || slices.ContainsFunc(runs, has) {
		return branch(name), nil
	}
	var names []string
	for _, c := range Columns(runs) {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Column{}, &UnknownColumnError{name, nearestColumn(name, names)}
}

// choiceKeys are settings that choose parts by name. Their columns show these names.
var choiceKeys = []string{"dataset", "supervision", "model", "losses"}

// choiceColumn shows the names that a run chose: the keys below the given key, without list positions.
func choiceColumn(key string) Column {
	return Column{key, func(r *Run) (string, bool) {
		if r.Settings.kind == nil {
			return "", false
		}
		names, ok := r.Settings.kind.names.chosen[key]
		return names, ok
	}}
}

// choicesOf returns the chosen names for each key, joined by +, for runs with these settings.
func choicesOf(settings []string) map[string]string {
	chosen := map[string]string{}
	for _, key := range choiceKeys {
		if names := namesBelow(settings, key); names != "" {
			chosen[key] = names
		}
	}
	return chosen
}

// namesBelow returns the names below a path in a sorted list of settings, joined by +, without list positions.
func namesBelow(settings []string, path string) string {
	byPosition := map[int][]string{}
	path += "."
	start, _ := slices.BinarySearch(settings, path)
	for _, key := range settings[start:] {
		rest, ok := strings.CutPrefix(key, path)
		if !ok {
			break
		}
		position := 0
		name, suffix, _ := strings.Cut(rest, ".")
		if n, err := strconv.Atoi(name); err == nil { // in a list
			position = n
			name, _, _ = strings.Cut(suffix, ".")
		}
		if !slices.Contains(byPosition[position], name) {
			byPosition[position] = append(byPosition[position], name)
		}
	}
	var names []string
	for _, position := range slices.Sorted(maps.Keys(byPosition)) {
		slices.Sort(byPosition[position])
		names = append(names, byPosition[position]...)
	}
	return strings.Join(names, "+")
}

// branch shows a setting, the names below its path, such as the layers of an encoder, or a mapping such as a ramp.
func branch(path string) Column {
	return Column{path, func(r *Run) (string, bool) {
		text, ok := r.Settings.Get(path)
		if k := r.Settings.kind; !ok && k != nil {
			if text = r.Settings.mapping(path); text == "" {
				text = namesBelow(k.names.list, path)
			}
		}
		return text, ok || text != ""
	}}
}

// mapping returns the settings below a path, such as {from: 0, to: 1}, or "" if one of them is a list or a choice.
func (s Settings) mapping(path string) string {
	var items []string
	for key, value := range s.All() {
		name, ok := strings.CutPrefix(key, path+".")
		if !ok {
			continue
		}
		if _, err := strconv.Atoi(name); err == nil || strings.Contains(name, ".") || value == "{}" || value == "null" {
			return ""
		}
		items = append(items, name+": "+value)
	}
	if items == nil {
		return ""
	}
	return "{" + strings.Join(items, ", ") + "}"
}

// branchesOf lists the longest parts of a key of a choice that runs without this setting have, apart from the parts that
// the columns of choices show.
func branchesOf(runs []*Run, key string) (paths []string) {
	seen := map[*names]bool{}
	for _, r := range runs {
		k := r.Settings.kind
		if k == nil || seen[k.names] {
			continue
		}
		seen[k.names] = true
		if _, ok := k.names.indices[key]; ok {
			continue
		}
		path := key
		for _, ok := k.names.indices[path]; !ok && namesBelow(k.names.list, path) == ""; _, ok = k.names.indices[path] {
			path = path[:max(0, strings.LastIndexByte(path, '.'))]
		}
		_, suffix, nested := strings.Cut(path, ".")
		if _, err := strconv.Atoi(suffix); nested && err != nil && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// Differing lists the columns that differ between runs: the names of choices, and the settings. It skips metrics and
// settings that do not affect results. For a setting of a choice, only runs with this choice are compared. Where choices
// within a choice differ, such as encoders, their path shows the names.
func Differing(runs []*Run) (list []Column) {
	for _, key := range choiceKeys {
		if c := choiceColumn(key); differs(runs, c, true) {
			list = append(list, c)
		}
	}
	for _, key := range varyingKeys(runs) {
		top, _, _ := strings.Cut(key, ".")
		if key == "name" || key == "train.threads" || key == "train.figures" || key == "train.checkpoint" ||
			top == "metrics" {
			continue
		}
		if !slices.Contains(choiceKeys, top) {
			if c := setting(key); differs(runs, c, true) {
				list = append(list, c)
			}
			continue
		}
		paths := []string{key}
		if !differs(runs, setting(key), false) {
			paths = branchesOf(runs, key)
		}
		for _, path := range paths {
			listed := slices.ContainsFunc(list, func(c Column) bool { return c.Name == path })
			if c := branch(path); !listed && differs(runs, c, false) {
				list = append(list, c)
			}
		}
	}
	return list
}

// Shown lists the settings for a list of runs: the differing settings, and the history if a run has one. The settings
// alone do not describe such a run, even if all runs have the same history.
func Shown(runs []*Run) []Column {
	list, history := Differing(runs), setting("history")
	hasHistory := func(r *Run) bool { _, ok := history.Of(r); return ok }
	listed := slices.ContainsFunc(list, func(c Column) bool { return c.Name == history.Name })
	if !listed && slices.ContainsFunc(runs, hasHistory) {
		list = append(list, history)
	}
	return list
}

// differs reports whether a column has several values. With missingCounts, a missing value counts as a value.
func differs(runs []*Run, c Column, missingCounts bool) bool {
	type value struct {
		text string
		ok   bool
	}
	var first *value
	for _, r := range runs {
		text, ok := c.Of(r)
		if !ok && (!missingCounts || r.Settings.Len() == 0) { // a damaged run has no settings
			continue
		}
		switch v := (value{text, ok}); {
		case first == nil:
			first = &v
		case v != *first:
			return true
		}
	}
	return false
}

// nearestColumn returns the column with the given suffix or a similar one, or "" if none or several match.
func nearestColumn(name string, columns []string) string {
	parts := strings.Count(name, ".") + 1
	var ends, matches []string
	for _, c := range columns {
		segments := strings.Split(c, ".")
		ends = append(ends, strings.Join(segments[max(0, len(segments)-parts):], "."))
	}
	nearest := name
	if !slices.Contains(ends, name) {
		if column := registry.Near(name, columns); column != "" {
			return column
		}
		nearest = registry.Near(name, ends)
	}
	for i, end := range ends {
		if end == nearest {
			matches = append(matches, columns[i])
		}
	}
	depth := func(a, b string) int { return strings.Count(a, ".") - strings.Count(b, ".") }
	slices.SortStableFunc(matches, depth)
	if len(matches) == 0 || len(matches) > 1 && depth(matches[0], matches[1]) == 0 {
		return ""
	}
	return matches[0]
}
