package cli

import (
	"archive/zip"
	"bytes"
	"fmt"
	"go/format"
	"image"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/train"
)

// Every command line of README.md and of the pages works, in the order of its page. Configs, sweeps and tables are short ones:
// files in the current folder go before what comes with unravel.
func TestDocs(t *testing.T) {
	if testing.Short() {
		t.Skip("trains all that the pages train, briefly")
	}
	t.Setenv(asProgram, "1") // for the processes of sweeps
	t.Setenv(cache.RootVariable, t.TempDir())
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sprites := smallSprites(t)
	count := 0
	for _, page := range pages(t) {
		t.Run(filepath.Base(page), func(t *testing.T) {
			text := string(readFile(t, page))
			lines := commandLines(text)
			if len(lines) == 0 {
				return
			}
			hierarchicalFiles(t) // changes to a folder of its own
			writeArrays(t)
			writeFile(t, "dsprites.npz", sprites)
			writePhotos(t)
			writeShort(t, text)
			writeFiles(t, root, text)
			for _, line := range lines {
				count++
				runLine(t, root, line)
			}
		})
	}
	if count < 50 && !t.Failed() {
		t.Errorf("there are %d command lines, want the pages' 50 and more", count)
	}
}

// Every Go program of the pages runs; one that goes on for ever, or is a command line, builds.
func TestDocsPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs of the pages")
	}
	count := 0
	for _, page := range pages(t) {
		for _, block := range goBlock.FindAllStringSubmatch(string(readFile(t, page)), -1) {
			count++
			file := filepath.Join(t.TempDir(), "main.go")
			writeFile(t, file, []byte(block[1]))
			command := "run"
			if strings.Contains(block[1], "ListenAndServe") || strings.Contains(block[1], "cli.Main") {
				command = "vet"
			}
			c := exec.Command("go", command, file)
			c.Dir = ".."
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: program %d: %v\n%s", page, count, err, out)
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

// pages are README.md, CONTRIBUTING.md and those of docs.
func pages(t *testing.T) []string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	list, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}, list...)
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\r?\n(.*?)^```")

// commandLines are the lines of a page's blocks of commands.
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

// shellWords takes a command line apart as a shell does, without its comment.
func shellWords(line string) (words []string) {
	for _, w := range regexp.MustCompile(`(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'])+`).FindAllString(line, -1) {
		if strings.HasPrefix(w, "#") {
			break
		}
		words = append(words, regexp.MustCompile(`"((?:[^"\\]|\\.)*)"|'([^']*)'`).ReplaceAllString(w, "$1$2"))
	}
	return words
}

// runLine runs a command line, which must succeed.
func runLine(t *testing.T, root, line string) {
	t.Helper()
	words := shellWords(line)
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
		served(t, words...)
		return
	}
	o := call(t, words...)
	if o.code != 0 {
		t.Errorf("%s: %v", line, o)
	}
	if into != "" {
		writeFile(t, into, []byte(o.out))
		if strings.Contains(line, "list configs") { // it is the whole experiment
			writeFile(t, into, short(t, strings.TrimSuffix(words[2], ".yaml")))
		}
	}
}

