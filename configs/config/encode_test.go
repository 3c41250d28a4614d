package config

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestEncodeExperiment(t *testing.T) {
	want := defaults()
	must.OK(t, Load("full.yaml", []byte(full), &want))
	text := must.Get(Encode(&want))(t)
	const golden = `name: "5"
seed: 18446744073709551615
dataset:
  square:
    size: 32
    side: 16
losses:
  - kl: {}
  - kl: {}
  - lsbd:
      weight: 100.0
  - lsbd:
      weight: 1.0
train:
  epochs: 3
  batch: 100
  rate: 1.0e-10
range: [-1.0, 0.5]
layers:
  - width: 8
    bias: false
  - width: 16
    bias: true
note: two lines
limits:
  a: -128
  b.c: 127
free:
  x:
    - 1
    - 1.0
    - one
    - null
    - true
  "y": {}
raw:
  - anything
  - goes: here
kind: tanh
quiet: true
level: 3.0
`
	must.Equal(t, string(text), golden)
	got := defaults()
	must.OK(t, Load("again.yaml", text, &got))
	got.Raw, want.Raw = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// values holds values that are difficult to write.
type values struct {
	Texts   []string
	Floats  []float64
	Singles []float32
	Ints    []int64
	Any     any
	Map     map[string]string
	Nested  [][]int
	Deep    [][][]map[string][]int
	P       *float64
}

func TestEncodeRoundTrip(t *testing.T) {
	third := 1.0 / 3
	want := values{
		Texts: []string{"", " ", "a b", " a", "a ", "5", "1e-3", "0x10", "true", "null", "~", "yes", "No", "- a", "a: b", "a #b", "#",
			"*a", "&a", "!a", "|", ">", "@a", "`a", "%a", "'a'", `"a"`, `a\b`, "a\nb", "\n", "a\r\nb", "\t", "\x00\x01\x7f", "é", "日本", "\u2028\u0085\ufeff",
			"\U0001F600", "\U0010ffff", "---", "...", "<<", ".inf", ".nan", "{}", "[a]", "a, b", "?", ":", "a:", "C:\\x", "2024-01-01", "1_000", "0o7", "=", "/a/b.npy",
			strings.Repeat("long ", 100), strings.Repeat("x", 500)},
		Floats: []float64{0, math.Copysign(0, -1), 1, -1, 1e-10, 1e300, third, math.MaxFloat64, math.SmallestNonzeroFloat64,
			math.Inf(1), math.Inf(-1), 123456789, 1e21},
		Singles: []float32{0.1, math.MaxFloat32, math.SmallestNonzeroFloat32, 1e-10},
		Ints:    []int64{math.MinInt64, math.MaxInt64, 0, -1},
		Any:     map[string]any{"a": []any{1, 2.0, "3", nil, false, map[string]any{"": []any{}}}, "5": "5"},
		Map:     map[string]string{"": "", "a.b": "c", "true": "x", "<<": "merge", "- x": "y", "a\nb": "z"},
		Nested:  [][]int{{1, 2}, {}, {3}},
		Deep:    [][][]map[string][]int{{{{"a": {1}}, {}}}, {}},
		P:       &third,
	}
	text := must.Get(Encode(want))(t)
	var got values
	got.Nested = [][]int{{9}}
	if err := Load("x.yaml", text, &got); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for i := range want.Texts {
		must.Equal(t, got.Texts[i], want.Texts[i], "text")
	}
	// inside other lists, nil and empty lists become equal
	got.Nested[1], got.Deep[1] = []int{}, [][]map[string][]int{}
	if got.Deep[0][0][1] == nil {
		got.Deep[0][0][1] = map[string][]int{}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v\n%s", got, want, text)
	}
	if !math.Signbit(got.Floats[1]) {
		t.Error("-0 became 0")
	}
}

// Encode quotes only texts that YAML 1.1 reads as booleans, and texts that look like numbers.
func TestEncodeQuotes(t *testing.T) {
	for _, quoted := range []string{"y", "N", "yes", "No", "ON", "off", "5", "+1", "-.5", ".inf", "0b1"} {
		if text, err := Encode(map[string]string{"a": quoted}); err != nil || string(text) != "a: \""+quoted+"\"\n" {
			t.Errorf("got %q, %v", text, err)
		}
	}
	for _, plain := range []string{"yess", "mig", "n1", "one two", ".hidden", "_"} {
		if text, err := Encode(map[string]string{"a": plain}); err != nil || string(text) != "a: "+plain+"\n" {
			t.Errorf("got %q, %v", text, err)
		}
	}
}

func TestEncodeOrder(t *testing.T) {
	v := yaml.MapSlice{{Key: "z", Value: 1}, {Key: "a", Value: yaml.MapSlice{}}, {Key: 3, Value: []string{"x"}}, {Key: "n", Value: nil}}
	text, err := Encode(v)
	if want := "z: 1\na: {}\n\"3\": [x]\n\"n\": null\n"; err != nil || string(text) != want {
		t.Errorf("got %q, %v, want %q", text, err, want)
	}
}

func TestEncodeTop(t *testing.T) {
	for _, test := range []struct {
		v    any
		want string
	}{
		{nil, "null\n"}, {3, "3\n"}, {"a b", "a b\n"}, {[]int{1}, "[1]\n"}, {[]any{}, "[]\n"}, {struct{}{}, "{}\n"},
		{[]any{[]any{1, []any{nil}}}, "- - 1\n  - - null\n"}, {map[string]any{}, "{}\n"}, {(*int)(nil), "null\n"},
		{dataChoice{}, "null\n"},
	} {
		text, err := Encode(test.v)
		if err != nil || string(text) != test.want {
			t.Errorf("%#v: got %q, %v, want %q", test.v, text, err, test.want)
		}
	}
}

type cycle struct{ Next *cycle }

type endless struct{}

func (e endless) EncodeConfig() (any, error) { return e, nil }

func TestEncodeErrors(t *testing.T) {
	loop := &cycle{}
	loop.Next = loop
	for _, test := range []struct {
		v    any
		want string
	}{
		{training{Rate: math.NaN()}, "rate: NaN cannot be written"},
		{[]float32{float32(math.NaN())}, "0: NaN cannot be written"},
		{map[string]any{"a": "\xff"}, `a: the text "\xff" is not UTF-8`},
		{map[string]any{"\xff": 1}, "the key is not UTF-8"},
		{struct{ F func() }{}, "f: settings of Go type func() cannot be written"},
		{map[int]int{1: 1}, "map[int]int cannot be written"},
		{loop, "nested more than"},
		{endless{}, "nested more than"},
		{yaml.MapSlice{{Key: 1, Value: 1}, {Key: "1", Value: 2}}, "1: two values with this key"},
		{[]dataChoice{{}}, "encodes to nothing"},
	} {
		must.ErrorOf(Encode(test.v))(t, test.want, test.v)
	}
}

func TestOptions(t *testing.T) {
	d := defaults()
	got := Options(&d)
	want := []Option{
		{"name", "text", "run", "what the run is called"},
		{"seed", "integer from 0", "0", ""},
		{"dataset", "one of square, arrow", "{square: {size: 64, side: 16}}", ""},
		{"losses", "list of mapping", "[]", ""},
		{"train.epochs", "integer", "20", "passes over the data"},
		{"train.batch", "integer", "100", ""},
		{"train.rate", "number", "0.001", "step size"},
		{"range", "list of 2, each number", "[-10.0, -9.0]", ""},
		{"layers", "list of mapping", "[]", ""},
		{"layers.N.width", "integer", "8", ""},
		{"layers.N.bias", "true or false", "false", ""},
		{"note", "text", "", ""},
		{"limits", "mapping of integer", "{}", ""},
		{"free", "mapping of anything", "{}", ""},
		{"raw", "anything", "", ""},
		{"kind", "a text", "relu", ""},
		{"extra", "mapping of mapping", "{}", ""},
		{"extra.NAME.width", "integer", "8", ""},
		{"extra.NAME.bias", "true or false", "false", ""},
		{"quiet", "true or false", "false", ""},
		{"level", "number", "0.0", ""},
	}
	if !reflect.DeepEqual(got, want) {
		for i := range max(len(got), len(want)) {
			t.Logf("got  %+v", got[min(i, len(got)-1)])
			t.Logf("want %+v", want[min(i, len(want)-1)])
		}
		t.Error("options differ")
	}
	if got := Options(3); got != nil {
		t.Errorf("options of 3: %v", got)
	}
	if got := Options(cycle{}); len(got) > 20 {
		t.Errorf("a type that contains itself: %v", got)
	}
}
