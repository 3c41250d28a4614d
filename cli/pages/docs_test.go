package pages

import (
	"archive/zip"
	"bytes"
	"go/format"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/table"
)

// Every command line of README.md and of the pages works, in the order of its page. Configs, sweeps and tables are
// short: files in the current folder override the embedded ones. In the default test, the lines of most pages end when
// their work begins.
func TestDocs(t *testing.T) {
	long.NotShort(t)
	t.Setenv(clitest.AsProgram, "1") // for the processes of sweeps
	root := must.Get(filepath.Abs(filepath.Join("..", "..")))(t)
	list := pages(t)
	writeShared(t, root)
	shared := must.Get(os.Getwd())(t)
	count := 0
	for _, page := range list {
		t.Run(filepath.Base(page), func(t *testing.T) {
			text := string(must.Read(t, page))
			lines := commandLines(text)
			if len(lines) == 0 {
				return
			}
			t.Chdir(t.TempDir())
			copyShared(t, shared, text)
			run := begun
			if long.Enabled() || slices.Contains(wholePages, filepath.Base(page)) {
				run = clitest.Run
			}
			writeSweeps(t, text)
			writeFiles(t, root, text)
			for _, line := range lines {
				count++
				runLine(t, root, line, run)
			}
		})
	}
	if count < 50 && !t.Failed() {
		t.Errorf("there are %d command lines, want the pages' 50 and more", count)
	}
}

// With -long, every Go program of the pages runs, except servers and command lines, which are vetted. The default test
// checks types.
func TestDocsPrograms(t *testing.T) {
	long.NotShort(t)
	count := 0
	for _, page := range pages(t) {
		for _, block := range goBlock.FindAllStringSubmatch(string(must.Read(t, page)), -1) {
			count++
			check := goRun
			switch {
			case !long.Enabled():
				check = typeCheck
			case strings.Contains(block[1], "ListenAndServe") || strings.Contains(block[1], "cli.Main"):
				check = goVet
			}
			if err := check(t, block[1]); err != nil {
				t.Errorf("%s: program %d: %v", page, count, err)
			}
			if source, err := format.Source([]byte(block[1])); err != nil || string(source) != block[1] {
				t.Errorf("%s: program %d is not formatted, %v", page, count, err)
			}
		}
	}
	if count < 3 {
		t.Errorf("there are %d programs, want 3 or more", count)
	}
}

var goBlock = regexp.MustCompile("(?ms)^```go\n(package main\n.*?)^```")

// pages returns README.md, CONTRIBUTING.md, the pages of docs and the reference of commands.
func pages(t *testing.T) []string {
	t.Helper()
	root := must.Get(filepath.Abs(filepath.Join("..", "..")))(t)
	list := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}
	for _, pattern := range []string{"docs/*.md", "docs/papers/*.md", "docs/reference/commands.md"} {
		found := must.Get(filepath.Glob(filepath.Join(root, pattern)))(t)
		list = append(list, found...)
	}
	return list
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\r?\n(.*?)^```")

// commandLines returns the lines of a page's command blocks.
func commandLines(page string) (lines []string) {
	for _, block := range shellBlock.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// shellWords splits a command line like a shell, without its comment.
func shellWords(line string) (words []string) {
	for _, w := range regexp.MustCompile(`(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'])+`).FindAllString(line, -1) {
		if strings.HasPrefix(w, "#") {
			break
		}
		words = append(words, regexp.MustCompile(`"((?:[^"\\]|\\.)*)"|'([^']*)'`).ReplaceAllString(w, "$1$2"))
	}
	return words
}

