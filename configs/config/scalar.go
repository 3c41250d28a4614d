package config

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

type class uint8

const (
	isText class = iota
	isNull
	isBool
	isInt
	isFloat
)

var (
	decimalInt = regexp.MustCompile(`^[-+]?[0-9]+$`)
	basedInt   = regexp.MustCompile(`^0(x[0-9a-fA-F]+|o[0-7]+|b[01]+)$`)
	decimal    = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	special    = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// classify follows the core schema of YAML 1.2 (section 10.3.2), and also accepts 0b.
func classify(text string) class {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return isNull
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return isBool
	}
	if !strings.ContainsRune("+-.0123456789", rune(text[0])) {
		return isText // no number begins with another character; most texts end here
	}
	switch {
	case decimalInt.MatchString(text), basedInt.MatchString(text):
		return isInt
	case decimal.MatchString(text), special.MatchString(text):
		return isFloat
	}
	return isText
}

func (n *Node) class() class {
	switch {
	case n.kind == nullNode:
		return isNull
	case !n.plain:
		return isText
	}
	return classify(n.text)
}

func (n *Node) boolean() (bool, error) {
	if n.kind != scalarNode || n.class() != isBool {
		return false, n.want("true or false")
	}
	return strings.EqualFold(n.text, "true"), nil
}

func (n *Node) str() (string, error) {
	if n.kind == scalarNode {
		if n.class() == isText {
			return n.text, nil
		}
		return "", n.Errorf("want a text, got %s; put it in quotes: %q", n.text, n.text)
	}
	return "", n.want("a text")
}

// integer decodes an int or uint of any size.
func (n *Node) integer(v reflect.Value) error {
	if n.kind != scalarNode {
		return n.want("an integer")
	}
	switch n.class() {
	case isInt:
	case isFloat:
		f, err := strconv.ParseFloat(n.text, 64)
		if err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return n.Errorf("want an integer, got %s; write %.0f", n.text, f)
		}
		return n.want("an integer")
	default:
		return n.want("an integer")
	}
	digits := strings.TrimLeft(n.text, "-+")
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return n.Errorf("want an integer without leading zeros, got %s", n.text)
	}
	text, bits := strings.TrimPrefix(n.text, "+"), v.Type().Bits()
	if v.CanUint() {
		u, err := strconv.ParseUint(text, 0, bits)
		if err != nil {
			return n.Errorf("want an integer from 0 to %d, got %s", uint64(math.MaxUint64)>>(64-bits), n.text)
		}
		v.SetUint(u)
		return nil
	}
	i, err := strconv.ParseInt(text, 0, bits)
	if err != nil {
		return n.Errorf("want an integer from %d to %d, got %s",
			int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits), n.text)
	}
	v.SetInt(i)
	return nil
}

// number returns a float that is not NaN, in the range of float32 or float64.
func (n *Node) number(bits int) (float64, error) {
	if n.kind != scalarNode {
		return 0, n.want("a number")
	}
	text := n.text
	switch n.class() {
	case isInt:
		if basedInt.MatchString(text) {
			u, err := strconv.ParseUint(text, 0, 64)
			if err != nil {
				return 0, n.Errorf("want a number, got %s, which is too large", text)
			}
			return float64(u), nil
		}
	case isFloat:
		if strings.EqualFold(text, ".nan") {
			return 0, n.Errorf("want a number, got %s (not a number)", text)
		}
		text = strings.Replace(text, ".", "", btoi(special.MatchString(text)))
	default:
		return 0, n.want("a number")
	}
	f, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return 0, n.Errorf("want a number, got %s, which is too large for %d bits", n.text, bits)
	}
	if digits, _, _ := strings.Cut(strings.ToLower(text), "e"); f == 0 && strings.ContainsAny(digits, "123456789") {
		return 0, n.Errorf("want a number, got %s, which is too near zero for %d bits", n.text, bits)
	}
	return f, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (n *Node) want(what string) error { return n.fail(&mismatch{what, n.wantHint(what), n}) }

// wantHint suggests how to write a value of a wrong kind.
func (n *Node) wantHint(what string) string {
	switch {
	case what == "a text" && n.kind == mapNode:
		return "put a text with a colon in quotes"
	case n.kind != scalarNode:
		return ""
	case what == "true or false":
		return truths[strings.ToLower(n.text)]
	case (what == "an integer" || what == "a number") && !n.plain &&
		(classify(n.text) == isInt || classify(n.text) == isFloat):
		return "write it without quotes: " + n.text
	case (what == "an integer" || what == "a number") && grouped.MatchString(n.text):
		return "write " + strings.ReplaceAll(n.text, "_", "")
	}
	return ""
}

// grouped matches an integer with underscores, as Python and Go allow.
var grouped = regexp.MustCompile(`^[0-9]+(_[0-9]+)+$`)

// truths translates truth values of YAML 1.1 and of other programs.
var truths = map[string]string{
	"yes": "write true", "on": "write true", "y": "write true", "1": "write true",
	"no": "write false", "off": "write false", "n": "write false", "0": "write false",
}

// checkText rejects characters that no text file has, before the parser sees them.
func checkText(start position, path string, src []byte) error {
	if bytes.HasPrefix(src, []byte("\xff\xfe")) || bytes.HasPrefix(src, []byte("\xfe\xff")) {
		return start.fail(path, errors.New("UTF-16 text; want UTF-8"))
	}
	line, column := 1, 1
	for len(src) > 0 {
		r, size := utf8.DecodeRune(src)
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			pos := start
			if start.line > 0 {
				pos.line, pos.column = line, column
			}
			return pos.fail(path, fmt.Errorf("byte 0x%02x is not text; want UTF-8", src[0]))
		}
		if column++; r == '\n' {
			line, column = line+1, 1
		}
		src = src[size:]
	}
	return nil
}
