// Package configtest tests settings of parts.
package configtest

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/must"
)

// CheckRanges compares the numbers that settings accept with the ranges in their error messages. For "want 1 to 64",
// settings must accept 1 and 64, and reject 0 and 65. The default of a number is always allowed. The file lists all
// ranges, so a change of a limit changes the file.
func CheckRanges[T any](t *testing.T, file string, entries []registry.Entry[T]) {
	t.Helper()
	text := must.Read(t, file)
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	var list []string
	for _, e := range entries {
		list = append(list, check(t, e.Name, func() any { return e.New() })...)
	}
	for _, line := range list {
		if !slices.Contains(want, line) {
			t.Errorf("%s lacks the line %q", file, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(list, line) {
			t.Errorf("%s has the line %q; no setting has this range", file, line)
		}
	}
}

// check checks one struct of settings. It returns the ranges in the error messages.
func check(t *testing.T, name string, settings func() any) (lines []string) {
	t.Helper()
	for i := range numbers("", reflect.ValueOf(settings())) {
		s := settings()
		n := numbers("", reflect.ValueOf(s))[i]
		var seen []span
		for _, probe := range n.probes() {
			text := n.refused(s, probe)
			if want, ok := spanOf(text); ok && !slices.Contains(seen, want.span) {
				seen = append(seen, want.span)
				n.compare(t, name, s, want)
				lines = append(lines, fmt.Sprintf("%s.%s: %v", name, n.path, want.span))
			}
		}
	}
	return lines
}

// compare reports ends of a range that settings reject, and neighbours of the ends that they accept. The current value
// of the setting may be outside.
func (n number) compare(t *testing.T, name string, settings any, want wanted) {
	t.Helper()
	for x, inside := range n.corners(want) {
		text := n.refused(settings, x)
		r, ok := spanOf(text)
		switch {
		case inside && ok && r.span == want.span: // other messages are about several settings
			t.Errorf("%s.%s: %v is refused: %s", name, n.path, x, text)
		case !inside && text == "" && x != n.value():
			t.Errorf("%s.%s: %v is accepted; messages of other values want %v", name, n.path, x, want.span)
		}
	}
}

type number struct {
	path string
	v    reflect.Value
}

// numbers lists the numbers in a struct, including nested structs and lists.
func numbers(path string, v reflect.Value) (list []number) {
	switch v.Kind() {
	case reflect.Int, reflect.Int64, reflect.Float32, reflect.Float64:
		return []number{{path, v}}
	case reflect.Pointer:
		if !v.IsNil() {
			return numbers(path, v.Elem())
		}
	case reflect.Slice:
		if v.Len() > 0 {
			return numbers(path+".0", v.Index(0))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			tag, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			switch {
			case f.Anonymous && (tag == "" || strings.Contains(options, "inline")):
				list = append(list, numbers(path, v.Field(i))...)
			case f.IsExported() && tag != "" && tag != "-":
				list = append(list, numbers(strings.TrimPrefix(path+"."+tag, "."), v.Field(i))...)
			}
		}
	}
	return list
}

// refused returns the error message if settings reject a value of the number, or "" if they accept it.
func (n number) refused(settings any, x float64) string {
	before := reflect.New(n.v.Type()).Elem()
	before.Set(n.v)
	defer n.v.Set(before)
	if n.isInt() {
		n.v.SetInt(int64(x))
	} else {
		n.v.SetFloat(x)
	}
	err := config.ValidateParts(settings)
	if s, ok := settings.(config.Validator); ok {
		err = errors.Join(err, s.Validate())
	}
	if err == nil {
		return ""
	}
	for line := range strings.Lines(err.Error()) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), n.path+": "); ok {
			return text
		}
	}
	return ""
}

func (n number) isInt() bool { return n.v.CanInt() }

func (n number) value() float64 {
	if n.isInt() {
		return float64(n.v.Int())
	}
	return n.v.Float()
}

