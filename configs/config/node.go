package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/wording"
)

// Node is a part of a parsed config.
type Node struct {
	kind     nodeKind
	path     string   // the key path
	pos      position // position of the value
	keyPos   position // position of the key, if the value is in a mapping
	text     string   // text of a scalar
	plain    bool     // scalar without quotes, which may be a number, a boolean or null
	keys     []string // keys of a mapping, in order
	items    []*Node  // elements of a mapping or list
	problems Errors   // found by the parser, reported by decoding
}

type nodeKind uint8

const (
	badNode nodeKind = iota // unsupported: see problems
	nullNode
	absentNode // settings that are not from a file
	scalarNode
	listNode
	mapNode
)

type position struct {
	file         string
	line, column int
}

func (p position) String() string {
	file := cmp.Or(p.file, "config")
	if p.line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, p.line, p.column)
}

// Path returns the node's key path, such as losses.2.lsbd.weight.
func (n *Node) Path() string { return n.path }

// IsNull reports whether the value is null.
func (n *Node) IsNull() bool { return n.kind == nullNode }

// IsList reports whether the node is a list.
func (n *Node) IsList() bool { return n.kind == listNode }

// IsMap reports whether the node is a mapping.
func (n *Node) IsMap() bool { return n.kind == mapNode }

// IsScalar reports whether the node is a text, a number or a boolean.
func (n *Node) IsScalar() bool { return n.kind == scalarNode }

// Text returns the text of a scalar, without quotes.
func (n *Node) Text() string { return n.text }

// Keys returns the keys of a mapping in the order of the file.
func (n *Node) Keys() []string { return slices.Clone(n.keys) }

// Get returns the value of a key in a mapping, or nil. For a nil node, it returns nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	if i := slices.Index(n.keys, key); i >= 0 {
		return n.items[i]
	}
	return nil
}

// Items returns the elements of a list or the values of a mapping.
func (n *Node) Items() []*Node { return slices.Clone(n.items) }

// Leaves returns the scalars, the lists of scalars and the empty nodes at and below a node, in order.
func (n *Node) Leaves() []*Node {
	nested := n.IsMap() || n.IsList() && slices.ContainsFunc(n.items, func(i *Node) bool { return !i.IsScalar() })
	if !nested || len(n.items) == 0 {
		return []*Node{n}
	}
	var list []*Node
	for _, item := range n.items {
		list = append(list, item.Leaves()...)
	}
	return list
}

// Value returns a finite float64, a bool, the text of another scalar, or the whole node as one line.
func (n *Node) Value() any {
	if !n.IsScalar() {
		return n.Inline()
	}
	switch n.class() {
	case isBool:
		return strings.EqualFold(n.text, "true")
	case isInt:
		if v, err := strconv.ParseInt(n.text, 0, 64); err == nil {
			return float64(v)
		}
		fallthrough
	case isFloat:
		if v, err := strconv.ParseFloat(n.text, 64); err == nil {
			return v
		}
	}
	return n.text
}

// Nest makes a list the value of a key: [a, b] becomes {key: [a, b]}, for overrides that need the long form.
func (n *Node) Nest(key string) {
	if n.kind != listNode {
		return
	}
	n.Wrap(key)
}

// Wrap makes the node's content the value of a key: 256 becomes {key: 256}. Errors keep their position.
func (n *Node) Wrap(key string) {
	copied := *n
	copied.keyPos = position{}
	*n = Node{kind: mapNode, path: n.path, pos: n.pos, keyPos: n.keyPos, keys: []string{key}, items: []*Node{&copied}}
}

// Without returns a copy of a mapping without the key at a path: {a: {b: 1, c: 2}} without a, b is {a: {c: 2}}.
func (n *Node) Without(path ...string) *Node {
	copied := *n
	copied.keys, copied.items = nil, nil
	for i, key := range n.keys {
		item := n.items[i]
		if key == path[0] {
			if len(path) == 1 {
				continue
			}
			item = item.Without(path[1:]...)
		}
		copied.keys, copied.items = append(copied.keys, key), append(copied.items, item)
	}
	return &copied
}

