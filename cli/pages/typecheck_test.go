package pages

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// compiled finds the exports of all packages that the pages' programs import.
type compiled struct {
	files    *token.FileSet
	importer types.Importer
}

// exports asks the go command once for the packages in the build cache.
var exports = sync.OnceValues(func() (*compiled, error) {
	c := exec.Command("go", "list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}",
		module+"cli", module+"conformance", module+"train/weights", module+"train/sweep/...", "testing", "net/http")
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	paths := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		paths[name] = file
	}
	files := token.NewFileSet()
	return &compiled{files, importer.ForCompiler(files, "gc", func(name string) (io.ReadCloser, error) { return os.Open(paths[name]) })}, nil
})

// goRun runs a program, and goVet compiles and checks it.
func goRun(t *testing.T, sources ...string) error { return goCommand(t, "run", sources) }
func goVet(t *testing.T, sources ...string) error { return goCommand(t, "vet", sources) }

func goCommand(t *testing.T, command string, sources []string) error {
	t.Helper()
	c := exec.Command("go", command)
	c.Dir = filepath.Join("..", "..")
	for i, s := range sources {
		file := must.Write(t, filepath.Join(t.TempDir(), fmt.Sprintf("file%d.go", i)), s)
		c.Args = append(c.Args, file)
	}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// typeCheck checks the types of a program or a test package, given the texts of its files.
func typeCheck(t *testing.T, sources ...string) error {
	t.Helper()
	c, err := exports()
	must.OK(t, err)
	var files []*ast.File
	for i, s := range sources {
		f, err := parser.ParseFile(c.files, fmt.Sprintf("file%d.go", i), s, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	_, err = (&types.Config{Importer: c.importer}).Check("main", c.files, files, nil)
	return err
}
