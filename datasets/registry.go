package datasets

import (
	"github.com/unravel-ml/unravel/configs/registry"
)

// Registered lists the data sets that programs have added with [Register]. The registry of all sets, including built-in
// ones, is in package catalog.
var Registered = &registry.Registry[Builder]{Kind: "dataset"}

// Register adds a data set, so configs can name it. Call it before reading a config. It returns an error if the name is
// already registered. If a built-in set has the same name, a config that uses the name is an error.
func Register(e registry.Entry[Builder]) error { return Registered.Register(e) }