// runLine runs a command line that must succeed, with call or begun.
func runLine(t *testing.T, root, line string, run func(testing.TB, ...string) clitest.Outcome) {
	t.Helper()
	words := shellWords(line)
	if !long.Enabled() {
		words = brief(words)
	}
	switch {
	case isOwnGo(words):
		runGo(t, words)
		return
	case slices.Equal(words[:min(2, len(words))], []string{"go", "test"}):
		checkGoTest(t, root, words[2:])
		return
	case words[0] == "unravel":
		words = words[1:]
	case slices.Equal(words[:min(3, len(words))], []string{"go", "run", "./cmd/unravel"}):
		words = words[3:]
	default:
		t.Errorf("%s: neither unravel nor go", line)
		return
	}
	into := ""
	if at := slices.Index(words, ">"); at >= 0 {
		words, into = words[:at], words[at+1]
	}
	if words[0] == "serve" || slices.Contains(words, "--serve") {
		clitest.Served(t, words...)
		return
	}
	if slices.Contains(words, "--check") { // for Unravel's tables and configs, not the short ones here
		back := must.Get(os.Getwd())(t)
		t.Chdir(t.TempDir())
		defer t.Chdir(back)
	}
	if needed(words) {
		run = clitest.Run
	}
	if words[0] == "table" && slices.Contains(words, "--scale") { // the ledger has no runs of the short tables here
		words = append(words, "--yes")
	}
	o := run(t, words...)
	must.Equal(t, o.Code, 0, line, o)
	if into != "" {
		must.Write(t, into, o.Out)
		if strings.Contains(line, "list configs") { // the output is the whole experiment
			must.Write(t, into, clitest.Short(t, strings.TrimSuffix(words[2], ".yaml")))
		}
	}
}

var declared = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Example)\w*)\(`)

// checkGoTest wants the packages, tests and benchmarks of a go test line to exist.
func checkGoTest(t *testing.T, root string, words []string) {
	t.Helper()
	var names, wanted []string
	for i, w := range words {
		switch {
		case strings.HasPrefix(w, "./") && w != "./...":
			files, err := filepath.Glob(filepath.Join(root, w, "*_test.go"))
			if err != nil || len(files) == 0 {
				t.Errorf("go test %s: no package with tests %s", strings.Join(words, " "), w)
			}
			for _, f := range files {
				for _, m := range declared.FindAllStringSubmatch(string(must.Read(t, f)), -1) {
					names = append(names, m[1])
				}
			}
		case w == "-run" || w == "-bench":
			wanted = append(wanted, words[i+1])
		}
	}
	for _, pattern := range wanted {
		for _, one := range strings.Split(pattern, "|") {
			r := regexp.MustCompile(one)
			if one != "^$" && !slices.ContainsFunc(names, r.MatchString) {
				t.Errorf("go test %s: nothing is called %s", strings.Join(words, " "), one)
			}
		}
	}
}

// writeShared makes a folder with the files for every page: arrays, pictures, and short forms of all experiments,
// sweeps and tables.
func writeShared(t *testing.T, root string) {
	t.Helper()
	clitest.HierarchicalFiles(t)
	writeArrays(t)
	must.Write(t, "dsprites.npz",
		must.Read(t, filepath.Join(root, "datasets", "public", "testdata", "dsprites", "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz")))
	clitest.WritePhotos(t)
	for _, name := range configs.Names() {
		must.Write(t, name, clitest.Short(t, name))
	}
	printed, err := fs.Sub(configs.Tables(), "reference")
	if err == nil {
		err = os.CopyFS("reference", printed)
	}
	must.OK(t, err)
	for _, name := range []string{"dialects", "enriching-table2", "lsbd-vae-table5", "hierarchical-ablation", "hierarchical-table1"} {
		shortTable(t, name, "scales={quick: {seeds: 1}, medium: {seeds: 1}, full: {seeds: 1}}")
	}
	shortTable(t, "modularity-ablation",
		"scales={quick: {seeds: 1, set: {dataset: $small}}, medium: {seeds: 1, set: {dataset: $small}}, full: {seeds: 1}}")
	must.Write(t, "mine-sweep.yaml", "base: mine.yaml\nset: {train.epochs: 1}\nseeds: [1, 2]\n")
}

// copyShared copies shared files to the current folder: all files with -long, otherwise only files that the page names,
// directly or through another file.
func copyShared(t *testing.T, shared, page string) {
	t.Helper()
	files := os.DirFS(shared)
	if long.Enabled() {
		must.OK(t, os.CopyFS(".", files))
		return
	}
	page += configs.Quickstart // the config of a command without one
	copied := map[string]bool{}
	copyNamed := func(name string, d fs.DirEntry, err error) error {
		key := name
		if folder := path.Dir(name); folder == "photos" || folder == "reference" { // a whole folder
			key = folder
		}
		if err != nil || d.IsDir() || copied[name] || !strings.Contains(page, key) {
			return err
		}
		copied[name] = true
		if err := os.MkdirAll(path.Dir(name), 0o777); err != nil {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if path.Ext(name) == "" { // a config or a table
			page += string(content)
		}
		must.Write(t, name, content)
		return err
	}
	for range 2 { // tables name configs
		must.OK(t, fs.WalkDir(files, ".", copyNamed))
	}
}

// writeSweeps writes the sweeps of a page.
func writeSweeps(t *testing.T, page string) {
	t.Helper()
	shortPlan(t, page)
	for _, plan := range regexp.MustCompile("(?ms)^```yaml\r?\n# (\\w+\\.yaml)\r?\n(.*?)^```").FindAllStringSubmatch(page, -1) {
		root, err := config.Parse(plan[1], []byte(plan[2]))
		if err == nil && root.Get("base") == nil {
			continue // an experiment
		}
		if err == nil && root.Get("search") == nil {
			err = root.Override("seeds=" + seeds(plan[2]))
		}
		must.OK(t, err)
		must.Write(t, plan[1], root.Inline())
	}
}

