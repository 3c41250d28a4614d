package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/must"
)

// experiment holds the settings for decoding tests: a small experiment.
type experiment struct {
	Name    string          `yaml:"name" doc:"what the run is called"`
	Seed    uint64          `yaml:"seed"`
	Dataset dataChoice      `yaml:"dataset"`
	Losses  []lossChoice    `yaml:"losses"`
	Train   training        `yaml:"train"`
	Range   [2]float64      `yaml:"range"`
	Layers  []layer         `yaml:"layers"`
	Note    *string         `yaml:"note"`
	Limits  map[string]int8 `yaml:"limits"`
	Free    map[string]any  `yaml:"free"`
	Raw     *Node           `yaml:"raw"`
	//lint:ignore U1000 fields that are not exported are no keys
	hidden  int
	Skipped int               `yaml:"-"`
	Kind    activation        `yaml:"kind"`
	Extra   map[string]*layer `yaml:"extra,omitempty"`
	common
}

type common struct {
	Quiet bool    `yaml:"quiet"`
	Level float32 `yaml:"level"`
}

func (c common) Validate() error {
	if c.Level < 0 {
		return Invalid("level", "must not be negative, got %g", c.Level)
	}
	return nil
}

type training struct {
	Epochs int     `yaml:"epochs" doc:"passes over the data"`
	Batch  int     `yaml:"batch"`
	Rate   float64 `yaml:"rate" doc:"step size"`
}

func (t *training) Validate() error {
	var all []error
	if t.Epochs < 1 {
		all = append(all, Invalid("epochs", "must be positive, got %d", t.Epochs))
	}
	if t.Batch < 1 {
		all = append(all, Invalid("batch", "must be positive, got %d", t.Batch))
	}
	return errors.Join(all...)
}

type layer struct {
	Width int  `yaml:"width"`
	Bias  bool `yaml:"bias"`
}

func (l *layer) SetDefaults() { l.Width = 8 }

type activation uint8

func (a *activation) UnmarshalText(text []byte) error {
	switch string(text) {
	case "relu":
		*a = 1
	case "tanh":
		*a = 2
	default:
		return errors.New("unknown activation; want relu or tanh")
	}
	return nil
}

func (a activation) MarshalText() ([]byte, error) {
	return []byte([]string{"", "relu", "tanh"}[a]), nil
}

// Two registries of choices.
type dataset interface{ Len() int }

type square struct {
	Size int `yaml:"size"`
	Side int `yaml:"side"`
}

func (s *square) Len() int { return s.Size * s.Size }

func (s *square) Validate() error {
	if s.Side > s.Size {
		return Invalid("side", "must be at most size (%d), got %d", s.Size, s.Side)
	}
	return nil
}

type arrow struct {
	Hues int `yaml:"hues"`
}

func (a *arrow) Len() int { return a.Hues }

var datasets = registry.Registry[dataset]{Kind: "dataset", Entries: []registry.Entry[dataset]{
	{Name: "square", New: func() dataset { return &square{64, 16} }},
	{Name: "arrow", New: func() dataset { return &arrow{64} }},
}}

type dataChoice struct{ registry.Choice[dataset] }

func (c *dataChoice) DecodeConfig(n *Node) error { return DecodeChoice(n, &datasets, &c.Choice) }
func (c dataChoice) EncodeConfig() (any, error)  { return EncodeChoice(c.Choice) }
func (c dataChoice) ConfigForms() []any          { return []any{ChoicesOf(&datasets)} }
func (c *lossChoice) DecodeConfig(n *Node) error { return DecodeChoice(n, &losses, &c.Choice) }
func (c lossChoice) EncodeConfig() (any, error)  { return EncodeChoice(c.Choice) }

type loss interface{ Name() string }

type weighted struct {
	Weight float64 `yaml:"weight"`
}

func (*weighted) Name() string { return "weighted" }

type plain struct{}

func (*plain) Name() string { return "plain" }

