package hierarchy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// maxBytes is the maximum size of a file.
const maxBytes = 1 << 22

// Read reads a hierarchy from a JSON file (see [Parse]). Errors begin with the path, line and column.
func Read(path string) (Hierarchy, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	h, err := Parse(src)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return h, nil
}

// Parse reads a list of dimensions:
//
//	[{"type": "continuous"},
//	 {"type": "categorical", "options": [[], [{"type": "continuous"}]]}]
//
// A categorical dimension may have "probs", one number for each option. Parse checks and drops them. Anything else is
// an error, which begins with line and column.
func Parse(src []byte) (Hierarchy, error) {
	p := &parser{src: src}
	if len(src) > maxBytes {
		return nil, p.fail(maxBytes, "$", "the text is longer than %d bytes", maxBytes)
	}
	var document json.RawMessage
	if err := json.Unmarshal(src, &document); err != nil {
		offset := int64(len(src))
		if s, ok := errors.AsType[*json.SyntaxError](err); ok && !strings.Contains(s.Error(), "unexpected end") {
			offset = max(s.Offset-1, 0)
		}
		return nil, p.fail(offset, "$", "not JSON: %w", err)
	}
	p.tokens = json.NewDecoder(bytes.NewReader(src))
	p.tokens.UseNumber()
	return p.group("$", 1)
}

// parser reads the tokens of well-formed JSON.
type parser struct {
	src    []byte
	tokens *json.Decoder
	nodes  int
}

func (p *parser) next() (json.Token, int64) {
	offset := p.tokens.InputOffset()
	for offset < int64(len(p.src)) && bytes.IndexByte([]byte(" \t\r\n,:"), p.src[offset]) >= 0 {
		offset++
	}
	token, err := p.tokens.Token()
	if err != nil {
		return err, offset // no wanted token equals an error
	}
	return token, offset
}

// fail returns an error with the line and column of an offset, and the path unless it is empty.
func (p *parser) fail(offset int64, path, format string, args ...any) error {
	before := p.src[:min(offset, int64(len(p.src)))]
	line, column := 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n')
	err := fmt.Errorf(format, args...)
	if path != "$" {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%d:%d: %w", line, column, err)
}

func (p *parser) want(path, wanted string, token json.Token, offset int64) error {
	return p.fail(offset, path, "want %s, got %s", wanted, describe(token))
}

func describe(token json.Token) string {
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return "an object"
		}
		return "a list"
	case string:
		return fmt.Sprintf("the text %q", v)
	case json.Number:
		return "the number " + v.String()
	}
	return fmt.Sprint(token)
}

func (p *parser) group(path string, depth int) (Hierarchy, error) {
	token, offset := p.next()
	if token != json.Delim('[') {
		return nil, p.want(path, "a list of dimensions", token, offset)
	}
	if depth > maxDepth {
		return nil, p.fail(offset, path, "%w", errTooDeep)
	}
	h := Hierarchy{}
	for p.tokens.More() {
		n, err := p.node(fmt.Sprintf("%s[%d]", path, len(h)), depth)
		if err != nil {
			return nil, err
		}
		h = append(h, n)
	}
	p.next()
	return h, nil
}

func (p *parser) node(path string, depth int) (Node, error) {
	token, start := p.next()
	if token != json.Delim('{') {
		return Node{}, p.want(path, `a dimension such as {"type": "continuous"}`, token, start)
	}
	if p.nodes++; p.nodes > maxNodes {
		return Node{}, p.fail(start, path, "%w", errTooMany)
	}
	var n Node
	var kind string
	var keys []string
	offsets := map[string]int64{}
	probs := 0
	for p.tokens.More() {
		token, offset := p.next()
		key := token.(string)
		if slices.Contains(keys, key) {
			return Node{}, p.fail(offset, path, "%s appears twice", key)
		}
		keys, offsets[key] = append(keys, key), offset
		var err error
		switch key {
		case "type":
			kind, err = p.kind(path + ".type")
		case "options":
			n.Options, err = p.options(path+".options", depth)
		case "probs":
			probs, err = p.probs(path + ".probs")
		default:
			err = p.fail(offset, path, "unknown key %q; want type, options or probs", key)
		}
		if err != nil {
			return Node{}, err
		}
	}
	p.next()
	return n, p.checkKeys(path, start, offsets, kind, n, probs)
}

