package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/must"
)

const base = `
dataset: arrow
losses: [kl, {lsbd: {weight: 2}}]
train:
  epochs: 5
`

func TestOverride(t *testing.T) {
	for _, test := range []struct {
		args   []string
		change func(*experiment)
	}{
		{nil, func(*experiment) {}},
		{[]string{"train.epochs=3"}, func(e *experiment) { e.Train.Epochs = 3 }},
		{[]string{"train.epochs=3", "train.epochs = 4"}, func(e *experiment) { e.Train.Epochs = 4 }},
		{[]string{"train.rate=1e-10", "train.batch=7"}, func(e *experiment) { e.Train.Rate, e.Train.Batch = 1e-10, 7 }},
		{[]string{"train={rate: 2, epochs: 5}"}, func(e *experiment) { e.Train.Rate = 2 }},
		{[]string{`name=a=b`}, func(e *experiment) { e.Name = "a=b" }},
		{[]string{`name="5"`}, func(e *experiment) { e.Name = "5" }},
		{[]string{`name=""`}, func(e *experiment) { e.Name = "" }},
		{[]string{"losses.1.lsbd.weight=10"}, func(e *experiment) { e.Losses[1].Value = &weighted{10} }},
		{[]string{"losses.0.kl={}"}, func(e *experiment) {}},
		{[]string{"losses.0=lsbd"}, func(e *experiment) {
			e.Losses[0].Choice = registry.Choice[loss]{Name: "lsbd", Value: &weighted{1}}
		}},
		{[]string{"losses.+=kl", "losses.+.lsbd.weight=7"}, func(e *experiment) {
			e.Losses = append(e.Losses, lossChoice{registry.Choice[loss]{Name: "kl", Value: &plain{}}},
				lossChoice{registry.Choice[loss]{Name: "lsbd", Value: &weighted{7}}})
		}},
		{[]string{"losses=[]"}, func(e *experiment) { e.Losses = nil }},
		{[]string{"dataset.arrow.hues=3"}, func(e *experiment) { e.Dataset.Value = &arrow{3} }},
		{[]string{"dataset=square", "dataset.square.size=32"}, func(e *experiment) {
			e.Dataset.Choice = registry.Choice[dataset]{Name: "square", Value: &square{32, 16}}
		}},
		{[]string{"dataset={square: {size: 32}}"}, func(e *experiment) {
			e.Dataset.Choice = registry.Choice[dataset]{Name: "square", Value: &square{32, 16}}
		}},
		{[]string{`limits."a.b=c"=3`, "limits.d=4"}, func(e *experiment) { e.Limits = map[string]int8{"a.b=c": 3, "d": 4} }},
		{[]string{"free.a.b.0.c=1"}, func(e *experiment) {
			e.Free = map[string]any{"a": map[string]any{"b": map[string]any{"0": map[string]any{"c": 1}}}}
		}},
		{[]string{"note="}, func(e *experiment) {}},
	} {
		got, want := defaults(), defaults()
		must.OK(t, Load("x.yaml", []byte(base), &want))
		test.change(&want)
		if err := Load("x.yaml", []byte(base), &got, test.args...); err != nil {
			t.Errorf("%q: %v", test.args, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n got %+v\nwant %+v", test.args, got, want)
		}
	}
	// without a file, the choice in the argument counts
	got := defaults()
	if err := Load("", nil, &got, "dataset.arrow.hues=3"); err != nil || !reflect.DeepEqual(got.Dataset.Value, &arrow{3}) {
		t.Errorf("no file: %v, %+v", err, got.Dataset)
	}
}

func TestOverrideErrors(t *testing.T) {
	for _, test := range []struct{ arg, want string }{
		{"train.epochs=x", `argument "train.epochs=x": train.epochs: want an integer, got the text "x"`},
		{"train.epochs=0", `argument "train.epochs=0": train.epochs: must be positive, got 0`},
		{"train.epoch=3", `argument "train.epoch=3": train.epoch: unknown key "epoch"; did you mean "epochs"?`},
		{"train.epochs.x=3", `argument "train.epochs.x=3": train.epochs.x: train.epochs at x.yaml:5:11 is 5, which has no keys`},
		{"train.epochs", `argument "train.epochs": want key.path=value`},
		{"=3", "want key.path=value"},
		{"", `argument "": want key.path=value`},
		{"a..b=3", `argument "a..b=3": a..b: "" is no key; want key.path=value`},
		{"name=", "name: want a text, got nothing (null)"},
		{"name=[", "a text with special characters needs quotes"},
		{"name=a\n---\nb", "a second document; a config has one; a text with special characters needs quotes"},
		{"name=&a b", "anchors (&a) are not supported; write the value out where it is needed"},
		{"name.x=3", `argument "name.x=3": name: want a text, got a mapping; put a text with a colon in quotes`},
		{"losses.2.lsbd.weight=3", `argument "losses.2.lsbd.weight=3": losses.2: losses is a list; want an index from 0 to 1, or + to add to it, got "2"`},
		{"losses.-1=kl", `got "-1"`},
		{"losses.lsbd.weight=3", `losses is a list; want an index from 0 to 1, or + to add to it, got "lsbd", which is losses.1.lsbd`},
		{"losses.1.kl.x=3", `argument "losses.1.kl.x=3": losses.1: a loss with two names: lsbd is chosen at x.yaml:3:15, and here kl; keep one, or replace the whole: losses.1={kl: {...}}`},
		{"dataset.square.size=32", `argument "dataset.square.size=32": dataset: a dataset with two names: arrow is chosen at x.yaml:2:10, and here square; keep one, or replace the whole: dataset={square: {...}}`},
		{"dataset=sqare", `argument "dataset=sqare": dataset: unknown dataset "sqare"; did you mean "square"?`},
		{"dataset.arrow.size=3", `argument "dataset.arrow.size=3": dataset.arrow.size: unknown key "size"; known: hues`},
		{"range={a: 1}", `argument "range={a: 1}": range: want a list of 2, got a mapping`},
		{strings.Repeat("a.", 100) + "b=1", "a path of more than 64 keys"},
	} {
		got := defaults()
		got.Name = "run"
		err := Load("x.yaml", []byte(strings.Replace(base, "\n", "\n", 1)), &got, test.arg)
		if test.arg == "name.x=3" {
			err = Load("x.yaml", []byte("name: text"), &got, test.arg)
		}
		if err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%.60q:\n got %v\nwant %v", test.arg, err, test.want)
			continue
		}
		var located *Error
		if !errors.As(err, &located) || !strings.HasPrefix(located.File, "argument ") || located.Line != 0 {
			t.Errorf("%q: placed at %+v", test.arg, located)
		}
	}

	got := defaults()
	err := Load("x.yaml", []byte(base), &got, "a", "b", "train.epochs=3")
	var all Errors
	if !errors.As(err, &all) || len(all) != 2 {
		t.Errorf("several: %v", err)
	}
	empty := &Node{kind: nullNode}
	must.Error(t, empty.Override("losses=[]", "losses.0=kl"), "add to it with losses.+=value")
}

func TestPaths(t *testing.T) {
	for _, test := range []struct {
		path string
		want []string
	}{
		{"a", []string{"a"}}, {"a.b", []string{"a", "b"}}, {"", []string{""}}, {"a.", []string{"a", ""}},
		{`a."b.c".d`, []string{"a", "b.c", "d"}}, {`"b.c"`, []string{"b.c"}}, {`"b`, []string{`"b`}}, {`"b"c.d`, []string{`"b"c`, "d"}},
		{`a.""`, []string{"a", ""}},
	} {
		if got := splitPath(test.path); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.path, got, test.want)
		}
	}
}
