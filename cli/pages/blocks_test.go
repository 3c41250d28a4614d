package pages

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// block is a code block of a page.
type block struct{ page, language, code string }

// codeBlock matches code blocks and their indentation in lists.
var codeBlock = regexp.MustCompile("(?ms)^([ ]*)```(\\w+)[^\n]*\n(.*?)^[ ]*```")

// blocks lists the code blocks of all pages in a language.
func blocks(t *testing.T, language string) (list []block) {
	t.Helper()
	for _, page := range pages(t) {
		for _, m := range codeBlock.FindAllStringSubmatch(string(must.Read(t, page)), -1) {
			if m[2] == language {
				list = append(list, block{filepath.Base(page), m[2], dedent(m[3])})
			}
		}
	}
	return list
}

// dedent removes the common indentation.
func dedent(code string) string {
	least := -1
	for line := range strings.Lines(code) {
		if n := len(line) - len(strings.TrimLeft(line, " ")); strings.TrimSpace(line) != "" && (least < 0 || n < least) {
			least = n
		}
	}
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(line[min(max(least, 0), len(line)-len(strings.TrimLeft(line, " "))):])
	}
	return b.String()
}

// Every YAML block is an experiment, a sweep or a table, or some of its keys. Strict reading accepts it.
func TestDocsYAML(t *testing.T) {
	list, values := blocks(t, "yaml"), blocks(t, "csv")
	for _, b := range list {
		for _, text := range alternatives(b.code) {
			err := checkYAML(b.page, text)
			if strings.Contains(text, "reference: {file: mine.csv, dataset") && err == nil { // a whole table
				printed := slices.IndexFunc(values, func(v block) bool { return v.page == b.page })
				_, err = tables.Load(fstest.MapFS{"mine.yaml": {Data: []byte(text)},
					"mine.csv": {Data: []byte(values[max(printed, 0)].code)}}, "mine.yaml", "")
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", b.page, err, text)
			}
		}
	}
	if len(list) < 30 {
		t.Errorf("there are %d blocks, want the pages' 30 and more", len(list))
	}
}

// alternatives splits lines that repeat one key.
func alternatives(code string) []string {
	if _, err := config.Parse("block", []byte(code)); err == nil || !strings.Contains(err.Error(), "twice") {
		return []string{code}
	}
	return slices.Collect(strings.Lines(code))
}

// leastConfig is an experiment that accepts the keys of a block.
const leastConfig = "dataset: sprites\nmodel: vae\nlosses: [reconstruction, kl]\n"

// checkYAML reads a block according to its keys.
func checkYAML(page, text string) error {
	n, err := config.Parse(page, []byte(text))
	if err != nil || page == "own-loss.md" { // the loss belongs to the page's program, which TestDocs runs
		return err
	}
	if n.IsList() { // elements of the losses
		n.Wrap("losses")
	}
	keys := n.Keys()
	has := func(key string) bool { return slices.Contains(keys, key) }
	switch {
	case has("base"):
		if _, err := train.Load(page, []byte(text)); err == nil {
			return nil
		}
		_, err := sweep.Load(page, []byte(text))
		return err
	case has("encoder") || has("decoder"):
		n.Wrap("vae")
		n.Wrap("model")
	case has("title") && has("pages"):
		return nil // docs/pages.yaml, which TestSite reads
	}
	base, kind := leastConfig, any(&train.Config{})
	if has("rows") || has("columns") || has("boxes") || has("notes") || has("curves") {
		kind = &tables.Table{Printed: tables.ReferenceFile{Draws: 1}}
		base = "name: mine\ntitle: mine\nsource: mine\ndecimals: 3\nreference: {file: mine.csv}\nscales: {quick: {seeds: 5}, full: {seeds: 20}}\n" +
			"rows: [{label: LSBD-VAE/0, missing: x}, {label: LSBD-VAE/256, missing: x}, {label: VAE, missing: x}]\ncolumns: [{label: DLSBD, metric: dlsbd}]\n"
	}
	var overrides []string
	for _, key := range n.Keys() {
		overrides = append(overrides, key+"="+n.Get(key).Inline())
	}
	if _, ok := kind.(*train.Config); ok {
		_, err = train.Load(page, []byte(base), overrides...)
		return err
	}
	return config.Load(page, []byte(base), kind, overrides...)
}

