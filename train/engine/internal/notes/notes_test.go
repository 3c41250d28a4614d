package notes

import (
	"slices"
	"testing"
)

func TestCommon(t *testing.T) {
	for _, c := range []struct {
		lists [][]string
		want  []string
	}{
		{nil, nil},
		{[][]string{{"a", "b"}}, []string{"a", "b"}},
		{[][]string{{"a", "b"}, {"b", "c"}}, []string{"b"}},
		{[][]string{{"a", "b"}, nil}, nil},
	} {
		if got := Common(c.lists); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.lists, got, c.want)
		}
	}
	one := func() []string { return []string{"a"} }
	if got := List([]func() []string{one, func() []string { return nil }, one}); !slices.Equal(got, []string{"a", "a"}) {
		t.Errorf("List: %q", got)
	}
}
