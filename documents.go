// Package unravel holds the documents of the project: README.md and the pages of docs. Its code lies in the packages below;
// these are where to begin:
//
//   - train: from a config to a trained, measured model and its report
//   - losses, metrics, models, datasets: the parts that a config names
//   - losses/logic: sentences of logic as losses and metrics
//   - graph, graph/machine, graph/nn: operations, the machine that runs graphs, and networks
//   - cli: the command line as a library, for programs with parts of their own
package unravel

import (
	"embed"
	"io/fs"
)

//go:embed *.md docs
var documents embed.FS

// Documents returns README.md and the other pages of the first folder, and the pages of docs with their pictures and their
// order (docs/pages.yaml). `unravel docs` makes the reference (docs/reference) anew, for the parts of the program at hand.
func Documents() fs.FS { return documents }
