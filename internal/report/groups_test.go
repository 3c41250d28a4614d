package report

import (
	"fmt"
	"io"
	"testing"
)

func TestGroups(t *testing.T) {
	v := View{Name: "all", X: Column{Name: "axis 1"}, Y: Column{Name: "axis 2"}}
	var names []string
	for i := range 60 {
		v.X.Values, v.Y.Values, v.Groups = append(v.X.Values, float64(i%7)), append(v.Y.Values, float64(i*i%11)), append(v.Groups, i%20-1)
		if i < 20 {
			names = append(names, fmt.Sprint("group ", i))
		}
	}
	show(t, "groups", func(w io.Writer) error {
		return groups(w, "components", []GroupRow{{Names: names, Views: []View{v, v, v}}, {Names: names[:2], Views: []View{v}}})
	})
	show(t, "groups alone", func(w io.Writer) error {
		return groups(w, "", []GroupRow{{Views: []View{{Name: "empty"}}}})
	})
	if got := legend(names); len(got) != maxLegend || got[maxLegend-1] != "and 7 more" {
		t.Errorf("legend %v", got)
	}
	for g := range 30 { // no group has the colour of codes without a group
		if groupColour(g) == groupColour(-1) || g > 0 && groupColour(g) == groupColour(g-1) {
			t.Errorf("the colour of group %d", g)
		}
	}
}