// writeArrays writes the external arrays that README.md measures, besides the arrays of HierarchicalFiles.
func writeArrays(t *testing.T) {
	t.Helper()
	factors := must.Get(table.Read("factors.csv", "factors"))(t)
	must.WriteNPY(t, "z.npy", []int{factors.Rows, factors.Cols}, factors.Data)
	must.WriteNPY(t, "v.npy", []int{factors.Rows, factors.Cols}, factors.Data)
	for _, name := range []string{"learned.json", "true.json"} {
		must.Write(t, name, clitest.HierarchyText)
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	var codes, levels []float64
	for i := range 60 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i%6) / 6)
		codes, levels = append(codes, cos, sin, float64(i/6)), append(levels, float64(i%6), float64(i/6))
	}
	for name, columns := range map[string][]float64{"codes.npy": codes, "factors.npy": levels} {
		w, err := z.Create(name)
		if err == nil {
			err = npy.Write(w, []int{60, len(columns) / 60}, columns)
		}
		must.OK(t, err)
	}
	must.OK(t, z.Close())
	must.Write(t, "all.npz", archive.Bytes())
}

// shortTable writes a file of an Unravel table with its first row and one draw. The file overrides the embedded table.
func shortTable(t *testing.T, name, scales string) {
	t.Helper()
	source := must.Get(fs.ReadFile(configs.Tables(), name+".yaml"))(t)
	root, err := config.Parse(name, source)
	if err == nil {
		err = root.Override("rows=["+root.Get("rows").Items()[0].Inline()+"]", "notes=[]", "boxes=null", scales)
	}
	must.OK(t, err)
	must.Write(t, name, root.Inline())
}

// shortPlan writes the sweep of a page about sweeps, with one seed and without zip.
func shortPlan(t *testing.T, page string) {
	t.Helper()
	plan := regexp.MustCompile("(?ms)^```yaml\r?\n(name: (\\w+) .*?)^```").FindStringSubmatch(page)
	if plan == nil || !strings.Contains(page, "unravel sweep") {
		return
	}
	root, err := config.Parse(plan[2], []byte(plan[1]))
	if err == nil {
		err = root.Override(`set={"train.epochs": 1}`, "seeds=[0]", "zip={}",
			`list.1={name: paths, supervision: {paths: {count: 2, length: 8, step: 1}}}`)
	}
	if err == nil && !long.Enabled() {
		err = root.Override("product={}")
	}
	must.OK(t, err)
	must.Write(t, plan[2]+".yaml", root.Inline())
}
