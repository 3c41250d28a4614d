package version

// Change is a change of the code after which some runs have other bits.
type Change struct {
	Generation int    // the generation from this change on; the first generation has no change
	Date       string // when it came, in UTC, as in RFC 3339
	What       string // why runs before it differ, as the end of "trained by an earlier version: "
	Parts      []string
	All        bool // it touches configs with all of the parts; false: with one of them
}

// Changes lists the changes of results since the ledger began, the oldest first. If a change of a kernel, model, loss,
// data set or metric alters the bits of a run, it adds a line here. Parts lists the parts that it affects by their
// names in configs (conv64, byol, med, sprites); nil: all parts.
var Changes = []Change{
	{Generation: 2, Date: "2026-11-23T07:00:00Z", What: "its convolutions and matrix products added in another order"},
	{
		Generation: 3, Date: "2026-11-23T17:45:00Z", What: "its contraction of projected codes measured factors by their kinds, not as numbers",
		Parts: []string{"contraction-max", "contraction-mean"},
	},
	{
		Generation: 4, Date: "2026-11-26T08:00:00Z", What: "its lsbd left out the spaces on which only the identity acts",
		Parts: []string{"lsbd", "euclidean"}, All: true,
	},
}

// Generation returns the generation of this code: the number of the last of [Changes].
func Generation() int { return Changes[len(Changes)-1].Generation }
