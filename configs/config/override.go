package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Override sets values by assignments such as
//
//	train.epochs=3
//	losses.2.lsbd.weight=10       the third loss
//	losses.+={variance: {}}       one more loss
//	dataset={square: {size: 32}}  the whole data set
//	sweep."train.seed"=[0, 1]     a key with a dot
//
// The value is YAML. Override adds missing keys. If the config has a choice without options, a path through its name
// adds options. The position of an error is `argument "train.epochs=x"`, also in a later Decode.
func (n *Node) Override(assignments ...string) error {
	var errs Errors
	for _, a := range assignments {
		errs.add(n, n.assign(a))
	}
	return errs.asError()
}

func (n *Node) assign(assignment string) error {
	pos := position{file: "argument " + strconv.Quote(assignment)}
	path, value, ok := CutAssignment(assignment)
	if !ok || path == "" {
		return pos.fail("", errors.New("want key.path=value"))
	}
	if hint := syntaxHint(path, value); hint != "" {
		return pos.fail("", errors.New(hint))
	}
	target, err := n.targetOf(pos, path)
	if err != nil {
		return err
	}
	parsed, err := parse(pos, target.path, []byte(value))
	if err != nil {
		return pos.fail(path, fmt.Errorf("%w; a text with special characters needs quotes", errors.Unwrap(err)))
	}
	keyAt := position{}
	if target.keyPos != (position{}) {
		keyAt = pos
	}
	*target = *parsed
	target.keyPos = keyAt
	return nil
}

// Set sets the value at a key path to a node, like [Node.Override]. Errors about the value have the node's position.
func (n *Node) Set(path string, value *Node) error {
	target, err := n.targetOf(value.keyOrValue(), path)
	if err != nil {
		return err
	}
	*target = *value.withPath(target.path)
	return nil
}

func (n *Node) withPath(path string) *Node {
	m := *n
	m.path, m.items = path, make([]*Node, len(n.items))
	for i, item := range n.items {
		segment := strconv.Itoa(i)
		if n.kind == mapNode {
			segment = n.keys[i]
		}
		m.items[i] = item.withPath(joinPath(path, segment))
	}
	return &m
}

// targetOf returns the node at a key path, and adds missing keys on the way.
func (n *Node) targetOf(pos position, path string) (*Node, error) {
	segments := splitPath(path)
	if len(segments) > maxDepth {
		return nil, pos.fail("", fmt.Errorf("a path of more than %d keys", maxDepth))
	}
	target := n
	for _, segment := range segments {
		if segment == "" || !utf8.ValidString(segment) {
			return nil, pos.fail(path, fmt.Errorf("%q is no key; want key.path=value", segment))
		}
		next, err := target.stepInto(pos, segment)
		if err != nil {
			return nil, err
		}
		target = next
	}
	return target, nil
}

// CutAssignment splits an assignment of [Node.Override] into the path and the value, at the first = outside quotes.
func CutAssignment(s string) (path, value string, ok bool) {
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '=' && !quoted:
			return strings.TrimSpace(s[:i]), s[i+1:], true
		}
	}
	return "", "", false
}

// syntaxHint translates Hydra's syntax in a path. It returns "" if the path does not use it.
func syntaxHint(path, value string) string {
	switch bare := strings.TrimLeft(path, "+~"); {
	case strings.Contains(path, ":") && !strings.Contains(path, `"`):
		return fmt.Sprintf("keys are joined by dots; write %s=%s", strings.ReplaceAll(path, ":", "."), value)
	case strings.HasSuffix(path, "+") && !strings.HasSuffix(path, ".+"):
		path = strings.TrimRight(path, "+")
		return fmt.Sprintf("an element is added to a list with a dot before the +; write %s.+=%s", path, value)
	case bare == path || bare == "":
		return ""
	case path[0] == '~':
		return fmt.Sprintf("a key cannot be taken out; write %s=VALUE to set it", bare)
	default:
		return fmt.Sprintf("an override has no sign, also where the config lacks the key; write %s=%s", bare, value)
	}
}

// stepInto returns the node of a key, and adds it if it is missing.
func (n *Node) stepInto(pos position, segment string) (*Node, error) {
	switch n.kind {
	case listNode:
		return n.element(pos, segment)
	case nullNode:
		n.kind = mapNode
		if !n.root() { // the argument is not to blame for keys missing from an empty config
			n.pos = pos
		}
	case scalarNode:
		// `dataset: square` is short for `dataset: {square: {}}`
		if n.class() != isText {
			return nil, pos.fail(joinPath(n.path, segment), fmt.Errorf("%s at %s is %s, which has no keys",
				n.path, n.pos, n.text))
		}
		choice := &Node{kind: nullNode, path: joinPath(n.path, n.text), pos: n.pos, keyPos: n.pos}
		*n = Node{kind: mapNode, path: n.path, pos: pos, keyPos: n.keyPos, keys: []string{n.text}, items: []*Node{choice}}
	case badNode:
		return nil, n.problems.asError()
	}
	if child := n.Get(segment); child != nil {
		return child, nil
	}
	below := &Node{kind: nullNode, path: joinPath(n.path, segment), pos: pos, keyPos: pos}
	n.keys, n.items = append(n.keys, segment), append(n.items, below)
	return below, nil
}

func (n *Node) element(pos position, segment string) (*Node, error) {
	if segment == "+" {
		segment = strconv.Itoa(len(n.items))
		n.items = append(n.items, &Node{kind: nullNode, path: joinPath(n.path, segment), pos: pos})
	}
	if child := n.child(segment); child != nil {
		return child, nil
	}
	path := joinPath(n.path, segment)
	if len(n.items) == 0 {
		return nil, pos.fail(path, fmt.Errorf("%s is an empty list; add to it with %s.+=value", n.path, n.path))
	}
	meant := ""
	for _, item := range n.items {
		if meant == "" && (item.text == segment || item.Get(segment) != nil) {
			meant = ", which is " + joinPath(item.path, segment)
		}
	}
	return nil, pos.fail(path, fmt.Errorf("%s is a list; want an index from 0 to %d, or + to add to it, got %q%s",
		n.path, len(n.items)-1, segment, meant))
}
