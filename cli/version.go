package cli

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/version"
)

// versionCommand is `unravel version`.
type versionCommand struct {
	JSON bool `name:"json" help:"Print one JSON object on standard output."`
}

// Run prints the version of the code, of Go, and of the kernels.
func (c *versionCommand) Run(s *streams) error {
	set, err := kernel.InstructionSet()
	if err != nil {
		return err
	}
	mixed := "yes"
	if kernel.Mixed() != nil {
		mixed = "no"
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(map[string]string{"version": version.Code(), "release": version.Name(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH, "kernels": set, "mixed": mixed})
	}
	name := version.Name()
	if name != version.Code() {
		name += ", revision " + version.Code()
	}
	_, err = fmt.Fprintf(s.out, "unravel %s\n%s on %s/%s, %s kernels\nmixed precision: %s\n", name, runtime.Version(), runtime.GOOS, runtime.GOARCH, set, mixed)
	return err
}
