package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// command runs a program in a folder and returns its output.
func command(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	var out, failure bytes.Buffer
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, append(os.Environ(), env...), &out, &failure
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(append([]string{name}, args...), " "), err, out.String(),
			failure.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// checkTree returns an error for files that differ from the commit, and for a tag of another commit.
func (r *release) checkTree(ctx context.Context) error {
	changed, err := command(ctx, r.root, nil, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the tree is not clean; commit, remove or ignore these files:\n%s", changed)
	}
	head, err := command(ctx, r.root, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	tagged, err := command(ctx, r.root, nil, "git", "rev-list", "-n1", "--ignore-missing", "refs/tags/"+r.version)
	if err == nil && tagged != "" && tagged != head {
		return fmt.Errorf("the tag %s is on %.8s; want it on the current commit %.8s", r.version, tagged, head)
	}
	return nil
}

// clone clones the commit and tags the clone. Go can then stamp the version and the revision into programs, ignored
// files are excluded, and other tags have no effect.
func (r *release) clone(ctx context.Context, dir string) error {
	root, err := filepath.Abs(r.root)
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"clone", "-q", "--shared", "--no-tags", root, dir},
		{"-C", dir, "tag", r.version},
	} {
		if _, err := command(ctx, root, nil, "git", args...); err != nil {
			return err
		}
	}
	date, err := command(ctx, dir, nil, "git", "log", "-1", "--format=%cI")
	if err != nil {
		return err
	}
	r.copy = dir
	r.date, err = time.Parse(time.RFC3339, date)
	r.date = r.date.UTC()
	return err
}

// variant is a build of the program for a system.
type variant struct {
	system string // such as linux/amd64
	gpu    bool   // with -tags gpu, which requires the system's C library
}

// name returns the variant as a part of a file name.
func (v variant) name() string {
	if v.gpu {
		return "gpu-" + fileName(v.system)
	}
	return fileName(v.system)
}

// variants lists the builds of the release: one per system, and one with GPU support for each system on which it was
// tested.
func (r *release) variants() (list []variant) {
	for _, s := range r.systems {
		list = append(list, variant{s, false})
		if strings.HasPrefix(s, "linux/") {
			list = append(list, variant{s, true})
		}
	}
	return list
}

// build compiles the program without paths of this machine. Without GPU support, it is statically linked.
func (r *release) build(ctx context.Context, v variant, to string) error {
	system, tags := v.system, ""
	if v.gpu {
		tags = "gpu"
	}
	goos, arch, _ := strings.Cut(system, "/")
	env := []string{"GOOS=" + goos, "GOARCH=" + arch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOAMD64=v1",
		"GOARM64=v8.0", "GOEXPERIMENT="}
	_, err := command(ctx, r.copy, env, "go", "build", "-tags", tags, "-trimpath", "-buildvcs=true",
		"-ldflags=-s -w -buildid=", "-o", to, "./cmd/unravel")
	return err
}

// completions are the names of the completion scripts in an archive, by shell.
var completions = map[string]string{"bash": "unravel.bash", "zsh": "_unravel", "fish": "unravel.fish"}

// texts runs the program for this machine. It writes the site to the release, and the manual page and the completion
// scripts to a folder.
func (r *release) texts(ctx context.Context, programs, to string) error {
	host := runtime.GOOS + "/" + runtime.GOARCH
	program := programs + "-" + fileName(host)
	if !slices.Contains(r.systems, host) {
		if err := r.build(ctx, variant{system: host}, program); err != nil {
			return err
		}
	}
	name, err := command(ctx, r.copy, nil, program, "version")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(name, "unravel "+r.version+",") {
		return fmt.Errorf("the program has the version %q; want %s", name, r.version)
	}
	if err := os.MkdirAll(filepath.Join(to, "completion"), 0o777); err != nil {
		return err
	}
	for shell, file := range completions {
		script, err := command(ctx, r.copy, nil, program, "completion", shell)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, "completion", file), []byte(script+"\n"), 0o666)
		}
		if err != nil {
			return err
		}
	}
	if _, err := command(ctx, r.copy, nil, program, "docs", "--man", filepath.Join(to, "unravel.1")); err != nil {
		return err
	}
	site := filepath.Join(to, "..", "site")
	if _, err := command(ctx, r.copy, nil, program, "docs", "--out", site); err != nil {
		return err
	}
	folder := "unravel-" + r.version + "-docs"
	files, err := filesOf(os.DirFS(site), ".", folder)
	if err != nil {
		return err
	}
	return r.write(folder+".tar.gz", func(b *bytes.Buffer) error { return writeTar(b, files, r.date) })
}

// pack writes the archive of a variant, and the wheel of a static program.
func (r *release) pack(ctx context.Context, v variant, program, texts string) error {
	system, folder := v.system, "unravel-"+r.version+"-"+v.name()
	windows := strings.HasPrefix(system, "windows/")
	binary, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	name := "unravel"
	if windows {
		name += ".exe"
	}
	files, err := filesOf(os.DirFS(texts), ".", folder)
	if err != nil {
		return err
	}
	files = append(files, file{path.Join(folder, name), binary, true})
	for _, name := range []string{"README.md", "CHANGELOG.md", "LICENSE", "NOTICE"} {
		text, err := os.ReadFile(filepath.Join(r.copy, name))
		if err != nil {
			return err
		}
		files = append(files, file{path.Join(folder, name), text, false})
	}
	if windows {
		err = r.write(folder+".zip", func(b *bytes.Buffer) error { return writeZip(b, files, r.date) })
	} else {
		err = r.write(folder+".tar.gz", func(b *bytes.Buffer) error { return writeTar(b, files, r.date) })
	}
	if err != nil || v.gpu {
		return err
	}
	_, err = command(ctx, r.copy, []string{"GOFLAGS=-trimpath"}, "go", "run", "./tools/wheels", "-out", r.out, "-version",
		pythonVersion(r.version), "-program", program, system)
	return err
}

// pythonVersion returns a version in PEP 440 format: v0.1.0-rc.1 becomes 0.1.0rc1.
func pythonVersion(version string) string {
	return strings.NewReplacer("v", "", "-alpha.", "a", "-beta.", "b", "-rc.", "rc").Replace(version)
}

// write writes a file of the release.
func (r *release) write(name string, content func(b *bytes.Buffer) error) error {
	var b bytes.Buffer
	if err := content(&b); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name), b.Bytes(), 0o666)
}

// filesOf reads the files below a folder, and renames them to be below another folder.
func filesOf(from fs.FS, dir, to string) (files []file, err error) {
	err = fs.WalkDir(from, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(from, name)
		files = append(files, file{path.Join(to, name), text, false})
		return err
	})
	if err == nil && len(files) == 0 {
		err = errors.New("there are no files")
	}
	return files, err
}
