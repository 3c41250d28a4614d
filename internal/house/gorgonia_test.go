package house

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

const gorgoniaFile = "testdata/gorgonia.txt"

// used are the modules that a fork of Gorgonia would replace.
var used = map[string]string{"gorgonia.org/gorgonia": "gorgonia", "gorgonia.org/tensor": "tensor"}

// TestGorgonia compares the symbols of Gorgonia in Unravel with testdata/gorgonia.txt: a fork with these symbols could
// replace it. The default test finds identifiers of packages and names in reflection. The complete test also finds
// methods and fields.
func TestGorgonia(t *testing.T) {
	long.NotShort(t)
	text, err := os.ReadFile(gorgoniaFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	got := append(identifiers(t), reflected(t)...)
	if members := regexp.MustCompile(`^\w+\.\w+\.\w+$`); long.Enabled() || *update {
		got = append(got, selected(t)...)
	} else {
		want = slices.DeleteFunc(want, members.MatchString)
	}
	slices.Sort(got)
	got = slices.Compact(got)
	if *update {
		must.Write(t, gorgoniaFile, strings.Join(got, "\n")+"\n")
		return
	}
	for _, change := range changes(want, got) {
		t.Error(change)
	}
	if t.Failed() {
		t.Error("the symbols of Gorgonia in use have changed; if it is meant to, run: go test ./internal/house -run TestGorgonia -update")
	}
}

// identifiers lists the identifiers of Gorgonia's packages in our packages.
func identifiers(t *testing.T) (list []string) {
	for _, f := range files(t) {
		names := map[string]string{}
		for _, i := range f.syntax.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			if short, ok := used[p]; ok {
				name := short
				if i.Name != nil {
					name = i.Name.Name
				}
				names[name] = short
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && names[x.Name] != "" {
					list = append(list, names[x.Name]+"."+s.Sel.Name)
				}
			}
			return true
		})
	}
	return list
}

// reflected lists the names that our packages compare or read by reflection. These are types of operations, in texts
// such as "gorgonia.elemBinOp" and in the keys of stockRules, and fields of operations.
func reflected(t *testing.T) (list []string) {
	text := func(x ast.Expr) string {
		if b, ok := x.(*ast.BasicLit); ok && b.Kind == token.STRING {
			s, _ := strconv.Unquote(b.Value)
			return s
		}
		return ""
	}
	operation := regexp.MustCompile(`^\*?gorgonia\.(\w+)$`)
	for _, f := range files(t) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if m := operation.FindStringSubmatch(text(n)); m != nil {
					list = append(list, "by reflection: type "+m[1])
				}
			case *ast.AssignStmt:
				rules, ok := n.Rhs[0].(*ast.CompositeLit)
				if x, named := n.Lhs[0].(*ast.Ident); ok && named && x.Name == "stockRules" {
					for _, e := range rules.Elts {
						list = append(list, "by reflection: type "+text(e.(*ast.KeyValueExpr).Key))
					}
				}
			case *ast.CallExpr:
				x, ok := n.Fun.(*ast.Ident)
				if ok && slices.Contains([]string{"field", "fieldInt", "fieldInts"}, x.Name) && len(n.Args) == 2 && text(n.Args[1]) != "" {
					list = append(list, "by reflection: field "+text(n.Args[1]))
				}
			}
			return true
		})
	}
	return list
}

// selected lists the methods and fields of Gorgonia's types that our packages use.
func selected(t *testing.T) []string {
	type pkg struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
		Module                  *struct{ Main bool }
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Module", "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	exports, own := map[string]string{}, []pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if exports[p.ImportPath] = p.Export; p.Module != nil && p.Module.Main {
			own = append(own, p)
		}
	}
	fset, found := token.NewFileSet(), map[string]bool{}
	open := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range own {
		var syntax []*ast.File
		for _, name := range p.GoFiles {
			f := must.Get(parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution))(t)
			syntax = append(syntax, f)
		}
		info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
		must.Get((&types.Config{Importer: open}).Check(p.ImportPath, fset, syntax, info))(t)
		for _, s := range info.Selections {
			if short, ok := used[pathOf(s.Obj())]; ok {
				found[fmt.Sprintf("%s.%s.%s", short, ownerOf(s), s.Obj().Name())] = true
			}
		}
	}
	return slices.Collect(maps.Keys(found))
}

func pathOf(o types.Object) string {
	if o.Pkg() == nil {
		return ""
	}
	return o.Pkg().Path()
}

// ownerOf returns the name of the type with a method or the struct with a field.
func ownerOf(s *types.Selection) string {
	x := s.Recv()
	if f, ok := s.Obj().(*types.Func); ok {
		x = f.Signature().Recv().Type()
	}
	if p, ok := x.(*types.Pointer); ok {
		x = p.Elem()
	}
	if n, ok := types.Unalias(x).(*types.Named); ok {
		return n.Obj().Name()
	}
	return cmp.Or(x.String(), "struct")
}
