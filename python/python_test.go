// Package python_test runs the tests of the Python package.
package python_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestMain(m *testing.M) { os.Exit(long.Run(m)) }

// interpreter returns a Python that can import modules.
func interpreter(t *testing.T, modules string) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3", "python"} {
		if path, err := exec.LookPath(name); err == nil && exec.Command(path, "-c", "import "+modules).Run() == nil {
			return path
		}
	}
	t.Skip("there is no Python with " + modules)
	return ""
}

// program builds the program.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "unravel")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	command(t, "..", nil, "go", "build", "-o", path, "./cmd/unravel")
	return path
}

func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		var failed *exec.ExitError
		if !errors.As(err, &failed) {
			t.Fatal(err)
		}
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The package passes its tests, from the source and from an installed wheel.
func TestPython(t *testing.T) {
	long.Only(t)
	python := interpreter(t, "numpy")
	unravel := program(t)
	command(t, ".", []string{"UNRAVEL=" + unravel, "PYTHONDONTWRITEBYTECODE=1"}, python, "-m", "unittest", "tests.test_unravel")
}

// A wheel installs offline into a clean environment, and finds its own program.
func TestWheel(t *testing.T) {
	long.Only(t)
	python := interpreter(t, "numpy, venv, ensurepip")
	dir := t.TempDir()
	system := runtime.GOOS + "/" + runtime.GOARCH
	wheel := filepath.Clean(strings.TrimSpace(command(t, "..", nil, "go", "run", "./tools/wheels", "-out", dir, "-program",
		program(t), system)))
	env := filepath.Join(dir, "env")
	command(t, dir, nil, python, "-m", "venv", "--system-site-packages", env)
	inside := filepath.Join(env, "bin", "python")
	if runtime.GOOS == "windows" {
		inside = filepath.Join(env, "Scripts", "python.exe")
	}
	command(t, dir, nil, inside, "-m", "pip", "install", "--no-index", wheel)
	out := command(t, dir, []string{"UNRAVEL=", "PATH="}, inside, "-c",
		"import unravel; print(unravel.program()); print(unravel.dataset('square', size=16, side=4).images.shape)")
	if lines := strings.Split(out, "\n"); !strings.HasPrefix(lines[0], env) || strings.TrimSpace(lines[1]) != "(256, 16, 16, 1)" {
		t.Error(out)
	}
	command(t, dir, nil, inside, "-m", "unravel", "version")
}

// The notebooks run from beginning to end.
func TestNotebooks(t *testing.T) {
	long.Only(t)
	python := interpreter(t, "numpy, torch, matplotlib, pandas, nbclient, ipykernel")
	source := must.Get(filepath.Abs("."))(t)
	notebooks, err := filepath.Glob("examples/*.ipynb")
	if err != nil || len(notebooks) == 0 {
		t.Fatalf("%q, %v", notebooks, err)
	}
	env := []string{"UNRAVEL=" + program(t), "PYTHONPATH=" + source, "PYTHONDONTWRITEBYTECODE=1"}
	for _, notebook := range notebooks {
		path := must.Get(filepath.Abs(notebook))(t)
		command(t, t.TempDir(), env, python, "-c", "import nbclient, nbformat, sys; "+
			"nbclient.NotebookClient(nbformat.read(sys.argv[1], 4), timeout=300, kernel_name='python3').execute()", path)
	}
}
