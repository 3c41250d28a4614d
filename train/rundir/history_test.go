package rundir

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Segments of one config and version become one segment. A segment without steps counts only if it says what differs.
func TestHistoryAdd(t *testing.T) {
	segment := func(from, to int, version, other string) Segment {
		return Segment{From: from, To: to, Config: "c", Version: version, Other: other}
	}
	for i, c := range []struct{ add, want History }{
		{History{segment(0, 5, "v1", "")}, History{segment(0, 5, "v1", "")}},
		{History{segment(0, 5, "v1", ""), segment(5, 9, "v1", "")}, History{segment(0, 9, "v1", "")}},
		{History{segment(0, 5, "v1", ""), segment(5, 9, "v2", "")}, History{segment(0, 5, "v1", ""), segment(5, 9, "v2", "")}},
		{History{segment(0, 0, "v1", ""), segment(0, 9, "v2", "")}, History{segment(0, 9, "v2", "")}},
		{History{segment(0, 0, "v1", "had x"), segment(0, 9, "v2", "")}, History{segment(0, 0, "v1", "had x"), segment(0, 9, "v2", "")}},
		{History{segment(0, 5, "v1", ""), segment(5, 5, "v2", "")}, History{segment(0, 5, "v1", "")}},
		{History{segment(0, 5, "v1", ""), segment(5, 5, "v2", "had x")}, History{segment(0, 5, "v1", ""), segment(5, 5, "v2", "had x")}},
		{History{segment(0, 5, "v1", ""), segment(5, 7, "v1", "had x")}, History{segment(0, 5, "v1", ""), segment(5, 7, "v1", "had x")}},
	} {
		var h History
		for _, s := range c.add {
			before := slices.Clone(h)
			next := h.Add(s)
			if !slices.Equal(h, before) {
				t.Errorf("%d: Add changes its history", i)
			}
			h = next
		}
		must.EqualSlices(t, h, c.want, i)
	}
}

func TestHistory(t *testing.T) {
	whole := History{{To: 5, Version: "v1", Generation: 3}, {From: 5, To: 9, Version: "v1", Generation: 2},
		{From: 9, To: 9, Generation: 4}, {From: 9, To: 12, Version: "v2", Generation: 5}}
	must.Equal(t, fmt.Sprint(whole.Versions(), " ", whole.Generation(), whole.Other(), whole.Identity("x"), whole.Check(12)), "v1, v2 2x<nil>")
	if whole[1:].Generation() != 2 || whole[2:].Generation() != 4 || append(whole[:2:2], Segment{}).Generation() != 0 ||
		History(nil).Generation() != 0 {
		t.Error("another generation than the earliest")
	}
	other := append(whole[:1:1], Segment{From: 5, To: 9, Config: "c", Other: "had x"}, Segment{From: 9, To: 12, Config: "c", Other: "had y"})
	must.Equal(t, other.Other(), "up to step 9 had x", "Other is")
	if a, b := other.Identity("x"), other.Identity("y"); len(a) != 32 || a == b || a != slices.Clone(other).Identity("x") {
		t.Errorf("identities %s and %s", a, b)
	}
	for _, c := range []struct {
		h     History
		steps int
		want  string
	}{
		{nil, 7, ""},
		{whole, 11, "history: its segments end at step 12; want 11, the run's step"},
		{whole[1:], 12, "history: segment 1 has the steps 5 to 9; want it to begin at 0"},
		{History{{To: 5}, {From: 4, To: 9}}, 9, "history: segment 2 has the steps 4 to 9; want it to begin at 5"},
		{History{{To: 5}, {From: 5, To: 4}}, 4, "history: segment 2 has the steps 5 to 4; want it to begin at 5"},
	} {
		if err := c.h.Check(c.steps); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.h, err, c.want)
		}
	}
}
