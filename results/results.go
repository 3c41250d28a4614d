// Package results embeds the ledger that comes with Unravel: one folder for each folder of table runs, with
// gzip-compressed JSON lines files (package ledger reads them).
package results

import (
	"embed"
	"io/fs"
)

//go:embed */*.jsonl*
var files embed.FS

// Files returns the ledger.
func Files() fs.FS { return files }
