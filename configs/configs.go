// Package configs has the experiments and the papers' tables that come with Unravel.
//
// [Names] lists the experiments. [Read] returns the YAML of one, which train.Load reads.
package configs

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
)

//go:embed *.yaml */*.yaml tables/reference/*.csv
var files embed.FS

// Quickstart is the name of the experiment that runs if the user names none.
const Quickstart = "quickstart"

const tables = "tables"

// Tables returns the folder of the papers' tables: one .yaml file per table, and printed values in reference/*.csv.
func Tables() fs.FS {
	sub, err := fs.Sub(files, tables)
	if err != nil { // cannot happen: the name is valid
		return files
	}
	return sub
}

// Names lists the experiments: paths without .yaml, sorted.
func Names() []string {
	var names []string
	// The file system is embedded: walking it cannot fail.
	_ = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && path == tables {
			return fs.SkipDir
		}
		if name, ok := strings.CutSuffix(path, ".yaml"); ok && err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	slices.Sort(names)
	return names
}

// Read returns the YAML of an experiment.
func Read(name string) ([]byte, error) {
	source, err := files.ReadFile(name + ".yaml")
	if err != nil || strings.HasPrefix(name, tables+"/") {
		return nil, fmt.Errorf("there is no experiment %q%s", name, suggest(name))
	}
	return source, nil
}

// suggest returns `; did you mean "x"?` for the name of an experiment with .yaml or .yml, for a name without its
// folder, or for a similar name. For the name of a model, it lists the model's experiments. For any other file name it
// returns "", and otherwise the command that lists all experiments.
func suggest(name string) string {
	names, file := Names(), strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
	bare := strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml")
	if slices.Contains(names, bare) {
		return fmt.Sprintf("; did you mean the experiment %s?", bare)
	}
	if file {
		return ""
	}
	if below := slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return !strings.HasPrefix(n, name+
			"/")
	}); len(below) > 0 {
		return "; known: " + strings.Join(below, ", ")
	}
	if same := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return path.Base(n) != name }); len(same) > 0 {
		return "; did you mean " + strings.Join(same, " or ") + "?"
	}
	if near := registry.Near(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; `unravel list configs` lists the experiments"
}

// Title returns the first sentence of an experiment's opening comment.
func Title(name string) string {
	source, err := Read(name)
	if err != nil {
		return ""
	}
	var words []string
	for line := range strings.Lines(string(source)) {
		text, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		words = append(words, strings.Fields(text)...)
	}
	for i, w := range words {
		if strings.HasSuffix(w, ".") && w != "al." && w != "vs." {
			words = words[:i+1]
			break
		}
	}
	return strings.TrimSuffix(strings.Join(words, " "), ".")
}
