// Command wheels builds the wheels of the Python package, which contain the program for each system:
//
//	go run ./tools/wheels -out dist
//	go run ./tools/wheels -out dist -version 0.1.0 linux/amd64
//
// The same source gives the same bytes.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/tools/internal/linked"
)

// tags are the platform tags of the systems. Programs without cgo do not need a C library, so they also run on musl.
var tags = map[string]string{
	"linux/amd64":   "manylinux2014_x86_64.manylinux_2_17_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":   "manylinux2014_aarch64.manylinux_2_17_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64":  "macosx_12_0_x86_64",
	"darwin/arm64":  "macosx_12_0_arm64",
	"windows/amd64": "win_amd64",
	"windows/arm64": "win_arm64",
}

func main() {
	out := flag.String("out", "dist", "folder of the wheels")
	program := flag.String("program", "", "program of a single system, instead of a build")
	release := flag.String("version", "", "version of the package, instead of the one in python/pyproject.toml")
	flag.Parse()
	list := flag.Args()
	if len(list) == 0 {
		list = linked.Systems
	}
	for _, system := range list {
		path, err := makeWheel(".", *out, system, *program, *release)
		if err != nil {
			fmt.Fprintln(os.Stderr, "wheels:", err)
			os.Exit(1)
		}
		fmt.Println(path)
	}
}

// makeWheel builds the wheel for a system. It also builds the program, unless program names a file.
func makeWheel(root, out, system, program, release string) (path string, err error) {
	if tags[system] == "" {
		return "", fmt.Errorf("system %q is unknown; want some of %s", system, strings.Join(linked.Systems, ", "))
	}
	if program == "" {
		dir, err := os.MkdirTemp("", "wheels")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "unravel")
		if err := build(root, system, program); err != nil {
			return "", err
		}
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	name, content, err := wheel(root, system, release, binary)
	if err != nil {
		return "", err
	}
	path = filepath.Join(out, name)
	return path, errors.Join(os.MkdirAll(out, 0o777), os.WriteFile(path, content, 0o666))
}

// build compiles the program for a system.
func build(root, system, to string) error {
	goos, arch, _ := strings.Cut(system, "/")
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	c := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", to, "./cmd/unravel")
	c.Dir, c.Stderr = root, os.Stderr
	c.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0")
	return c.Run()
}

var (
	version = regexp.MustCompile(`(?m)^version = "([0-9A-Za-z.]+)"$`)
	summary = regexp.MustCompile(`(?m)^description = "(.*)"$`)
	python  = regexp.MustCompile(`(?m)^requires-python = "(.*)"$`)
	numpy   = regexp.MustCompile(`(?m)^dependencies = \["(.*)"\]$`)
)

// wheel returns the name and the content of a wheel: PEP 427 and the core metadata of Python packages, version 2.1. If
// release is empty, it uses the version of the project.
func wheel(root, system, release string, program []byte) (name string, content []byte, err error) {
	project, err := os.ReadFile(filepath.Join(root, "python/pyproject.toml"))
	if err != nil {
		return "", nil, err
	}
	var fields []string
	for _, field := range []*regexp.Regexp{version, summary, python, numpy} {
		m := field.FindSubmatch(project)
		if m == nil {
			return "", nil, fmt.Errorf("python/pyproject.toml: no line matches %v", field)
		}
		fields = append(fields, string(m[1]))
	}
	if release != "" {
		fields[0] = release
	}
	files, err := packageFiles(root)
	if err != nil {
		return "", nil, err
	}
	base := "unravel-" + fields[0]
	info := base + ".dist-info/"
	readme, err := os.ReadFile(filepath.Join(root, "python/README.md"))
	if err != nil {
		return "", nil, err
	}
	files[info+"METADATA"] = fmt.Appendf(nil,
		"Metadata-Version: 2.1\nName: unravel\nVersion: %s\nSummary: %s\nLicense: MIT\n"+
			"Requires-Python: %s\nRequires-Dist: %s\nProvides-Extra: pandas\nRequires-Dist: pandas ; extra == 'pandas'\n"+
			"Description-Content-Type: text/markdown\n\n%s", fields[0], fields[1], fields[2], fields[3], readme)
	var lines strings.Builder
	for tag := range strings.SplitSeq(tags[system], ".") {
		fmt.Fprintf(&lines, "Tag: py3-none-%s\n", tag)
	}
	files[info+"WHEEL"] = []byte("Wheel-Version: 1.0\nGenerator: unravel\nRoot-Is-Purelib: false\n" + lines.String())
	for _, licence := range []string{"LICENSE", "NOTICE"} {
		if files[info+licence], err = os.ReadFile(filepath.Join(root, licence)); err != nil {
			return "", nil, err
		}
	}
	binary := "unravel/bin/unravel"
	if strings.HasPrefix(system, "windows/") {
		binary += ".exe"
	}
	files[binary] = program
	content, err = archive(files, info+"RECORD", binary)
	return base + "-py3-none-" + tags[system] + ".whl", content, err
}

// packageFiles reads the files of the package.
func packageFiles(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	from := os.DirFS(filepath.Join(root, "python"))
	for _, pattern := range []string{"unravel/*.py", "unravel/py.typed"} {
		names, err := fs.Glob(from, pattern)
		if err != nil || len(names) == 0 {
			return nil, errors.Join(err, fmt.Errorf("there is no python/%s", pattern))
		}
		for _, name := range names {
			if files[name], err = fs.ReadFile(from, name); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// archive packs files sorted by name, with the record of their hashes last.
func archive(files map[string][]byte, record, program string) ([]byte, error) {
	names := slices.Sorted(maps.Keys(files)) // .dist-info need not be last
	var list bytes.Buffer
	for _, name := range names {
		sum := sha256.Sum256(files[name])
		fmt.Fprintf(&list, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(files[name]))
	}
	fmt.Fprintf(&list, "%s,,\n", record)
	files[record] = list.Bytes()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range append(names, record) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		h.SetMode(0o644)
		if name == program {
			h.SetMode(0o755)
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = io.Copy(w, bytes.NewReader(files[name]))
		}
		if err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}
