package version

// Change is a change of the code after which some runs have other bits.
type Change struct {
	Generation int    // of the code from then on; the first one has none
	Date       string // when it came, in UTC, as in RFC 3339
	What       string // why runs before it differ, as the end of "trained by an earlier version: "
	Parts      []string
	All        bool // it touches configs with all of the parts; false: with one of them
}

// Changes lists the changes of bits since there is a ledger, the oldest first. A change of a kernel, model, loss, data set or metric that gives a
// run other bits adds a line, with the names in configs of the parts that it touches, as configs have them (conv64, byol, med, sprites); none: all.
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

// Generation returns the number of the code's bits: that of the last of [Changes].
func Generation() int { return Changes[len(Changes)-1].Generation }
