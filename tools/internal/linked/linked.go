// Package linked lists the modules that are linked into the unravel binaries, and their licences.
package linked

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Systems are the systems with binaries. Some systems link modules that others do not.
var Systems = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// Module is a linked module.
type Module struct{ Path, Version, Dir string }

// Modules lists the modules with packages that the command in a folder links, on any of the systems.
func Modules(root string) ([]Module, error) {
	var list []Module
	for _, system := range Systems {
		operating, processor, _ := strings.Cut(system, "/")
		c := exec.Command("go", "list", "-tags", "gpu", "-deps", "-f",
			"{{with .Module}}{{if .Version}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/unravel")
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
				list = append(list, Module{fields[0], fields[1], fields[2]})
			}
		}
	}
	slices.SortFunc(list, func(a, b Module) int { return strings.Compare(a.Path, b.Path) })
	return slices.Compact(list), nil
}

// Licences lists the licence and notice files in a module's folder.
func Licences(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path) // path is always below dir
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

// isLicence reports whether a file has a usual name of a licence or notice.
func isLicence(name string) bool {
	upper := strings.ToUpper(name)
	return slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"},
		func(begin string) bool { return strings.HasPrefix(upper, begin) }) &&
		!strings.HasSuffix(upper, ".GO")
}
