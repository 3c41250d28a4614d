package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// names holds the names in the module's Go files, including tests and tools.
type names struct {
	files    map[string]bool // base names of the files
	packages map[string]bool // names of the packages
	imports  map[string]bool // last elements of imported paths
	declared map[string]bool // Name, package.Name, Type.Member and package.Type.Member
	words    map[string]bool // identifiers, and the words of strings
}

var word = regexp.MustCompile(`\w+`)

func readNames(t *testing.T) names {
	t.Helper()
	n := names{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, ".go") || d.Name() == "names_test.go": // it contains wrong names
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		n.files[d.Name()] = true
		n.add(f)
		return nil
	})
	if err != nil || len(n.files) < 300 {
		t.Fatalf("%d files, %v", len(n.files), err)
	}
	return n
}

// add adds the names of a file.
func (n names) add(f *ast.File) {
	pkg := strings.TrimSuffix(f.Name.Name, "_test")
	n.packages[pkg] = true
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		n.imports[path.Base(p)] = true
	}
	declare := func(owner string, list ...*ast.Ident) {
		for _, id := range list {
			n.declared[id.Name], n.declared[pkg+"."+owner+id.Name], n.declared[owner+id.Name] = true, true, true
		}
	}
	ast.Inspect(f, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.FuncDecl:
			declare(owner(x), x.Name)
		case *ast.ValueSpec:
			declare("", x.Names...)
		case *ast.TypeSpec:
			declare("", x.Name)
			var members *ast.FieldList
			switch u := x.Type.(type) {
			case *ast.StructType:
				members = u.Fields
			case *ast.InterfaceType:
				members = u.Methods
			default:
				return true
			}
			for _, m := range members.List {
				declare(x.Name.Name+".", m.Names...)
			}
		case *ast.Ident:
			n.words[x.Name] = true
		case *ast.BasicLit:
			for _, w := range word.FindAllString(x.Value, -1) {
				n.words[w] = true
			}
		}
		return true
	})
}

// owner returns the type of a method and a dot. For a function, it returns nothing.
func owner(d *ast.FuncDecl) string {
	name := ""
	if d.Recv != nil {
		ast.Inspect(d.Recv.List[0].Type, func(x ast.Node) bool {
			if id, ok := x.(*ast.Ident); ok && name == "" {
				name = id.Name + "."
			}
			return name == ""
		})
	}
	return name
}

var (
	fence     = regexp.MustCompile("(?ms)^```.*?^```")
	quoted    = regexp.MustCompile("`([^`]+)`")
	arguments = regexp.MustCompile(`\(.*\)$`)
	capitals  = regexp.MustCompile(`^[A-Z_]+$`)
)

// missing returns the problem of a text between two backticks. It returns "" if the text names something in the
// repository. Commands, expressions, settings and patterns are not names and give "" too.
func (n names) missing(text string) string {
	text = arguments.ReplaceAllString(text, "")
	if strings.ContainsAny(text, " \n*[:") || strings.Contains(text, "NAME") {
		return ""
	}
	_, err := os.Stat(filepath.Join(root, text))
	first, rest, dotted := strings.Cut(text, ".")
	switch {
	case err == nil || n.files[text] || n.declared[text]:
		return ""
	case strings.Contains(text, "/"):
		return "the repository has no such path"
	case strings.HasSuffix(text, ".go"):
		return "no Go file has this name"
	case dotted && ast.IsExported(rest) && !n.packages[first] && n.imports[first]:
		return "" // from another module
	case !capitals.MatchString(text) && (ast.IsExported(text) || dotted && ast.IsExported(rest)):
		return "no Go file declares it"
	}
	for _, w := range word.FindAllString(text, -1) { // keys, commands and environment variables
		if !n.words[w] {
			return "no Go file has the word " + w
		}
	}
	return ""
}

// TestDocumentsName checks that the files, packages and identifiers in backticks exist, in ARCHITECTURE.md and
// docs/decisions.
func TestDocumentsName(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "decisions", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are %d decisions, %v", len(pages), err)
	}
	n := readNames(t)
	for text, missing := range map[string]bool{
		"graph/machine": false, "graph/engine": true, "loop.go": false, "cycle.go": true, "losses/NAME.go": false,
		"Loop.Run": false, "engine.Loop.Run": false, "Loop.Fit": true, "graph.Spec.Mixed": false, "graph.Spec.Mix": true,
		"metrics.DLSBD": false, "metrics.DLSBT": true, "Encode(*nn.Graph, images, name)": false, "Encipher(images)": true,
		"gorgonia.Grad": false, "nowhere.Grad": true, "train.stop": false, "train.halted": true, "GOMAXPROCS": false, "go test ./x": false,
	} {
		if why := n.missing(text); (why != "") != missing {
			t.Errorf("`%s`: %q, want missing: %t", text, why, missing)
		}
	}
	for _, p := range append(pages, filepath.Join(root, "ARCHITECTURE.md")) {
		text := must.Read(t, p)
		for _, m := range quoted.FindAllSubmatch(fence.ReplaceAll(text, nil), -1) {
			must.Equal(t, n.missing(string(m[1])), "", filepath.Base(p), "`", m[1], "`")
		}
	}
}