var declared = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Example)\w*)\(`)

// checkGoTest wants the packages of a go test line, and tests or benchmarks that it names.
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
				for _, m := range declared.FindAllStringSubmatch(string(readFile(t, f)), -1) {
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

// shortSets are small data sets of the images that the networks of the configs take.
var shortSets = map[string][]string{
	"square":      {"dataset.square.step=8"},
	"poses":       {"dataset.poses.count=72", "dataset.poses.hues=2"},
	"arrow":       {"dataset.arrow={size: 64, hues: 8, rotations: 8}"},
	"room":        {"dataset.room.hues=3", "dataset.room.scales=2", "dataset.room.orientations=3"},
	"sprites":     {"dataset.sprites.orientations=4", "dataset.sprites.positions=8", "dataset.sprites.scales=3"},
	"chopsticks":  {"dataset.chopsticks.samples=1000"},
	"spaceshapes": {"dataset.spaceshapes.samples=300"},
	"entangled":   nil,
	"flatland":    nil,
	"bumps":       nil,
	"folder":      nil,
	"cars":        {"dataset.cars.objects=3", "dataset.cars.azimuths=6", "dataset.cars.elevations=2"},
	"norb":        {"dataset.norb.instances=2", "dataset.norb.azimuths=3", "dataset.norb.elevations=3"},
	"turntable":   {"dataset.turntable.views=8"},
	"arm":         {"dataset.arm.horizontal=3", "dataset.arm.vertical=3"},
}

// short is an experiment that comes with unravel, on few images and for two steps.
func short(t *testing.T, name string) []byte {
	t.Helper()
	source, err := configs.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := train.Load(name, source)
	if err != nil {
		t.Fatal(err)
	}
	sets, ok := shortSets[c.Dataset.Name]
	if !ok {
		t.Fatalf("%s: no short form of the data set %s", name, c.Dataset.Name)
	}
	if s, ok := c.Dataset.Value.(*datasets.Square); ok && s.Size < 16 {
		sets = nil
	}
	overrides := append([]string{"train.epochs=1", "train.epoch_steps=2", "train.figures=" + fmt.Sprint(name == configs.Quickstart)}, sets...)
	if c.Train.Batch > 32 && c.Dataset.Name != "entangled" {
		overrides = append(overrides, "train.batch=32")
	}
	if c.Metrics.Sample > 0 {
		overrides = append(overrides, "metrics.sample=200")
	}
	if c.Model.Name == "cofhae" { // codes that are hardly trained have tangent planes in all directions
		overrides = append(overrides, "model.cofhae.mimosa={neighbors: 10, min_cosine: 0.3, contagion: 1, min_initial: 2, min_merged: 5, min_decay: 1.05, max_lengths: 1000}")
	}
	for i, s := range c.Supervision {
		key := "supervision"
		if len(c.Supervision) > 1 {
			key = fmt.Sprintf("supervision.%d", i)
		}
		switch s.Name {
		case "pairs", "similarity":
			overrides = append(overrides, fmt.Sprintf("%s={%s: {count: 20}}", key, s.Name))
		case "walks":
			overrides = append(overrides, key+".walks.episodes=8", key+".walks.actions=3")
		case "paths":
			overrides = append(overrides, key+"={paths: {count: 2, length: 8, step: 1}}")
		}
	}
	if c, err = train.Load(name, source, overrides...); err != nil {
		t.Fatal(err)
	}
	text, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// writeShort writes short forms of all that comes with unravel, and the files that the commands of a page take for theirs: sweeps
// whose block begins with their name have two seeds.
func writeShort(t *testing.T, page string) {
	t.Helper()
	for _, name := range configs.Names() {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		writeFile(t, name, short(t, name))
	}
	if err := os.CopyFS(".", configs.Tables()); err != nil { // with the printed values
		t.Fatal(err)
	}
	for _, name := range []string{"dialects", "enriching-table2", "lsbd-vae-table5", "hierarchical-ablation", "hierarchical-table1"} {
		shortTable(t, name, "scales={quick: {seeds: 1}, full: {seeds: 1}}")
	}
	shortTable(t, "modularity-ablation", "scales={quick: {seeds: 1, set: {dataset: $small}}, medium: {seeds: 1, set: {dataset: $small}}, full: {seeds: 1}}")
	writeFile(t, "mine-sweep.yaml", []byte("base: mine.yaml\nset: {train.epochs: 1}\nseeds: [1, 2]\n"))
	shortPlan(t, page)
	for _, plan := range regexp.MustCompile("(?ms)^```yaml\r?\n# (\\w+\\.yaml)\r?\n(.*?)^```").FindAllStringSubmatch(page, -1) {
		root, err := config.Parse(plan[1], []byte(plan[2]))
		if err == nil && root.Get("base") == nil {
			continue // an experiment
		}
		if err == nil {
			err = root.Override("seeds=[0, 1]")
		}
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, plan[1], []byte(root.Inline()))
	}
}

// writePhotos writes pictures and a table of labels, in a cache of the test's own.
func writePhotos(t *testing.T) {
	t.Helper()
	t.Setenv(cache.RootVariable, t.TempDir())
	if err := os.Mkdir("photos", 0o777); err != nil {
		t.Fatal(err)
	}
	labels := "file,brightness,half\n"
	for i := range 40 {
		var b bytes.Buffer
		m := image.NewGray(image.Rect(0, 0, 64, 64))
		for p := range m.Pix {
			m.Pix[p] = uint8(50*(i%5) + p%32)
		}
		if err := png.Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%d.png", i)
		writeFile(t, filepath.Join("photos", name), b.Bytes())
		labels += fmt.Sprintf("%s,%d,%d\n", name, i%5, i/20)
	}
	writeFile(t, "labels.csv", []byte(labels))
}

// writeArrays writes the arrays made elsewhere that README.md measures, besides those of hierarchicalFiles.
func writeArrays(t *testing.T) {
	t.Helper()
	factors, err := table.Read("factors.csv", "factors")
	if err != nil {
		t.Fatal(err)
	}
	writeNPY(t, "z.npy", []int{factors.Rows, factors.Cols}, factors.Data)
	writeNPY(t, "v.npy", []int{factors.Rows, factors.Cols}, factors.Data)
	for _, name := range []string{"learned.json", "true.json"} {
		writeFile(t, name, []byte(hierarchyText))
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
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, "all.npz", archive.Bytes())
}

// shortTable writes a table that comes with unravel, its first row and one draw, as a file that goes before it.
func shortTable(t *testing.T, name, scales string) {
	t.Helper()
	root, err := config.Parse(name, readFile(t, name+".yaml"))
	if err == nil {
		err = root.Override("rows=["+root.Get("rows").Items()[0].Inline()+"]", "notes=[]", "boxes=null", scales)
	}
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, name, []byte(root.Inline()))
}

// shortPlan writes the sweep of a page about sweeps, with one seed and nothing to zip.
func shortPlan(t *testing.T, page string) {
	t.Helper()
	plan := regexp.MustCompile("(?ms)^```yaml\r?\n(name: (\\w+) .*?)^```").FindStringSubmatch(page)
	if plan == nil || !strings.Contains(page, "unravel sweep") {
		return
	}
	root, err := config.Parse(plan[2], []byte(plan[1]))
	if err == nil {
		err = root.Override(`set={"train.epochs": 1}`, "seeds=[0]", "zip={}", `list.1={name: paths, supervision: {paths: {count: 2, length: 8, step: 1}}}`)
	}
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, plan[2]+".yaml", []byte(root.Inline()))
}
