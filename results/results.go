// Package results has the ledger that comes with Unravel: a folder for each folder of runs of tables, with JSON lines
// files compressed by gzip (package ledger reads them).
package results

import (
	"embed"
	"io/fs"
)

//go:embed */*.jsonl*
var files embed.FS

// Files returns the ledger.
func Files() fs.FS { return files }