// checkKeys checks that the keys of a dimension are consistent.
func (p *parser) checkKeys(path string, start int64, offsets map[string]int64, kind string, n Node, probs int) error {
	optionsOffset, hasOptions := offsets["options"]
	probsOffset, hasProbs := offsets["probs"]
	switch {
	case kind == "":
		return p.fail(start, path, "there is no type; want continuous or categorical")
	case kind == "continuous" && hasOptions:
		return p.fail(optionsOffset, path, "a continuous dimension has options; want the type categorical, or none")
	case kind == "continuous" && hasProbs:
		return p.fail(probsOffset, path, "a continuous dimension has probs; want the type categorical, or none")
	case kind == "categorical" && !hasOptions:
		return p.fail(start, path, "%w", errNoOptions)
	case hasProbs && probs != len(n.Options):
		return p.fail(probsOffset, path, "there are %d probs; want one for each of the %d options", probs, len(n.Options))
	}
	return nil
}

func (p *parser) kind(path string) (string, error) {
	token, offset := p.next()
	if kind, ok := token.(string); ok && (kind == "continuous" || kind == "categorical") {
		return kind, nil
	}
	return "", p.want(path, `"continuous" or "categorical"`, token, offset)
}

func (p *parser) options(path string, depth int) ([]Hierarchy, error) {
	token, offset := p.next()
	if token != json.Delim('[') {
		return nil, p.want(path, "a list of options, each a list of dimensions", token, offset)
	}
	list := []Hierarchy{}
	for p.tokens.More() {
		if p.nodes++; p.nodes > maxNodes {
			return nil, p.fail(p.tokens.InputOffset(), path, "%w", errTooMany)
		}
		option, err := p.group(fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, option)
	}
	p.next()
	if len(list) == 0 {
		return nil, p.fail(offset, strings.TrimSuffix(path, ".options"), "%w", errNoOptions)
	}
	return list, nil
}

// probs returns the length of a list of numbers.
func (p *parser) probs(path string) (int, error) {
	token, offset := p.next()
	if token != json.Delim('[') {
		return 0, p.want(path, "a list of numbers", token, offset)
	}
	count := 0
	for p.tokens.More() {
		token, offset := p.next()
		number, ok := token.(json.Number)
		if v, err := number.Float64(); !ok || err != nil || v < 0 {
			return 0, p.want(fmt.Sprintf("%s[%d]", path, count), "a number of at least 0", token, offset)
		}
		count++
	}
	p.next()
	return count, nil
}

// MarshalJSON writes the format of [Parse]. An invalid hierarchy is an error.
func (h Hierarchy) MarshalJSON() ([]byte, error) {
	if err := h.Validate(); err != nil {
		return nil, fmt.Errorf("hierarchy: %w", err)
	}
	return h.appendJSON(nil), nil
}

func (h Hierarchy) appendJSON(text []byte) []byte {
	text = append(text, '[')
	for i, n := range h {
		if i > 0 {
			text = append(text, ',')
		}
		if !n.Categorical() {
			text = append(text, `{"type":"continuous"}`...)
			continue
		}
		text = append(text, `{"type":"categorical","options":[`...)
		for o, option := range n.Options {
			if o > 0 {
				text = append(text, ',')
			}
			text = option.appendJSON(text)
		}
		text = append(text, `]}`...)
	}
	return append(text, ']')
}

// UnmarshalJSON reads the format of [Parse].
func (h *Hierarchy) UnmarshalJSON(src []byte) error {
	parsed, err := Parse(src)
	if err != nil {
		return fmt.Errorf("hierarchy: %w", err)
	}
	*h = parsed
	return nil
}
