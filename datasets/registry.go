package datasets

import (
	"github.com/unravel-ml/unravel/configs/registry"
)

// Registered lists the data sets that programs have added with [Register]. Package catalog has the registry of all
// sets, including the built-in ones.
var Registered = &registry.Registry[Builder]{Kind: "dataset"}

// Register adds a data set that configs can name. Call it before reading a config. It returns an error if the name is
// already registered. If a built-in set has the same name, reading a config with this name fails.
func Register(e registry.Entry[Builder]) error { return Registered.Register(e) }
