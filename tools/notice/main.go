// Command notice writes the licences of all modules that are linked into unravel to a file for distribution with the
// binaries:
//
//	go run ./tools/notice > NOTICE
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/tools/internal/linked"
)

func main() {
	if err := write(os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}

// write writes the notice for the module in a folder.
func write(w io.Writer, root string) error {
	modules, err := linked.Modules(root)
	if err != nil {
		return err
	}
	var texts []string               // in the order of the first module with each text
	holders := map[string][]string{} // modules by text
	for _, m := range modules {
		files, err := linked.Licences(m.Dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(filepath.Join(m.Dir, name))
			if err != nil {
				return err
			}
			clean := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
			if holders[clean] == nil {
				texts = append(texts, clean)
			}
			holders[clean] = append(holders[clean], fmt.Sprintf("%s %s (%s)", m.Path, m.Version, filepath.ToSlash(name)))
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "Unravel is distributed under the licence in LICENSE. Its binaries contain %d modules under the licences below.\nThis file is made by: go run ./tools/notice > NOTICE\n", len(modules))
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(holders[text], "\n"), text)
	}
	_, err = w.Write(b.Bytes())
	return err
}
