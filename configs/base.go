package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
)

// Child has the keys of a config that extends another one.
type Child struct {
	Base string         `yaml:"base" doc:"config to build on: a .yaml file, relative to this file, or the name of a built-in config; mappings merge, other values replace the base's values"`
	Set  map[string]any `yaml:"set" doc:"with base: key.path: value, set after the other keys, such as losses.2.lsbd.weight: 10"`
}

// Parse reads a config and the configs that it extends, for the given settings with their defaults. The key base names
// the other config. [config.Node.Over] merges the keys of the file over it, and [config.Node.Set] then sets the values
// of the key set. The result has neither key. Errors are a missing base, a cycle, and each syntax error, with file,
// line and column.
func Parse(file string, source []byte, settings any) (*config.Node, error) {
	return parse(link{file, identify(file)}, source, settings, nil)
}

type link struct{ file, id string } // config in a chain of bases: its name for messages, and its identity

const maxBases = 32

func parse(at link, source []byte, settings any, above []link) (*config.Node, error) {
	n, err := config.Parse(at.file, source)
	if err != nil {
		return nil, err
	}
	base := n.Get("base")
	if base == nil {
		return n, nil
	}
	var name string
	if err := base.Decode(&name); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, base.Errorf("there is no name; want a .yaml file, or a name of unravel list configs")
	}
	file, lower, err := Find(name, filepath.Dir(at.file))
	if err != nil {
		return nil, base.Errorf("%w", err)
	}
	chain, next := append(slices.Clone(above), at), link{file, identify(file)}
	switch i := slices.IndexFunc(chain, func(l link) bool { return l.id == next.id }); {
	case i >= 0:
		return nil, base.Errorf("configs that build on each other: %s; want a base that does not lead back here",
			names(append(chain[i:], next)))
	case len(chain) > maxBases:
		return nil, base.Errorf("%d configs that build on each other; want at most %d", len(chain), maxBases)
	}
	below, err := parse(next, lower, settings, chain)
	if err != nil {
		return nil, err
	}
	merged := n.Without("base").Without("set").Over(below, settings)
	return merged, set(merged, n.Get("set"))
}

// set sets the values of the key set of a config.
func set(n, values *config.Node) error {
	if values == nil {
		return nil
	}
	if !values.IsMap() {
		return values.Errorf("want a mapping, {key.path: value}")
	}
	for i, key := range values.Keys() {
		if err := n.Set(key, values.Items()[i]); err != nil {
			return err
		}
	}
	return nil
}

// identify returns the path of a file, without links, or the name of a source without a file.
func identify(file string) string {
	path, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return file
}

func names(chain []link) string {
	var list []string
	for _, l := range chain {
		list = append(list, l.file)
	}
	return strings.Join(list, " -> ")
}

// Find returns the source of a config. name is a file in the given folder or the current folder, or an experiment that
// comes with Unravel. The error suggests a similar experiment or file.
func Find(name, folder string) (file string, source []byte, err error) {
	isFile := strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
	paths := []string{name}
	if !filepath.IsAbs(name) && filepath.Clean(folder) != "." {
		paths = []string{filepath.Join(folder, name), name}
	}
	var unreadable error
	for _, path := range paths {
		source, err = config.ReadFile(path)
		if err == nil {
			return path, source, nil
		}
		if info, failed := os.Stat(path); failed == nil && info.IsDir() {
			err = fmt.Errorf("%s is a folder; want a file", path)
			of := filepath.Join(path, "config.yaml")
			if _, none := os.Stat(of); none == nil {
				err = fmt.Errorf("%w, such as the config %s of the run; --resume --run %s continues the run", err, of, path)
			}
		}
		if !errors.Is(err, fs.ErrNotExist) && unreadable == nil {
			unreadable = err
		}
	}
	embedded, err := Read(name)
	switch {
	case err == nil: // a folder may have the same name
		return name + ".yaml", embedded, nil
	case unreadable != nil:
		return "", nil, unreadable
	case isFile:
		hint := suggest(name)
		if near := near(paths[0]); hint == "" && near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		return "", nil, fmt.Errorf("there is no file %s%s", name, hint)
	case name == "-":
		return "", nil, errors.New(`there is no config "-"; want the name of a file, such as /dev/stdin for standard input`)
	}
	return "", nil, fmt.Errorf("there is neither a file nor an experiment %q%s", name, suggest(name))
}

// near returns the name of a similar YAML file in the folder of a file that does not exist.
func near(path string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return ""
	}
	var known []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == ".yaml" || ext == ".yml" {
			known = append(known, e.Name())
		}
	}
	return registry.Near(filepath.Base(path), known)
}
