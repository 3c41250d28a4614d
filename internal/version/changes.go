package version

// Change is a change of the code that changes the bits of some runs.
type Change struct {
	Generation int    // generation from this change on; the first generation has no change
	Date       string // date of the change in UTC, as in RFC 3339
	What       string // why earlier runs differ, as the end of "trained by an earlier version: "
	Parts      []string
	All        bool // it affects configs with all of the parts; false: with any of them
}

// Changes lists the changes of results since the start of the ledger, oldest first. Add a line for every change of a
// kernel, model, loss, data set or metric that alters the bits of a run. Parts lists the affected parts by their names
// in configs (conv64, byol, med, sprites); nil: all parts.
var Changes = []Change{
	{Generation: 2, Date: "2026-11-23T07:00:00Z", What: "its convolutions and matrix products added in another order"},
	{
		Generation: 3, Date: "2026-11-23T17:45:00Z",
		What:  "its contraction of projected codes measured factors by their kinds, not as numbers",
		Parts: []string{"contraction-max", "contraction-mean"},
	},
	{
		Generation: 4, Date: "2026-11-26T08:00:00Z", What: "its lsbd left out the spaces on which only the identity acts",
		Parts: []string{"lsbd", "euclidean"}, All: true,
	},
}

// Generation returns the generation of this code: the number of the last entry in [Changes].
func Generation() int { return Changes[len(Changes)-1].Generation }
