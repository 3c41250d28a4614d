package datasets

import (
	"github.com/unravel-ml/unravel/configs/registry"
)

// Registered lists the data sets that programs have added with [Register]. The registry of all sets, built-in ones
// included, is in the package catalog.
var Registered = &registry.Registry[Builder]{Kind: "dataset"}

// Register adds a data set to the names for configs. Call it before a config is read. A name that is registered already
// is an error. So is a config's use of a name that a built-in set has too.
func Register(e registry.Entry[Builder]) error { return Registered.Register(e) }
