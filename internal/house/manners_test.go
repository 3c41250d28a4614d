package house

import (
	"cmp"
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestContexts checks that contexts are parameters and not fields. There are two exceptions: types that embed a
// context, and internal/browser, where a context is a tab as in chromedp.
func TestContexts(t *testing.T) {
	for _, f := range files(t) {
		if f.folder == "internal/browser" {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range s.Fields.List {
				if x, ok := field.Type.(*ast.SelectorExpr); ok && len(field.Names) > 0 && x.Sel.Name == "Context" && fmt.Sprint(x.X) == "context" {
					t.Errorf("%s: a struct keeps the context %s; want a parameter of the functions that need it", f.path, field.Names[0].Name)
				}
			}
			return true
		})
	}
}

// link is a name in brackets in a comment.
var link = regexp.MustCompile(`\[[A-Za-z.]+\]`)

// TestErrorsDocumented checks the comments of exported errors in public packages. A comment names the functions that
// return the error in brackets, and says what to do in a second sentence.
func TestErrorsDocumented(t *testing.T) {
	found := 0
	for _, f := range files(t) {
		if !f.public() {
			continue
		}
		failures := errorTypes(t, f.folder)
		for _, d := range f.syntax.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				var name string
				var doc *ast.CommentGroup
				switch s := s.(type) {
				case *ast.TypeSpec:
					if !slices.Contains(failures, s.Name.Name) {
						continue
					}
					name, doc = s.Name.Name, cmp.Or(s.Doc, g.Doc)
				case *ast.ValueSpec:
					if name = s.Names[0].Name; !regexp.MustCompile(`^Err[A-Z]`).MatchString(name) || len(s.Values) == 0 {
						continue
					}
					doc = cmp.Or(s.Doc, s.Comment, g.Doc)
				default:
					continue
				}
				found++
				text := strings.TrimSpace(doc.Text())
				if !link.MatchString(text) || strings.Count(text+" ", ". ")+strings.Count(text, ".\n") < 2 {
					t.Errorf("%s: the comment of %s does not say who returns it, as in [Open], and what to do in a second sentence", f.path, name)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("%d errors", found)
	}
}

// errorTypes lists the exported types of a package with a method Error() string.
func errorTypes(t *testing.T, folder string) (list []string) {
	for _, f := range files(t) {
		if f.folder != folder {
			continue
		}
		for _, d := range f.syntax.Decls {
			m, ok := d.(*ast.FuncDecl)
			if !ok || m.Recv == nil || m.Name.Name != "Error" || m.Type.Params.NumFields() > 0 {
				continue
			}
			x := m.Recv.List[0].Type
			if star, ok := x.(*ast.StarExpr); ok {
				x = star.X
			}
			if name, ok := x.(*ast.Ident); ok && name.IsExported() {
				list = append(list, name.Name)
			}
		}
	}
	return list
}
