// Package configtest tests settings.
package configtest

import (
	"errors"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
)

// CheckRanges compares the numbers that settings accept with the ranges that their messages state. For "want 1 to 64"
// it demands that 1 and 64 are accepted, and that 0 and 65 are not. A number may be its default in any case. At least
// so many numbers must have such messages. The numbers of zeros, such as "sprites.channels", take 0 from Go code.
func CheckRanges[T any](t *testing.T, entries []registry.Entry[T], least int, zeros ...string) {
	t.Helper()
	checked := 0
	for _, e := range entries {
		checked += check(t, e.Name, func() any { return e.New() }, zeros)
	}
	if checked < least {
		t.Errorf("%d numbers have a message with a range; want %d or more", checked, least)
	}
}

// check checks one struct of settings.
func check(t *testing.T, name string, settings func() any, zeros []string) (checked int) {
	t.Helper()
	for i := range numbers("", reflect.ValueOf(settings())) {
		s := settings()
		n := numbers("", reflect.ValueOf(s))[i]
		refused := func(x float64) string { return n.refused(s, x) }
		seen := map[span]bool{}
		for _, probe := range n.probes() {
			text := refused(probe)
			if text == "" {
				continue
			}
			want, ok := spanOf(text)
			if !ok {
				t.Logf("%s.%s: no range in %q", name, n.path, text)
				continue
			}
			if seen[want.span] {
				continue
			}
			seen[want.span] = true
			for x, ok := range n.corners(want) {
				got := refused(x)
				r, ranged := spanOf(got) // other messages are about several settings
				given := x == n.value() || x == 0 && slices.Contains(zeros, name+"."+n.path)
				if ok && ranged && r.span == want.span || !ok && got == "" && !given {
					t.Errorf("%s.%s: %v is accepted: %v, %s; the message of %v is %q", name, n.path, x, got == "", got, probe, text)
				}
			}
		}
		if len(seen) > 0 {
			checked++
		}
	}
	return checked
}

// number is a number among settings.
type number struct {
	path string
	v    reflect.Value
}

// numbers lists the numbers of a struct, also in structs and lists inside it.
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

// refused returns the message if settings refuse a value of the number; empty if they accept it.
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

// probes are values that settings may refuse.
func (n number) probes() []float64 {
	if n.isInt() {
		return []float64{-1 << 40, -1, 0, 1<<31 - 1, 1 << 40}
	}
	return []float64{-1e30, -1, 0, 1e30}
}

// next is the neighbour of a value of the number's type.
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

// span is a range of numbers.
type span struct {
	low, high         float64
	openLow, openHigh bool // without the end
}

type wanted struct {
	span
	also []float64 // numbers outside the range
}

// form is a form of ranges in messages.
type form struct {
	text *regexp.Regexp
	span func(x []float64) span
}

// written returns a form. # stands for a number.
func written(text string, span func(x []float64) span) form {
	return form{regexp.MustCompile(strings.ReplaceAll(text, "#", digits)), span}
}

var forms = []form{
	written(`want (?:an integer |a number |integers |numbers )?(?:from )?#(?: \([^)]*\))? to #`, func(x []float64) span { return span{low: x[0], high: x[1]} }),
	written(`want #(?: \([^)]*\)| or more)?,? and less than #`, func(x []float64) span { return span{low: x[0], high: x[1], openHigh: true} }),
	written(`want #(?: \([^)]*\))? or more`, func(x []float64) span { return span{low: x[0], high: math.Inf(1)} }),
	written(`want # <= \w+ < #`, func(x []float64) span { return span{low: x[0], high: x[1], openHigh: true} }),
	written(`want # <= \w+ <= #`, func(x []float64) span { return span{low: x[0], high: x[1]} }),
	written(`want # < \w+ < #`, func(x []float64) span { return span{low: x[0], openLow: true, high: x[1], openHigh: true} }),
	written(`want (?:a number |a factor )?(?:more than|above|greater than|between) # and (?:less than|below|) ?#`, func(x []float64) span {
		return span{low: x[0], openLow: true, high: x[1], openHigh: true}
	}),
	written(`want (?:a number |a factor )?(?:more than|above) # and at most #`, func(x []float64) span { return span{low: x[0], openLow: true, high: x[1]} }),
	written(`want (?:a number |a factor )?(?:more than|above|greater than) #`, func(x []float64) span { return span{low: x[0], openLow: true, high: math.Inf(1)} }),
	written(`want (?:a number )?at least #,? and less than #`, func(x []float64) span { return span{low: x[0], high: x[1], openHigh: true} }),
	written(`want (?:a number )?at least #,? and at most #`, func(x []float64) span { return span{low: x[0], high: x[1]} }),
	written(`(?:want|is not) (?:a number |a number of )?at least #`, func(x []float64) span { return span{low: x[0], high: math.Inf(1)} }),
	written(`want #(?: or #| \()`, func(x []float64) span { return span{low: x[0], high: x[0]} }),
	written(`want at most #`, func(x []float64) span { return span{low: math.Inf(-1), high: x[0]} }),
	written(`want a number from # on`, func(x []float64) span { return span{low: x[0], high: math.Inf(1)} }),
	written(`(?:want|is not) a positive number`, func(x []float64) span { return span{low: 0, openLow: true, high: math.Inf(1)} }),
}

const digits = `(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)`

var other = regexp.MustCompile(`,? or ` + digits + `\b`)

// spanOf reads the range that a message states.
func spanOf(text string) (r wanted, ok bool) {
	for _, f := range forms {
		m := f.text.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		r.span = f.span(values(m[1:]))
		for _, m := range other.FindAllStringSubmatch(text, -1) {
			r.also = append(r.also, values(m[1:])...)
		}
		return r, true
	}
	return r, false
}

func values(texts []string) (list []float64) {
	for _, text := range texts {
		v, _ := strconv.ParseFloat(text, 64) // the expression found a number
		list = append(list, v)
	}
	return list
}
