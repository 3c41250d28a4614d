package house

import (
	"cmp"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// usual are well-known methods.
var usual = []string{"Error", "Unwrap", "String", "MarshalText", "UnmarshalText"}

// TestDocumented checks that every public package and exported identifier has a comment. Comments of identifiers must
// begin with the name. Methods of exported interfaces need no comment on each type.
func TestDocumented(t *testing.T) {
	packages, known := map[string]bool{}, slices.Clone(usual)
	for _, f := range files(t) {
		known = append(known, interfaceMethods(f)...)
	}
	for _, f := range files(t) {
		if !f.public() {
			continue
		}
		packages[f.folder] = packages[f.folder] || f.syntax.Doc != nil
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) && !(d.Recv != nil && d.Doc == nil && slices.Contains(known, d.Name.Name)) {
					named(t, f, d.Name.Name, d.Doc)
				}
			case *ast.GenDecl:
				documented(t, f, d)
			}
		}
	}
	for folder, ok := range packages {
		if !ok {
			t.Errorf("%s: there is no comment of the package", folder)
		}
	}
}

// interfaceMethods lists the methods of the exported interfaces of a file.
func interfaceMethods(f file) (list []string) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok && s.Name.IsExported() {
			if i, ok := s.Type.(*ast.InterfaceType); ok {
				for _, m := range i.Methods.List {
					for _, name := range m.Names {
						list = append(list, name.Name)
					}
				}
			}
		}
		return true
	})
	return list
}

// documented checks types, constants and variables. A group needs only one comment.
func documented(t *testing.T, f file, d *ast.GenDecl) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				named(t, f, s.Name.Name, cmp.Or(s.Doc, d.Doc))
			}
		case *ast.ValueSpec:
			for _, n := range s.Names {
				if n.IsExported() && cmp.Or(s.Doc, s.Comment, d.Doc) == nil {
					t.Errorf("%s: %s has no comment", f.path, n.Name)
				}
			}
		}
	}
}

// named checks that a comment begins with a name, perhaps after an article.
func named(t *testing.T, f file, name string, doc *ast.CommentGroup) {
	words := strings.Fields(doc.Text())
	if len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
		words = words[1:]
	}
	if len(words) < 2 || strings.TrimRight(words[0], ",:;'s") != strings.TrimRight(name, "s") {
		t.Errorf("%s: %s has no comment that begins with its name", f.path, name)
	}
}
