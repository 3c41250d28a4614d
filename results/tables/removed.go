package tables

// removed lists the keys of earlier versions, with what takes their place.
var removed = map[string]string{
	"quick":        byScale,
	"full":         byScale,
	"fixed":        "set has its place, below by_scale: set: {key.path: value}",
	"merged_share": "min_merged has its place; below 1 it is a fraction of the codes",
	"compare":      "a table of times compares ratios by itself; delete the key",
	"aggregate":    "a table of times takes medians by itself; delete the key",
	"subset":       "it is a key of the source: from: {entangled: {subset: N}}",
	"shipped":      "the ledger has the results of runs (docs/ledger.md); delete the key",
}

const byScale = "settings of a scale stand under by_scale: {quick: {key.path: value}}, and full: true is scales: [full]"

// Hint names what takes the place of a key of an earlier version.
func (*Table) Hint(key string) string { return removed[key] }

// Hint is the table's Hint.
func (*DataSet) Hint(key string) string { return removed[key] }

// Hint is the table's Hint.
func (*Row) Hint(key string) string { return removed[key] }

// Hint is the table's Hint.
func (*Column) Hint(key string) string { return removed[key] }

// Hint is the table's Hint.
func (*Runs) Hint(key string) string { return removed[key] }

// Hint is the table's Hint.
func (*Mimosa) Hint(key string) string { return removed[key] }