var losses = registry.Registry[loss]{Kind: "loss", Entries: []registry.Entry[loss]{
	{Name: "kl", New: func() loss { return &plain{} }},
	{Name: "lsbd", New: func() loss { return &weighted{1} }},
}}

type lossChoice struct{ registry.Choice[loss] }

func defaults() experiment {
	return experiment{
		Name: "run", Dataset: dataChoice{registry.Choice[dataset]{Name: "square", Value: &square{64, 16}}},
		Train: training{Epochs: 20, Batch: 100, Rate: 1e-3}, Range: [2]float64{-10, -9}, Kind: 1,
	}
}

const full = `
# an experiment
name: "5"
seed: 18446744073709551615
dataset: {square: {size: 32}}
losses:
  - kl
  - kl: {}
  - lsbd:
      weight: 1e2
  - lsbd:
train: {epochs: +3, rate: 1e-10}
range: [-1, .5]
layers: [{}, {width: 0x10, bias: true}]
note: >-
  two
  lines
limits: {a: -128, "b.c": 127}
free: {x: [1, 1.0, one, null, true], y: {}}
raw: [anything, {goes: here}]
kind: tanh
quiet: true
level: 3
`

func TestDecode(t *testing.T) {
	got := defaults()
	must.OK(t, Load("full.yaml", []byte(full), &got))
	note := "two lines"
	want := experiment{
		Name: "5", Seed: math.MaxUint64,
		Dataset: dataChoice{registry.Choice[dataset]{Name: "square", Value: &square{32, 16}}},
		Losses: []lossChoice{
			{registry.Choice[loss]{Name: "kl", Value: &plain{}}}, {registry.Choice[loss]{Name: "kl", Value: &plain{}}},
			{registry.Choice[loss]{Name: "lsbd", Value: &weighted{100}}}, {registry.Choice[loss]{Name: "lsbd", Value: &weighted{1}}},
		},
		Train: training{3, 100, 1e-10}, Range: [2]float64{-1, .5},
		Layers: []layer{{8, false}, {16, true}}, Note: &note,
		Limits: map[string]int8{"a": -128, "b.c": 127},
		Free:   map[string]any{"x": []any{1, 1.0, "one", nil, true}, "y": map[string]any{}},
		Raw:    got.Raw, Kind: 2, common: common{true, 3},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got.Raw == nil || len(got.Raw.Items()) != 2 || got.Raw.Items()[1].Get("goes") == nil {
		t.Errorf("raw node: %+v", got.Raw)
	}
}

func TestDecodeEmpty(t *testing.T) {
	for _, src := range []string{"", "# nothing\n", "{}", "---\n", "\n\n"} {
		got := defaults()
		if err := Load("x.yaml", []byte(src), &got); err != nil || !reflect.DeepEqual(got, defaults()) {
			t.Errorf("%q: %v, %+v", src, err, got)
		}
	}
}

// topKeys are the keys of a config in these tests.
const topKeys = "name, seed, dataset, losses, train, range, layers, note, limits, free, raw, kind, extra, quiet, level"

// mistakes are configs with one mistake each. want is the end of the error.
var mistakes = []struct{ src, want string }{
	{"train: {epoch: 3}", `x.yaml:1:9: train.epoch: unknown key "epoch"; did you mean "epochs"?`},
	{"train: {train: {}}", `x.yaml:1:9: train.train: unknown key "train"; train stands at the top level`},
	{"train:\n  epochs: 1.5", "x.yaml:2:11: train.epochs: want an integer, got 1.5"},
	{"train:\n  epochs: 1e3", "x.yaml:2:11: train.epochs: want an integer, got 1e3; write 1000"},
	{"train: {epochs: 5.0}", "x.yaml:1:17: train.epochs: want an integer, got 5.0; write 5"},
	{"train: {epochs: \"5\"}", `x.yaml:1:17: train.epochs: want an integer, got the text "5"; write it without quotes: 5`},
	{"train: {epochs: 1e16}", "want an integer, got 1e16"},
	{"train: {rate: '0.5'}", `train.rate: want a number, got the text "0.5"; write it without quotes: 0.5`},
	{"name: {a: b}", "name: want a text, got a mapping; put a text with a colon in quotes"},
	{"train: {epochs: 010}", "want an integer without leading zeros, got 010"},
	{"train: {epochs: 1_000}", `want an integer, got the text "1_000"; write 1000`},
	{"train: {epochs: true}", "want an integer, got true"},
	{"train: {epochs: [1]}", "want an integer, got a list"},
	{"train: {epochs: {a: 1}}", "want an integer, got a mapping"},
	{"train: {rate: " + strings.Repeat("ä", 60) + "}", `got the text "` + strings.Repeat("ä", 60) + `"`},
	{"train: {rate: " + strings.Repeat("ä", 61) + "}", `got the text "` + strings.Repeat("ä", 57) + `..."`},
	{"train: {rate: abc}", `x.yaml:1:15: train.rate: want a number, got the text "abc"`},
	{"train: {rate: .nan}", "want a number, got .nan (not a number)"},
	{"train: {rate: 1e999}", "want a number, got 1e999, which is too large for 64 bits"},
	{"train: {rate: 1e-999}", "want a number, got 1e-999, which is too near zero for 64 bits"},
	{"level: 1e39", "too large for 32 bits"},
	{"level: 1e-60", "too near zero for 32 bits"},
	{"seed: -1", "x.yaml:1:7: seed: want an integer from 0 to 18446744073709551615, got -1"},
	{"seed: 18446744073709551616", "want an integer from 0 to 18446744073709551615, got 18446744073709551616"},
	{"limits: {a: 128}", "limits.a: want an integer from -128 to 127, got 128"},
	{"train: {epochs: 9223372036854775808}", "from -9223372036854775808 to 9223372036854775807, got 9223372036854775808"},
	{"train: {epochs: }", "x.yaml:1:9: train.epochs: want an integer, got nothing (null)"},
	{"train:", "x.yaml:1:1: train: want a mapping, got nothing (null); write {} for the defaults"},
	{"train: 3", "x.yaml:1:8: train: want a mapping, got 3; its keys: epochs, batch, rate"},
	{"name:", "name: want a text, got nothing (null)"},
	{"name: 5", `x.yaml:1:7: name: want a text, got 5; put it in quotes: "5"`},
	{"name: true", `put it in quotes: "true"`},
	{"name: [a]", "want a text, got a list"},
	{"quiet: yes", `quiet: want true or false, got the text "yes"; write true`},
	{"quiet: 1", "quiet: want true or false, got 1; write true"},
	{"range: [1]", "x.yaml:1:8: range: want a list of 2, got 1"},
	{"range: 1", "range: want a list of 2, got 1"},
	{"range: [1, x]", `x.yaml:1:12: range.1: want a number, got the text "x"`},
	{"losses: kl", `losses: want a list, got the text "kl"; write [kl]`},
	{"losses: {kl: {}}", "losses: want a list, got a mapping; write [kl]"},
	{"limits: [1]", "limits: want a mapping, got a list"},
	{"layers: [{width: 1}, {with: 2}]", `x.yaml:1:23: layers.1.with: unknown key "with"; did you mean "width"?`},
	{"layers: [3]", "x.yaml:1:10: layers.0: want a mapping, got 3; its keys: width, bias"},
	{"kind: gelu", "x.yaml:1:7: kind: unknown activation; want relu or tanh"},
	{"kind: [a]", "kind: want a text, got a list"},
	{"[1]", "x.yaml:1:1: want a mapping, got a list"},
	{"hello", `x.yaml:1:1: want a mapping, got the text "hello"; its keys: ` + topKeys},
	{"hidden: 1", `unknown key "hidden"; known: ` + topKeys},
	{"Skipped: 1", `unknown key "Skipped"; known: ` + topKeys},
	{"common: {}", `unknown key "common"; known: ` + topKeys},

	{"dataset: sqare", `x.yaml:1:10: dataset: unknown dataset "sqare"; did you mean "square"?`},
	{"dataset:\n  sqare: {}", `x.yaml:2:3: dataset: unknown dataset "sqare"; did you mean "square"?`},
	{"dataset:", "dataset: want one dataset, by its name or as {name: {options}}, got nothing (null); known: square, arrow"},
	{"dataset: 5", "got 5; known: square, arrow"},
	{"dataset: [square]", "got a list; known: square, arrow"},
	{"dataset: {}", "dataset: want {name: {options}} to choose one dataset, got an empty mapping; known: square, arrow"},
	{"dataset: {arrow: {}, square: {size: 3}}", "x.yaml:1:22: dataset: a dataset with two names: arrow is chosen at x.yaml:1:11, and here square; keep one, or replace the whole: dataset={square: {...}}"},
	{"dataset: {square: {hues: 3}}", `x.yaml:1:20: dataset.square.hues: unknown key "hues"; known: size, side`},
	{"dataset: {square: 5}", "dataset.square: want a mapping, got 5; its keys: size, side"},
	{"losses: [kl: {weight: 3}]", "losses.0.kl.weight: unknown key \"weight\"; there are no options here"},
	{"losses: [lsbd: {weight: x}]", `losses.0.lsbd.weight: want a number, got the text "x"`},

	{"dataset: {square: {size: 3}}", "x.yaml:1:11: dataset.square.side: must be at most size (3), got 16 (the default; the config does not set it)"},
	{"dataset: {square: {size: 3, side: 4}}", "x.yaml:1:29: dataset.square.side: must be at most size (3), got 4"},
	{"train: {epochs: 0}", "x.yaml:1:9: train.epochs: must be positive, got 0"},
	{"level: -1", "x.yaml:1:1: level: must not be negative, got -1"},

	{"name: a\nname: b", "x.yaml:2:1: name: repeated key; first given at x.yaml:1:1"},
	{"name: &a b", "x.yaml:1:7: name: anchors (&a) are not supported; write the value out where it is needed"},
	{"train: *a", "aliases (*a) are not supported; write the value out"},
	{"train: {<<: {epochs: 1}}", "merge keys (<<) are not supported; write the keys out"},
	{"name: !!str 5", "x.yaml:1:7: name: tags (!!str) are not supported; leave it out"},
	{"raw: [&a b]", "raw.0: anchors (&a) are not supported; write the value out where it is needed"},
	{"name: a\n---\nname: b", "x.yaml:3:1: a second document; a config has one"},
	{"train: [1", `x.yaml:1:8: this bracket is not closed; want a ]; line 1 is "train: [1"`},
	{"name: \"x", "x.yaml:1:7: this quote is not closed; want a second \"; line 1 is `name: \"x`"},
	{"name: a\x00b", "x.yaml:1:8: byte 0x00 is not text; want UTF-8"},
	{"name: a\nquiet: \xff", "x.yaml:2:8: byte 0xff is not text; want UTF-8"},
	{"\xff\xfen\x00", "UTF-16 text; want UTF-8"},
	{"raw: " + strings.Repeat("[", 65) + strings.Repeat("]", 65), "nested more than 64 deep"},
	{"raw: " + strings.Repeat("[", 1<<18-8),
		`x.yaml:1:71: nested more than 64 deep; line 1 is "raw: ` + strings.Repeat("[", 92) + `..."`},
	{strings.Repeat("{a: ", 1<<16-1),
		`x.yaml:1:261: nested more than 64 deep; line 1 is "` + strings.Repeat("{a: ", 24) + `{..."`},
	{"raw:\n" + strings.Repeat("- ", 1<<17-8) + "x",
		`x.yaml:2:131: nested more than 64 deep; line 2 is "` + strings.Repeat("- ", 48) + `-..."`},
	{"name: " + strings.Repeat("a", 1<<18), "262150 bytes are too many for a config; at most 262144 are read"},
	{"? [a]\n: 1", `x.yaml:2:1: the parser of YAML cannot read on here: found an invalid key for this map; line 2 is ": 1"`},
	{"3.5: 1", `unknown key "3.5"; known: ` + topKeys},
	{"? a\n: 1", "a key must be a plain or quoted text"},
	{"train: {rate: 0xffffffffffffffffff}", "which is too large"},
	{"limits: {a: &b 1}", "limits.a: anchors (&b) are not supported; write the value out where it is needed"},
}

// Every error has its place, its key and a remedy.
func TestErrors(t *testing.T) {
	for _, test := range mistakes {
		got := defaults()
		err := Load("x.yaml", []byte(test.src), &got)
		if err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%.80q:\n got %v\nwant %v", test.src, err, test.want)
			continue
		}
		var located *Error
		if !errors.As(err, &located) || located.File != "x.yaml" || located.Line < 1 || located.Column < 1 {
			t.Errorf("%.80q: no place in %#v", test.src, err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%.80q: more than one error: %v", test.src, err)
		}
	}
}

// AsError returns an error unchanged if it is or wraps errors with positions.
func TestAsError(t *testing.T) {
	got := defaults()
	one := Load("x.yaml", []byte("nme: x"), &got)
	several := Load("x.yaml", []byte("nme: x\nnme2: x"), &got)
	for _, err := range []error{nil, one, several, fmt.Errorf("reading: %w", one), fmt.Errorf("reading: %w", several)} {
		if AsError(err) != nil && AsError(err).Error() != err.Error() || (err == nil) != (AsError(err) == nil) {
			t.Errorf("%v becomes %v", err, AsError(err))
		}
	}
	var located *Error
	if err := AsError(Invalid("rate", "is negative")); !errors.As(err, &located) || located.Key != "rate" {
		t.Errorf("%#v; want the key rate", err)
	}
}

func TestSeveralErrors(t *testing.T) {
	src := "nme: x\nname: 5\nname: 6\ntrain: {epochs: 0, batch: 0, rate: 1}\ndataset: {square: {size: x, sid: 3}}\nlosses: [kk, {lsbd: {weight: a}}]\n"
	got := defaults()
	err := Load("x.yaml", []byte(src), &got)
	want := []string{
		`x.yaml:1:1: nme: unknown key "nme"; did you mean "name"?`,
		`x.yaml:2:7: name: want a text, got 5; put it in quotes: "5"`,
		"x.yaml:3:1: name: repeated key; first given at x.yaml:2:1",
		"x.yaml:4:9: train.epochs: must be positive, got 0",
		"x.yaml:4:20: train.batch: must be positive, got 0",
		`x.yaml:5:26: dataset.square.size: want an integer, got the text "x"`,
		`x.yaml:5:29: dataset.square.sid: unknown key "sid"; did you mean "side"?`,
		`x.yaml:6:10: losses.0: unknown loss "kk"; did you mean "kl"?`,
		`x.yaml:6:30: losses.1.lsbd.weight: want a number, got the text "a"`,
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
	var all Errors
	if !errors.As(err, &all) || len(all) != len(want) || all[2].Key != "name" || all[2].Line != 3 {
		t.Errorf("errors.As: %v", all)
	}

	got = defaults()
	err = Load("x.yaml", []byte(manyUnknown(14)), &got)
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 11 || lines[10] != "and 4 more" {
		t.Errorf("cap: %v", err)
	}
}

func manyUnknown(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("unknown-" + string(rune('a'+i)) + ": 1\n")
	}
	return b.String()
}

// definedChoice is a choice by type definition, not by embedding.
type definedChoice registry.Choice[dataset]

func (c *definedChoice) DecodeConfig(n *Node) error {
	return DecodeChoice(n, &datasets, (*registry.Choice[dataset])(c))
}

func TestDefinedChoice(t *testing.T) {
	v := struct{ Data definedChoice }{definedChoice{"square", &square{2, 3}}}
	err := Load("x.yaml", []byte("{}"), &v)
	must.Error(t, err, "data.square.side: must be at most")
	if err := Load("x.yaml", []byte("data: arrow"), &v); err != nil || v.Data.Name != "arrow" {
		t.Errorf("%v, %+v", err, v)
	}
	if text, err := Encode(v); err != nil || string(text) != "data:\n  arrow:\n    hues: 64\n" {
		t.Errorf("%s, %v", text, err)
	}
}

// Decoding also validates defaults that the config does not mention.
func TestValidateDefaults(t *testing.T) {
	bad := defaults()
	bad.Train.Epochs = 0
	bad.Dataset.Value = &square{2, 3}
	bad.Layers = []layer{{}}
	err := Load("x.yaml", []byte("name: x"), &bad)
	want := "x.yaml:1:1: dataset.square.side: must be at most size (2), got 3 (the default; the config does not set it)\n" +
		"x.yaml:1:1: train.epochs: must be positive, got 0 (the default; the config does not set it)"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// A config of the largest size is read whole, and a larger one is an error.
func TestReadAll(t *testing.T) {
	const most = 1 << 18
	for n, want := range map[int]bool{most: true, most + 1: false, 2 * most: false} {
		got, err := ReadAll(strings.NewReader(strings.Repeat("#", n)), "x.yaml")
		if (err == nil) != want || want && len(got) != n ||
			!want && err.Error() != "x.yaml: it is too large for a config; at most 262144 bytes are read" {
			t.Errorf("%d bytes: %d are read, %v", n, len(got), err)
		}
	}
}

// Leaves are scalars, lists of scalars and empty nodes. Values are numbers, truth values and texts.
func TestLeaves(t *testing.T) {
	n, err := Parse("x.yaml",
		[]byte("{a: {b: 1}, c: [1, 2], d: [{e: true, f: 0x10}, 3], g: {}, h: [], i: [[2]], j: -1.5e3, k: '7', l: 99999999999999999999, m: word, n: False}"))
	must.OK(t, err)
	var got []string
	for _, l := range n.Leaves() {
		got = append(got, fmt.Sprintf("%s=%v(%T)", l.Path(), l.Value(), l.Value()))
	}
	want := "a.b=1(float64) c=[1, 2](string) d.0.e=true(bool) d.0.f=16(float64) d.1=3(float64) g={}(string) h=[](string) i.0=[2](string) " +
		"j=-1500(float64) k=7(string) l=1e+20(float64) m=word(string) n=false(bool)"
	must.Equal(t, strings.Join(got, " "), want)
	for path, want := range map[string]string{"a.b": "{a: {}, c: [1, 2]}", "a": "{c: [1, 2]}", "c": "{a: {b: 1}}", "x": "{a: {b: 1}, c: [1, 2]}"} {
		n := must.Get(Parse("x.yaml", []byte("{a: {b: 1}, c: [1, 2]}")))(t)
		if got := n.Without(strings.Split(path, ".")...).Inline(); got != want || n.Inline() != "{a: {b: 1}, c: [1, 2]}" {
			t.Errorf("without %s: %s, want %s; before %s", path, got, want, n.Inline())
		}
	}
	list := must.Get(Parse("x.yaml", []byte("{a: 1, c: [1, 2]}")))(t)
	list.Get("a").Nest("x")
	list.Get("c").Nest("x")
	must.Equal(t, list.Inline(), "{a: 1, c: {x: [1, 2]}}", "nested")
}

// Mistakes come in the order of their files and places. Mistakes without a line, in arguments, come last.
func TestErrorOrder(t *testing.T) {
	at := func(file string, line, column int) *Error {
		return &Error{File: file, Line: line, Column: column, Err: errors.New("x")}
	}
	var got []string
	for _, e := range (Errors{at("argument", 0, 4), at("b", 1, 9), at("a", 2, 3), at("argument", 0, 2), at("a", 2, 1),
		at("a", 1, 5)}).asError().(Errors) {
		got = append(got, fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column))
	}
	must.Equal(t, strings.Join(got, " "), "a:1:5 a:2:1 a:2:3 b:1:9 argument:0:2 argument:0:4", "order")
}
