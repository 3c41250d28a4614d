package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// FuzzDecode checks that Parse and Decode never panic, and that every error has a place. A decoded config must survive
// writing and reading.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{full, base, "", "a: [b, {c: d}]", "name: &x y\nnote: *x", "x: !!str 3", "? a\n: b", "a: |\n b\n", "<<: {a: 1}",
		"name: \"\\u00e9\\x00\\U0001F600\"", "- a\n- - b", "free: {a: 1e3, b: 0x1f, c: 'it''s'}", "raw:\n\t- a", "{a, b}", "name: >+\n\n a\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		got := defaults()
		checkLoad(t, Load("f.yaml", src, &got), &got)
	})
}

// FuzzOverride checks the same for an assignment.
func FuzzOverride(f *testing.F) {
	for _, s := range []string{"train.epochs=3", "losses.1.lsbd.weight=10", "losses.+=kl", "dataset.square.size=3",
		`limits."a.b"=3`, "a", "=", "free.x.y={z: 1}",
		"dataset={square: {size: 17}}", "losses.0.kl=", "name=\"\\x41\"", "range=[1, 2]", "note.x=3", "raw.a.0=1"} {
		f.Add(s, "free.a=1")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		got := defaults()
		checkLoad(t, Load("f.yaml", []byte(full), &got, first, second), &got)
	})
}

func checkLoad(t *testing.T, err error, got *experiment) {
	if err != nil {
		var located *Error
		if !errors.As(err, &located) || !strings.HasPrefix(err.Error(), "f.yaml:") && !strings.HasPrefix(err.Error(), "argument ") {
			t.Fatalf("no place in %v", err)
		}
		return
	}
	text := must.Get(Encode(got))(t)
	again := defaults()
	if err := Load("again.yaml", text, &again); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	raw, rawAgain := got.Raw, again.Raw
	got.Raw, again.Raw = nil, nil
	if !reflect.DeepEqual(got, &again) {
		t.Fatalf("got  %+v\nwant %+v in\n%s", again, got, text)
	}
	first, err1 := Encode(raw)
	second, err2 := Encode(rawAgain)
	if err1 != nil || err2 != nil || string(first) != string(second) {
		t.Fatalf("raw node: %v, %v\n%s\n%s", err1, err2, first, second)
	}
}
