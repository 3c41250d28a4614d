// Command notice writes the licences of all modules that are linked into unravel to a file, which goes with binaries:
//
//	go run ./tools/notice > NOTICE
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := write(os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}

// systems are the systems of the binaries: some link modules that others do not.
var systems = []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"}

// module is a linked module.
type module struct{ path, version, dir string }

// write writes the notice of the module in a folder.
func write(w io.Writer, root string) error {
	modules, err := linked(root)
	if err != nil {
		return err
	}
	var texts []string               // in the order of the first module with the text
	holders := map[string][]string{} // by text: modules
	for _, m := range modules {
		files, err := licences(m.dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(filepath.Join(m.dir, name))
			if err != nil {
				return err
			}
			clean := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
			if holders[clean] == nil {
				texts = append(texts, clean)
			}
			holders[clean] = append(holders[clean], fmt.Sprintf("%s %s (%s)", m.path, m.version, filepath.ToSlash(name)))
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

// linked lists the modules that the packages of the command come from, on any of the systems.
func linked(root string) ([]module, error) {
	var list []module
	for _, system := range systems {
		operating, processor, _ := strings.Cut(system, "/")
		c := exec.Command("go", "list", "-tags", "gpu", "-deps", "-f", "{{with .Module}}{{if .Version}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/unravel")
		c.Dir, c.Env = root, append(os.Environ(), "GOOS="+operating, "GOARCH="+processor, "CGO_ENABLED=0", "GOWORK=off")
		var failure bytes.Buffer
		c.Stderr = &failure
		out, err := c.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w: %s", err, failure.String())
		}
		for line := range strings.Lines(string(out)) {
			fields := strings.Split(strings.TrimSpace(line), "\t")
			if len(fields) == 3 {
				list = append(list, module{fields[0], fields[1], fields[2]})
			}
		}
	}
	slices.SortFunc(list, func(a, b module) int { return strings.Compare(a.path, b.path) })
	return slices.Compact(list), nil
}

// licences lists the files of a module's folder that hold its licences and notices.
func licences(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path) // path is below dir
		inside := strings.EqualFold(filepath.Base(filepath.Dir(name)), "licenses")
		switch {
		case d.IsDir() && name != "." && !strings.EqualFold(d.Name(), "licenses"):
			return filepath.SkipDir
		case !d.IsDir() && (inside || isLicence(d.Name())):
			names = append(names, name)
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		err = errors.New("there is no file of its licence")
	}
	return names, err
}

// isLicence reports the usual names.
func isLicence(name string) bool {
	upper := strings.ToUpper(name)
	return slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, func(begin string) bool { return strings.HasPrefix(upper, begin) }) &&
		!strings.HasSuffix(upper, ".GO")
}
