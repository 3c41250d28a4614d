package house

import (
	"bytes"
	"flag"
	"go/ast"
	"go/printer"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

var update = flag.Bool("update", false, "write the exported API to testdata/api.txt, and lower the limits of testdata/limits.txt")

const apiFile = "testdata/api.txt"

// TestAPI compares the exported identifiers of the public packages with testdata/api.txt. Reviewers therefore see
// changes of the API.
func TestAPI(t *testing.T) {
	got := api(t)
	if *update {
		must.Write(t, apiFile, strings.Join(got, "\n")+"\n")
	}
	text := must.Read(t, apiFile)
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, change := range changes(want, got) {
		t.Error(change)
	}
	if t.Failed() {
		t.Error("the exported API has changed; if it is meant to, run: go test ./internal/house -run TestAPI -update")
	}
}

// changes compares sorted lists: it returns removed lines after a minus and new lines after a plus.
func changes(before, after []string) (list []string) {
	for _, l := range before {
		if _, ok := slices.BinarySearch(after, l); !ok {
			list = append(list, "- "+l)
		}
	}
	for _, l := range after {
		if _, ok := slices.BinarySearch(before, l); !ok {
			list = append(list, "+ "+l)
		}
	}
	return list
}

func TestChanges(t *testing.T) {
	got := changes([]string{"a", "c", "d"}, []string{"a", "b", "d"})
	must.EqualSlices(t, got, []string{"- c", "+ b"})
}

// api returns a sorted line for each exported function, method, type, field, constant and variable of the public
// packages, such as "graph/rng: func New(seed uint64) Source".
func api(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, f := range files(t) {
		if !f.public() || f.syntax.Name.Name == "main" {
			continue
		}
		for _, d := range f.syntax.Decls {
			for _, l := range exported(d) {
				list = append(list, f.folder+": "+l)
			}
		}
	}
	slices.Sort(list)
	return list
}

// exported returns the lines of a declaration.
func exported(d ast.Decl) (list []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) {
			f := &ast.FuncDecl{Name: d.Name, Type: d.Type}
			if d.Recv != nil { // without the receiver's name
				f.Recv = &ast.FieldList{List: []*ast.Field{{Type: d.Recv.List[0].Type}}}
			}
			list = append(list, source(f))
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					list = append(list, exportedType(s)...)
				}
			case *ast.ValueSpec:
				list = append(list, exportedValues(d.Tok, s)...)
			}
		}
	}
	return list
}

// exportedType returns a line for a type and one for each exported field or method of it.
func exportedType(s *ast.TypeSpec) []string {
	head := "type " + s.Name.Name
	if s.TypeParams != nil {
		head += strings.TrimPrefix(source(&ast.FuncType{TypeParams: s.TypeParams, Params: &ast.FieldList{}}), "func")
		head = strings.TrimSuffix(head, "()")
	}
	var members *ast.FieldList
	switch x := s.Type.(type) {
	case *ast.StructType:
		members, head = x.Fields, head+" struct"
	case *ast.InterfaceType:
		members, head = x.Methods, head+" interface"
	default:
		return []string{head + " " + source(x)}
	}
	list := []string{head}
	for _, m := range members.List {
		kind := source(m.Type)
		if len(m.Names) == 0 { // an embedded type, or a term of a constraint
			list = append(list, head+", "+kind)
		}
		for _, n := range m.Names {
			if n.IsExported() {
				list = append(list, head+", "+n.Name+" "+kind)
			}
		}
	}
	return list
}

func exportedValues(kind token.Token, s *ast.ValueSpec) (list []string) {
	for i, n := range s.Names {
		if !n.IsExported() {
			continue
		}
		l := kind.String() + " " + n.Name
		if s.Type != nil {
			l += " " + source(s.Type)
		}
		if kind == token.CONST && i < len(s.Values) {
			l += " = " + source(s.Values[i])
		}
		list = append(list, l)
	}
	return list
}

// source returns the source of a node in one line.
func source(n ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
