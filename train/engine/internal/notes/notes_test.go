package notes

import (
	"slices"
	"testing"
)

func TestCommon(t *testing.T) {
	const empty, other = "the loss logic: no batch", "the loss logic-2: no batch"
	says := func(sentences ...string) Program { return Program{[]string{"loss", "logic", "logic-2"}, sentences} }
	for _, c := range []struct {
		programs []Program
		want     []string
	}{
		{nil, nil},
		{[]Program{says(empty, other)}, []string{empty, other}},
		{[]Program{says(empty, other), says(other)}, []string{other, other}},
		{[]Program{says(empty), says()}, nil},
		{[]Program{says(empty), {[]string{"loss", "logic-2"}, nil}}, []string{empty}},
		{[]Program{{[]string{"loss", "logic-2"}, nil}, says(empty), says(other)}, nil},
	} {
		if got := Common(c.programs); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.programs, got, c.want)
		}
	}
	one := func() []string { return []string{"a"} }
	if got := List([]func() []string{one, func() []string { return nil }, one}); !slices.Equal(got, []string{"a", "a"}) {
		t.Errorf("List: %q", got)
	}
}
