package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/unravel-ml/unravel/"
)

// floors lists the top-level folders from the ground up, and inner folders on another floor than their parent. A
// package may only import packages of its own folder and of lower floors.
var floors = [][]string{
	{".", "configs/registry", "results", "graph/rng", "graph/vulkan", "internal/bins", "internal/wording"}, // . are the documents
	{"configs/config"},
	{"configs"},
	{"datasets/factor", "internal"},
	{"models/hierarchy", "graph", "datasets/factor/similarity"},
	{"losses/logic"},
	{"losses", "metrics", "datasets"},
	{"models"},
	{"train/rundir", "train/weights", "internal/decode"},
	{"internal/report"},
	{"train"},
	{"train/sweep"},
	{"results/ledger"},
	{"internal/pretrained"},
	{"results/tables", "conformance"},
	{"internal/show"},
	{"internal/serve"},
	{"cli"},
	{"cmd"},
}

// file is a parsed file of the module without tests.
type file struct {
	folder string // of its package, such as losses/logic
	path   string
	syntax *ast.File
}

func files(t *testing.T) []file {
	t.Helper()
	list, err := parsed()
	if err != nil || len(list) < 300 {
		t.Fatalf("%d files, %v", len(list), err)
	}
	return list
}

var parsed = sync.OnceValues(func() (list []file, err error) {
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if slices.Contains([]string{".git", "tools", "examples", "docs", "runs"}, rel) || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution|parser.ParseComments)
		list = append(list, file{path.Dir(rel), rel, f})
		return err
	})
	return list, err
})

// imports lists the packages of the module that a file imports: name in the file -> folder.
func (f file) imports() map[string]string {
	list := map[string]string{}
	for _, i := range f.syntax.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		folder, ok := strings.CutPrefix(p+"/", module)
		if !ok {
			continue
		}
		folder = path.Clean(folder)
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		list[name] = folder
	}
	return list
}

func (f file) public() bool { return !slices.Contains(strings.Split(f.folder, "/"), "internal") }

// roomOf returns the folder on a floor that contains a package, and the floor or -1.
func roomOf(folder string) (string, int) {
	for room := folder; ; room = path.Dir(room) {
		if at := slices.IndexFunc(floors, func(rooms []string) bool { return slices.Contains(rooms, room) }); at >= 0 &&
			(room != "." || folder == ".") {
			return room, at
		}
		if room == "." {
			return "", -1
		}
	}
}

// TestImportsDescend checks that packages do not import higher floors, and that no two folders on a floor import each
// other.
func TestImportsDescend(t *testing.T) {
	for _, f := range files(t) {
		room, at := roomOf(f.folder)
		if at < 0 {
			t.Errorf("%s: the folder %s is on no floor", f.path, f.folder)
			continue
		}
		for _, folder := range f.imports() {
			if other, floor := roomOf(folder); other != room && (floor >= at || floor < 0) {
				t.Errorf("%s imports %s, which is on no lower floor", f.path, folder)
			}
		}
	}
}

// TestNoInternalTypes checks that exported declarations of public packages are not aliases and name no internal
// package.
func TestNoInternalTypes(t *testing.T) {
	for _, f := range files(t) {
		if !f.public() {
			continue
		}
		imports := f.imports()
		check := func(name string, n ast.Node) {
			ast.Inspect(n, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncLit, *ast.BlockStmt:
					return false
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && strings.HasPrefix(imports[x.Name], "internal/") {
						t.Errorf("%s: %s shows %s.%s, an internal type", f.path, name, x.Name, n.Sel.Name)
					}
				}
				return true
			})
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) {
					checkFields(d.Name.Name, d.Type.Params, check)
					checkFields(d.Name.Name, d.Type.Results, check)
				}
			case *ast.GenDecl:
				checkSpecs(t, f, d, check)
			}
		}
	}
}

// checkSpecs checks the exported types, variables and constants of a declaration.
func checkSpecs(t *testing.T, f file, d *ast.GenDecl, check func(string, ast.Node)) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if !s.Name.IsExported() {
				continue
			}
			if s.Assign.IsValid() {
				t.Errorf("%s: %s is an alias, which hides its fields and methods", f.path, s.Name.Name)
			}
			if st, ok := s.Type.(*ast.StructType); ok {
				for _, field := range st.Fields.List {
					if len(field.Names) == 0 || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
						check(s.Name.Name, field.Type)
					}
				}
				continue
			}
			check(s.Name.Name, s.Type)
		case *ast.ValueSpec:
			if slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) && s.Type != nil {
				check(s.Names[0].Name, s.Type)
			}
		}
	}
}

func checkFields(name string, list *ast.FieldList, check func(string, ast.Node)) {
	if list == nil {
		return
	}
	for _, p := range list.List {
		check(name, p.Type)
	}
}

// exportedReceiver reports whether a function has no receiver or a receiver of an exported type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	x := d.Recv.List[0].Type
	for {
		switch v := x.(type) {
		case *ast.StarExpr:
			x = v.X
		case *ast.IndexExpr:
			x = v.X
		case *ast.Ident:
			return v.IsExported()
		default:
			return true
		}
	}
}
