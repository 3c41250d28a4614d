package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxSource = 1 << 18 // largest size of a config, in bytes
	maxDepth  = 64      // maximum nesting of a config
	tooNested = "nested more than 64 deep"
)

// ReadAll reads a config to its end. It returns an error if the config is too large.
func ReadAll(r io.Reader, name string) ([]byte, error) {
	src, err := io.ReadAll(io.LimitReader(r, maxSource+1))
	if err == nil && len(src) > maxSource {
		err = &Error{File: name, Err: fmt.Errorf("it is too large for a config; at most %d bytes are read", maxSource)}
	}
	return src, err
}

// ReadFile runs ReadAll on a file.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // nothing was written
	return ReadAll(f, path)
}

// Parse reads YAML. The file's name is only for errors. Parse reports syntax errors. Decode reports valid YAML that is
// not allowed in a config (repeated keys, anchors), together with all other mistakes.
func Parse(file string, src []byte) (*Node, error) { return parse(position{file, 1, 1}, "", src) }

func parse(start position, path string, src []byte) (*Node, error) {
	if len(src) > maxSource {
		return nil, start.fail(path, fmt.Errorf("%d bytes are too many for a config; at most %d are read",
			len(src), maxSource))
	}
	if start.line > 0 {
		src = bytes.TrimPrefix(src, []byte("\ufeff")) // Windows editors write a byte order mark
	}
	if err := checkText(start, path, src); err != nil {
		return nil, err
	}
	f, err := parseAST(src)
	if err != nil {
		return nil, syntaxError(start, path, src, err)
	}
	c := converter{start: start}
	docs := slices.DeleteFunc(f.Docs, func(d *ast.DocumentNode) bool { return d == nil || d.Body == nil })
	if len(docs) == 0 {
		return &Node{kind: nullNode, pos: start, path: path}, nil
	}
	if len(docs) > 1 {
		return nil, c.position(docs[1].Body).fail(path, errors.New("a second document; a config has one"))
	}
	return c.node(docs[0].Body, path, 0), nil
}

// parseAST calls the parser and returns its panic as an error.
func parseAST(src []byte) (f *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("not YAML that can be read: %v", r)
		}
	}()
	tokens := lexer.Tokenize(string(src))
	if tk := tooDeep(tokens); tk != nil {
		return nil, &yaml.SyntaxError{Message: tooNested, Token: tk}
	}
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// tooDeep returns the first token whose nesting without indentation exceeds maxDepth, or nil. The parser's memory and
// stack grow with the square of the nesting, so it must not see such a source. Nesting with indentation cannot be
// that deep in maxSource bytes.
func tooDeep(tokens token.Tokens) *token.Token {
	brackets, entries, line := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position.Line != line {
			entries, line = 0, tk.Position.Line
		}
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType: // - - - x
			entries++
		}
		if max(brackets, entries) > maxDepth+1 {
			return tk
		}
	}
	return nil
}

// of returns the position of a token in a source that begins at p.
func (p position) of(tk *token.Token) position {
	if p.line == 0 || tk == nil || tk.Position == nil {
		return p
	}
	return position{p.file, max(tk.Position.Line, 1), max(tk.Position.Column, 1)}
}

type converter struct{ start position }

func (c *converter) node(a ast.Node, path string, depth int) *Node {
	n := &Node{path: path, pos: c.position(a)}
	if depth > maxDepth {
		return n.bad(tooNested)
	}
	switch a := a.(type) {
	case nil, *ast.NullNode:
		n.kind = nullNode
	case *ast.StringNode:
		n.kind, n.text, n.plain = scalarNode, a.Value, a.Token.Type == token.StringType
	case *ast.LiteralNode:
		n.kind, n.text = scalarNode, a.Value.Value
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.kind, n.text, n.plain = scalarNode, a.GetToken().Value, true
	case *ast.SequenceNode:
		n.kind = listNode
		for i, item := range a.Values {
			n.items = append(n.items, c.node(item, joinPath(path, fmt.Sprint(i)), depth+1))
		}
	case *ast.MappingNode:
		n.kind = mapNode
		seen := make(map[string]position, len(a.Values))
		for _, v := range a.Values {
			c.entry(n, v, seen, depth)
		}
	case *ast.MappingValueNode:
		n.kind = mapNode
		c.entry(n, a, map[string]position{}, depth)
	case *ast.AnchorNode:
		n.bad("anchors (&%s) are not supported; write the value out where it is needed", a.Name)
	case *ast.AliasNode:
		n.bad("aliases (*%s) are not supported; write the value out", a.Value)
	case *ast.TagNode:
		n.bad("tags (%s) are not supported; leave it out", a.Start.Value)
	default:
		n.bad("this kind of YAML (%s) is not supported", a.Type())
	}
	return n
}

// entry adds a key and its value to a mapping. seen has the keys of the mapping so far.
func (c *converter) entry(n *Node, v *ast.MappingValueNode, seen map[string]position, depth int) {
	keyAt := c.position(v.Key)
	if v.Key.IsMergeKey() {
		n.problems.append(keyAt.fail(n.path, errors.New("merge keys (<<) are not supported; write the keys out")))
		return
	}
	switch v.Key.(type) {
	case *ast.StringNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode, *ast.NullNode:
	default:
		n.problems.append(keyAt.fail(n.path, errors.New("a key must be a plain or quoted text")))
		return
	}
	key := v.Key.GetToken().Value
	if s, ok := v.Key.(*ast.StringNode); ok {
		key = s.Value
	}
	path := joinPath(n.path, key)
	if first, repeated := seen[key]; repeated {
		n.problems.append(keyAt.fail(path, fmt.Errorf("repeated key; first given at %s", first)))
		return
	}
	seen[key] = keyAt
	item := c.node(v.Value, path, depth+1)
	item.keyPos = keyAt
	if item.kind == nullNode {
		item.pos = keyAt // the parser has no useful position for a missing value
	}
	n.keys, n.items = append(n.keys, key), append(n.items, item)
}

func (n *Node) bad(format string, args ...any) *Node {
	n.kind, n.keys, n.items = badNode, nil, nil
	n.problems = Errors{n.fail(fmt.Errorf(format, args...))}
	return n
}

func (c *converter) position(a ast.Node) position {
	if a == nil {
		return c.start
	}
	switch x := a.(type) {
	case *ast.MappingNode:
		if !x.IsFlowStyle && len(x.Values) > 0 {
			return c.position(x.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return c.position(x.Key)
	}
	return c.start.of(a.GetToken())
}
