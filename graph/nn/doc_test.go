package nn_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// The description of every activation option lists all activations.
func TestActivationsAreDocumented(t *testing.T) {
	options := 0
	var visit func(what string, v reflect.Type)
	seen := map[reflect.Type]bool{}
	visit = func(what string, v reflect.Type) {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct || seen[v] {
			return
		}
		seen[v] = true
		for i := range v.NumField() {
			f := v.Field(i)
			if f.Tag.Get("yaml") == "activation" || v == reflect.TypeOf(nn.ActivationLayer{}) && f.Name == "Kind" {
				options++
				doc := strings.FieldsFunc(f.Tag.Get("doc"), func(r rune) bool { return r == ' ' || r == ',' })
				for _, name := range kernel.ActivationNames() {
					if !strings.Contains(" "+strings.Join(doc, " ")+" ", " "+name+" ") {
						t.Errorf("%s: the option activation does not name %s: %q", what, name, f.Tag.Get("doc"))
					}
				}
			}
			visit(what, f.Type)
		}
	}
	for _, e := range nn.Encoders.Entries {
		visit(e.Name, reflect.TypeOf(e.New()))
	}
	for _, e := range nn.Decoders.Entries {
		visit(e.Name, reflect.TypeOf(e.New()))
	}
	for _, e := range nn.Parts.Entries {
		visit(e.Name, reflect.TypeOf(e.New()))
	}
	if options < 5 {
		t.Errorf("%d options were found", options)
	}
}
