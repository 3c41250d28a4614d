package mlflow

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"github.com/unravel-ml/unravel/internal/disk"
)

// meta is the content of a meta.yaml: keys with texts, integers, nil or an empty list.
type meta []entry

type entry struct {
	key   string
	value any
}

// encode writes YAML that readers of versions 1.1 and 1.2 understand alike: texts are in quotes.
func (m meta) encode() []byte {
	var b bytes.Buffer
	for _, e := range m {
		text := "null"
		switch v := e.value.(type) {
		case string:
			text = quoted(v)
		case int, int64:
			text = fmt.Sprint(v)
		case []string:
			text = "[]"
		}
		fmt.Fprintf(&b, "%s: %s\n", e.key, text)
	}
	return b.Bytes()
}

// quoted writes a text in double quotes with escapes that YAML has.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// metaMap is a meta.yaml as it was read.
type metaMap map[string]any

func (m metaMap) text(key string) string {
	s, _ := m[key].(string)
	return s
}

// readMeta reads a meta.yaml; nil for a missing one.
func readMeta(path string) (metaMap, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := metaMap{}
	if err := yaml.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// put writes a file unless it has that content already; changed tells whether it had not. It does not write through links.
func put(path string, content []byte) (changed bool, err error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
			return false, nil
		}
	}
	f, err := disk.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	if err != nil {
		return false, err
	}
	_, err = f.Write(content)
	return true, errors.Join(err, f.Close())
}

// putAll makes a folder hold files of these names and contents. Without keep, other files in it are removed.
func putAll(dir string, files map[string]string, keep bool) (changed bool, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return false, err
	}
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.Contains(name, "/") {
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				return changed, err
			}
		}
		new, err := put(path, []byte(content))
		if err != nil {
			return changed, err
		}
		changed = changed || new
	}
	if keep {
		return changed, nil
	}
	return changed, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if _, ok := files[filepath.ToSlash(rel)]; err == nil && !ok {
			changed = true
			err = os.Remove(path)
		}
		return err
	})
}

// The limits of MLflow, in characters (mlflow/utils/validation.py).
const (
	maxParam          = 6000
	maxTag            = 5000
	maxExperimentName = 500
)

// cut shortens a text to so many characters; one that is cut ends in an ellipsis.
func cut(s string, most int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
