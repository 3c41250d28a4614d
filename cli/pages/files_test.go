package pages

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// fileBlock matches blocks that are files: their first line is a comment with the file's name.
var fileBlock = regexp.MustCompile("(?ms)^```(?:go|yaml)\r?\n((?://|#) ([\\w-]+\\.(?:go|yaml))\r?\n.*?)^```")

// csvBlock matches tables that are files: the name follows the language.
var csvBlock = regexp.MustCompile("(?ms)^```csv ([\\w-]+\\.csv)\r?\n(.*?)^```")

// writeFiles writes the files of a page to the current folder. A page with main.go is a module. Files of [writeSweeps]
// remain.
func writeFiles(t *testing.T, root, page string) {
	t.Helper()
	if strings.Contains(page, "```python\n# codes.py") {
		writeCodes(t)
	}
	if strings.Contains(page, "--from results/models") {
		must.OK(t, os.CopyFS("results/models", os.DirFS(filepath.Join(root, "results", "models"))))
	}
	for _, m := range csvBlock.FindAllStringSubmatch(page, -1) {
		must.Write(t, m[1], m[2])
	}
	for _, m := range fileBlock.FindAllStringSubmatch(page, -1) {
		switch {
		case !strings.HasSuffix(m[2], ".yaml"):
			text := m[1]
			if !long.Enabled() {
				text = strings.Replace(text, "range 2000", "range 200", 1)
			}
			must.Write(t, m[2], text)
		case !strings.Contains(m[1], "\nbase:"): // a short experiment or table
			root, err := config.Parse(m[2], []byte(m[1]))
			if err == nil && root.Get("rows") != nil {
				err = root.Override("scales={quick: {seeds: 1}, full: {seeds: 1}}")
			} else if err == nil {
				err = root.Override(ownLength()...)
			}
			must.OK(t, err)
			must.Write(t, m[2], root.Inline())
		}
		switch m[2] {
		case "main.go":
			writeModule(t, root)
		case "pictures.go": // it draws the page's folder
			must.OK(t, os.RemoveAll("photos"))
		}
	}
}

// writeModule makes the current folder a module that finds Unravel in root, with the requirements of the example's
// module.
func writeModule(t *testing.T, root string) {
	t.Helper()
	from := filepath.Join(root, "examples", "ownparts")
	text := string(must.Read(t, filepath.Join(from, "go.mod")))
	text = strings.Replace(text, "module example.org/ownparts", "module example.org/mine", 1)
	text = strings.Replace(text, "=> ../..", "=> "+root, 1)
	must.Write(t, "go.mod", text)
	must.Write(t, "go.sum", must.Read(t, filepath.Join(from, "go.sum")))
}

// runGo runs the program or the tests of a page's files. By default it only checks the types of tests, and of programs
// that would link Unravel.
func runGo(t *testing.T, words []string) {
	t.Helper()
	pattern := "*.go"
	if words[1] == "run" && words[2] != "." {
		pattern = words[2]
	}
	var sources []string
	files := must.Get(filepath.Glob(pattern))(t)
	for _, f := range files {
		sources = append(sources, string(must.Read(t, f)))
	}
	switch {
	case !long.Enabled() && (words[1] == "test" || strings.Contains(strings.Join(sources, ""), module)):
		if err := typeCheck(t, sources...); err != nil {
			t.Errorf("%s: %v", strings.Join(words, " "), err)
		}
		return
	case words[1] == "run": // built once, without debug tables
		program := "./program-" + strings.Trim(words[2], ".") + ".exe"
		if _, err := os.Stat(program); err != nil {
			if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, words[2]).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", strings.Join(words, " "), err, out)
				return
			}
		}
		words = append([]string{program}, words[3:]...)
	}
	c := exec.Command(words[0], words[1:]...)
	c.Env = append(os.Environ(), clitest.AsProgram+"=")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(words, " "), err, out)
	}
}

// isOwnGo reports whether a command line runs or tests files of a page.
func isOwnGo(words []string) bool {
	return len(words) > 2 && words[0] == "go" && (words[1] == "run" || words[1] == "test") &&
		(words[2] == "." || strings.HasSuffix(words[2], ".go"))
}

// writeCodes writes the output of codes.py in docs/foreign-codes.md: codes of three factors, before and after training.
func writeCodes(t *testing.T) {
	t.Helper()
	var levels, before, after []float64
	for i := range 512 {
		a, b, c := float64(i/64), float64(i/8%8), float64(i%8)
		levels = append(levels, a, b, c)
		before = append(before, math.Sin(a+b), math.Cos(b+c), math.Sin(a*c), a+b+c, math.Cos(a), b*c)
		after = append(after, a+b, b-c, a-c, math.Sin(a), math.Cos(b), c*c)
	}
	must.WriteNPY(t, "factors.npy", []int{512, 3}, levels)
	must.WriteNPY(t, "before.npy", []int{512, 6}, before)
	must.WriteNPY(t, "after.npy", []int{512, 6}, after)
}
