package papers

import (
	"crypto/sha256"
	_ "embed" // for counted.json
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/results"
)

// countedFile has the counts of all tables from runs in the ledger, because counting takes seconds.
// `go test ./cli/internal/papers -run TestCountedTables -update` writes it.
//
//go:embed counted.json
var countedFile []byte

// countedList is the content of counted.json.
type countedList struct {
	Digest string                  `json:"digest"` // of the files that the counts depend on
	Tables map[string]countedTable `json:"tables"`
}

// countedTable has the counts of a table without folders of runs.
type countedTable struct {
	Folders []string      `json:"folders,omitempty"` // folders in runs/tables; runs there change the counts
	List    []ListedTable `json:"list"`
}

// hasRuns reports whether one of the table's folders of runs exists here.
func (c countedTable) hasRuns() bool {
	for _, name := range c.Folders {
		if _, err := os.Stat(filepath.Join(filepath.FromSlash(tableRuns), name)); !os.IsNotExist(err) {
			return true
		}
	}
	return false
}

// countedTables returns the stored counts by table. It returns nil if this program has other configs, tables or
// records than counted.json was made from.
func countedTables() map[string]countedTable {
	var stored countedList
	digest, err := digestOfTables()
	if err != nil || json.Unmarshal(countedFile, &stored) != nil || stored.Digest != digest {
		return nil
	}
	return stored.Tables
}

// digestOfTables identifies the experiments, the tables and the ledger of this program.
func digestOfTables() (string, error) {
	h := sha256.New()
	for _, name := range configs.Names() {
		text, err := configs.Read(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
	}
	for _, fsys := range []fs.FS{configs.Tables(), results.Files()} {
		err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(fsys, path)
			fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
