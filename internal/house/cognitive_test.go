package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// cognitive returns the cognitive complexity of a function like gocognit (Campbell, "Cognitive Complexity", SonarSource
// 2018). An if, loop, switch or select counts 1 plus the number of blocks around it. An else, a jump to a label, a
// recursive call and a run of the same logical operator count 1.
func cognitive(f *ast.FuncDecl) int {
	if f.Body == nil {
		return 0
	}
	c := counter{function: f, joined: map[ast.Expr]bool{}}
	ast.Walk(&c, f.Body)
	return c.sum
}

type counter struct {
	function *ast.FuncDecl
	sum      int
	depth    int
	joined   map[ast.Expr]bool // operands whose operators are already counted with a larger expression
}

// Visit adds the count of a node. It walks nodes with nested bodies itself.
func (c *counter) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.IfStmt:
		c.sum += 1 + c.depth
		c.branches(n)
		return nil
	case *ast.SwitchStmt:
		return c.block(n.Body, n.Init, n.Tag)
	case *ast.TypeSwitchStmt:
		return c.block(n.Body, n.Init, n.Assign)
	case *ast.SelectStmt:
		return c.block(n.Body)
	case *ast.ForStmt:
		return c.block(n.Body, n.Init, n.Cond, n.Post)
	case *ast.RangeStmt:
		return c.block(n.Body, n.X)
	case *ast.FuncLit:
		c.nested(n.Body)
		return nil
	case *ast.BranchStmt:
		if n.Label != nil {
			c.sum++
		}
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && c.function.Recv == nil && id.Name == c.function.Name.Name {
			c.sum++
		}
	case *ast.BinaryExpr:
		if !c.joined[n] {
			last := token.ILLEGAL
			for _, op := range c.operators(n) {
				if op != last {
					c.sum++
				}
				last = op
			}
		}
	}
	return c
}

// branches walks the parts of an if statement that is already counted.
func (c *counter) branches(n *ast.IfStmt) {
	c.walk(n.Init, n.Cond)
	c.nested(n.Body)
	switch e := n.Else.(type) {
	case *ast.IfStmt:
		c.sum++
		c.branches(e)
	case *ast.BlockStmt:
		c.sum++
		c.nested(e)
	}
}

// block counts a statement and walks its head. It walks the body one level deeper.
func (c *counter) block(body *ast.BlockStmt, head ...ast.Node) ast.Visitor {
	c.sum += 1 + c.depth
	c.walk(head...)
	c.nested(body)
	return nil
}

func (c *counter) walk(list ...ast.Node) {
	for _, n := range list {
		if n != nil {
			ast.Walk(c, n)
		}
	}
}

func (c *counter) nested(body *ast.BlockStmt) {
	c.depth++
	ast.Walk(c, body)
	c.depth--
}

// operators returns the logical operators of an expression up to parentheses, from left to right.
func (c *counter) operators(e ast.Expr) []token.Token {
	b, ok := e.(*ast.BinaryExpr)
	if !ok {
		return nil
	}
	c.joined[b] = true
	list := c.operators(b.X)
	if b.Op == token.LAND || b.Op == token.LOR {
		list = append(list, b.Op)
	}
	return append(list, c.operators(b.Y)...)
}

func TestCognitive(t *testing.T) {
	for body, want := range map[string]int{
		"return":                        0,
		"if a {}":                       1,
		"if a {} else {}":               2,
		"if a {} else if b {} else {}":  3,
		"if a { if b {} else {} }":      4, // 1, 2 and 1
		"if a {} else if b { if c {} }": 4,
		"for range x { for i := 0; a; i++ { if a {} } }":   6,
		"switch { case a: if b {} }":                       3,
		"switch x.(type) { case a: for {} }":               3,
		"select { case <-a: if b {} }":                     3,
		"_ = func() { if a {} }":                           2,
		"a := b && c && d":                                 1,
		"a := b && c || d && e":                            3,
		"a := b && (c || d)":                               2,
		"a := b && !(c && d)":                              2,
		"if a && b || c == d {}":                           3,
		"l: for { if a { continue l }; break }":            4,
		"f(); g.f(); go h()":                               1,
		"defer func() { for { if a { if b { f() } } } }()": 10,
		"if err := g(func() { if a {} }); err != nil {}":   3,
		"for range x { _ = func() { if a {} } }":           4,
		"switch a && b { default: }":                       2,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {"+body+"\n}", parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		must.Equal(t, cognitive(file.Decls[0].(*ast.FuncDecl)), want, body)
	}
}