// Near returns an error about a key below n, at the position of the key or of the nearest part of its path in the
// config. Short forms of the config may omit parts of the path ("metrics.final.0" in a list of metrics). An error about
// a missing file with a relative path also names the current folder.
func (n *Node) Near(key string, err error) *Error {
	node := n
	for _, segment := range splitPath(key) {
		if child := node.child(segment); child != nil {
			node = child
		}
	}
	return node.keyOrValue().fail(joinAll(n.path, key), inWorkingDir(err))
}

func inWorkingDir(err error) error {
	var missing *fs.PathError
	if !errors.As(err, &missing) || !errors.Is(missing, fs.ErrNotExist) || filepath.IsAbs(missing.Path) {
		return err
	}
	dir, failed := os.Getwd()
	if failed != nil {
		return err
	}
	return fmt.Errorf("%w; relative paths begin in the current folder, %s", err, dir)
}

// Errorf returns an error at the position of the node.
func (n *Node) Errorf(format string, args ...any) error { return n.fail(fmt.Errorf(format, args...)) }

// Invalid returns an error about a node's key, at its position. Code without a node uses the function [Invalid].
func (n *Node) Invalid(key, format string, args ...any) error {
	return n.invalid(key, fmt.Errorf(format, args...))
}

func (n *Node) root() bool { return n.path == "" }

func (n *Node) fail(err error) *Error { return n.pos.fail(n.path, err) }

func (p position) fail(path string, err error) *Error {
	return &Error{File: p.file, Line: p.line, Column: p.column, Key: path, Err: err}
}

// invalid returns an error at the position of a key below n, or of the nearest existing part of its path.
func (n *Node) invalid(key string, err error) *Error {
	path := joinAll(n.path, key)
	for _, segment := range splitPath(key) {
		child := n.child(segment)
		if child == nil && n.kind == absentNode {
			break
		}
		if child == nil {
			note := "the config does not set it"
			if strings.Contains(err.Error(), "got ") { // the message has the default
				note = "the default; " + note
			}
			err = fmt.Errorf("%w (%s)", err, note)
			break
		}
		n = child
	}
	return n.keyOrValue().fail(path, err)
}

func (n *Node) child(segment string) *Node {
	if n.kind == listNode {
		if i, err := strconv.Atoi(segment); err == nil && 0 <= i && i < len(n.items) {
			return n.items[i]
		}
		return nil
	}
	return n.Get(segment)
}

// keyOrValue returns the position of the node's key, or of the node if it has no key.
func (n *Node) keyOrValue() position {
	if n.keyPos != (position{}) {
		return n.keyPos
	}
	return n.pos
}

func (n *Node) describe() string {
	switch n.kind {
	case nullNode:
		return "nothing (null)"
	case listNode:
		return "a list"
	case mapNode:
		return "a mapping"
	case scalarNode:
		if n.plain && classify(n.text) != isText {
			return n.text
		}
		return "the text " + strconv.Quote(wording.Shorten(n.text, 60))
	}
	return "an unsupported value"
}

// joinPath appends a key to a path. It quotes a key that could be misinterpreted.
func joinPath(path, key string) string {
	if key == "" || strings.ContainsAny(key, ".=\" \n\t") {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func joinAll(path, key string) string {
	for _, segment := range splitPath(key) {
		path = joinPath(path, segment)
	}
	return path
}

// splitPath splits a.b."c.d" at the dots outside quotes.
func splitPath(path string) []string {
	var segments []string
	for {
		quoted, err := strconv.QuotedPrefix(path)
		if err != nil || !strings.HasPrefix(quoted, `"`) || (len(quoted) < len(path) && path[len(quoted)] != '.') {
			segment, remainder, more := strings.Cut(path, ".")
			segments = append(segments, segment)
			if !more {
				return segments
			}
			path = remainder
			continue
		}
		segment, _ := strconv.Unquote(quoted)
		segments = append(segments, segment)
		if len(quoted) == len(path) {
			return segments
		}
		path = path[len(quoted)+1:]
	}
}