// probes are values that settings may reject.
func (n number) probes() []float64 {
	if n.isInt() {
		return []float64{-1 << 40, -1, 0, 1<<31 - 1, 1 << 40}
	}
	return []float64{-1e30, -1, 0, 1e30}
}

// next is the adjacent value in the number's type.
func (n number) next(x, towards float64) float64 {
	switch {
	case n.isInt():
		return x + math.Copysign(1, towards)
	case n.v.Kind() == reflect.Float32:
		return float64(math.Nextafter32(float32(x), float32(towards)))
	}
	return math.Nextafter(x, towards)
}

// corners are the values next to the ends of a range, and whether the range has them.
func (n number) corners(r wanted) map[float64]bool {
	list := map[float64]bool{}
	end := func(x float64, open bool, away float64) {
		switch {
		case math.IsInf(x, 0):
		case open:
			list[x], list[n.next(x, -away)] = false, true
		default:
			list[x], list[n.next(x, away)] = true, false
		}
	}
	end(r.low, r.openLow, math.Inf(-1))
	end(r.high, r.openHigh, math.Inf(1))
	for _, x := range r.also {
		list[x] = true
	}
	if !n.isInt() {
		list[math.NaN()] = false
	}
	return list
}

type span struct {
	low, high         float64
	openLow, openHigh bool // exclusive ends
}

// String formats the range, with brackets such as [ for inclusive ends.
func (s span) String() string {
	first, last := "[", "]"
	if s.openLow {
		first = "("
	}
	if s.openHigh {
		last = ")"
	}
	return fmt.Sprintf("%s%v, %v%s", first, s.low, s.high, last)
}

type wanted struct {
	span
	also []float64 // numbers outside the range
}

// forms are the forms of ranges in messages. # is a number. The ends are inclusive, exclusive or missing.
var forms = []struct{ ends, text string }{
	{"[]", `want (?:an integer |a number |integers |numbers )?(?:from )?#(?: \([^)]*\))? to #`},
	{"[)", `want #(?: \([^)]*\)| or more)?,? and less than #`},
	{"[ ", `want #(?: \([^)]*\))? or more`},
	{"[)", `want # <= \w+ < #`},
	{"[]", `want # <= \w+ <= #`},
	{"()", `want # < \w+ < #`},
	{"()", `want (?:a number |a factor )?(?:more than|above|between) #,? and (?:less than|below|) ?#`},
	{"(]", `want (?:a number |a factor )?(?:more than|above) #,? and at most #`},
	{"( ", `want (?:a number |a factor )?(?:more than|above|greater than) #`},
	{"[)", `want (?:a number )?at least #,? and less than #`},
	{"[]", `want (?:a number )?at least #,? and at most #`},
	{"[ ", `(?:want|is not) (?:a number |a number of )?at least #`},
	{"one", `want #(?: or #| \()`},
	{" ]", `want at most #`},
	{"[ ", `want a number from # on`},
	{"( ", `(?:want|is not) a positive number`},
}

var expressions = func() (list []*regexp.Regexp) {
	for _, f := range forms {
		list = append(list, regexp.MustCompile(strings.ReplaceAll(f.text, "#", digits)))
	}
	return list
}()

const digits = `(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)`

var other = regexp.MustCompile(`,? or ` + digits + `\b`)

// spanOf parses the range in a message.
func spanOf(text string) (r wanted, ok bool) {
	for i, e := range expressions {
		m := e.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		ends, x := forms[i].ends, append(values(m[1:]), 0, 0)
		r.span = span{low: x[0], high: x[1], openLow: ends[0] == '(', openHigh: ends[1] == ')'}
		switch {
		case ends == "one":
			r.high = r.low
		case ends == " ]":
			r.low, r.high = math.Inf(-1), x[0]
		case ends[1] == ' ':
			r.high = math.Inf(1)
		}
		for _, m := range other.FindAllStringSubmatch(text, -1) {
			r.also = append(r.also, values(m[1:])...)
		}
		return r, true
	}
	return r, false
}

func values(texts []string) (list []float64) {
	for _, text := range texts {
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			list = append(list, v)
		}
	}
	return list
}