// Every block of JSON is valid JSON.
func TestDocsJSON(t *testing.T) {
	for _, b := range blocks(t, "json") {
		if !json.Valid([]byte(b.code)) {
			t.Errorf("%s: no JSON:\n%s", b.page, b.code)
		}
	}
}

// module is the import path of packages in pages.
const module = "github.com/unravel-ml/unravel/"

// packages maps package names in Go fragments to their paths.
var packages = map[string]string{
	"gorgonia": "gorgonia.org/gorgonia", "tensor": "gorgonia.org/tensor", "losses": module + "losses", "logic": module + "losses/logic",
	"train": module + "train", "weights": module + "train/weights", "models": module + "models", "engine": module + "train/engine", "sweep": module + "train/sweep",
	"index": module + "train/sweep/index", "mlflow": module + "train/sweep/mlflow", "metrics": module + "metrics", "datasets": module + "datasets", "nn": module + "graph/nn", "graph": module + "graph", "registry": module + "configs/registry",
	"context": "context", "fmt": "fmt", "log": "log", "image": "image", "math": "math", "rng": module + "graph/rng", "factor": module + "datasets/factor",
}

// given declares the names that Go fragments assume, by page.
var given = map[string]string{
	"objectives.md": "var x, labels, mean, logVariance *gorgonia.Node\nfunc encoder(x *gorgonia.Node) *gorgonia.Node { return x }\n",
	"start.md":      "var model models.Model\nvar data datasets.Dataset\nvar list []losses.Choice\nvar settings engine.Settings\n",
	"sweeps.md":     "var ctx context.Context\n",
	"trackers.md":   "var ctx context.Context\n",
}

// Every Go fragment compiles with the declarations in given. TestDocsPrograms has the whole programs. The default test
// only checks types.
func TestDocsFragments(t *testing.T) {
	long.NotShort(t)
	for _, b := range blocks(t, "go") {
		if strings.HasPrefix(b.code, "package ") || fileBlock.MatchString("```go\n"+b.code+"```") {
			continue
		}
		source, err := fragmentProgram(b.code, given[b.page])
		if err != nil {
			t.Errorf("%s: %v\n%s", b.page, err, b.code)
			continue
		}
		check := typeCheck
		if long.Enabled() {
			check = goVet
		}
		if err := check(t, source); err != nil {
			t.Errorf("%s: %v; what it takes for granted is in given\n%s", b.page, err, source)
		}
	}
}

// fragmentProgram makes a program from statements or declarations. It imports packages by name and uses each variable.
func fragmentProgram(code, before string) (string, error) {
	body := "func main() {\n" + code + "}\n"
	f, err := parser.ParseFile(token.NewFileSet(), "", "package main\n"+before+body, parser.SkipObjectResolution)
	if err != nil { // declarations
		body = code + "\nfunc main() {}\n"
		if f, err = parser.ParseFile(token.NewFileSet(), "", "package main\n"+before+body, parser.SkipObjectResolution); err != nil {
			return "", err
		}
	}
	var imports, uses []string
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && packages[x.Name] != "" {
				imports = append(imports, fmt.Sprintf("import %q\n", packages[x.Name]))
			}
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if name, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE && name.Name != "_" {
					uses = append(uses, "_ = "+name.Name+"\n")
				}
			}
		}
		return true
	})
	slices.Sort(imports)
	if before, ok := strings.CutSuffix(body, "}\n"); ok && strings.HasPrefix(body, "func main() {\n"+code) {
		body = before + strings.Join(uses, "") + "}\n"
	}
	return "package main\n" + strings.Join(slices.Compact(imports), "") + before + body, nil
}
