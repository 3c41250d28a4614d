package cli

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/version"
)

// versionCommand is `unravel version`.
type versionCommand struct {
	Devices bool `help:"List the GPUs for train.device and --device."`
	JSON    bool `name:"json" help:"Print one JSON object on standard output."`
}

// Run prints the version of the code, of Go, and of the kernels.
func (c *versionCommand) Run(s *streams) error {
	if c.Devices {
		return c.devices(s)
	}
	set, err := kernel.InstructionSet()
	if err != nil {
		return err
	}
	mixed := "yes"
	if kernel.Mixed() != nil {
		mixed = "no"
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(map[string]string{"version": version.Code(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH, "kernels": set, "mixed": mixed})
	}
	_, err = fmt.Fprintf(s.out, "unravel %s\n%s on %s/%s, %s kernels\nmixed precision: %s\n", version.Code(), runtime.Version(), runtime.GOOS, runtime.GOARCH, set, mixed)
	return err
}

// devices prints the GPUs.
func (c *versionCommand) devices(s *streams) error {
	list, err := vulkan.Devices()
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(list)
	}
	for _, a := range list {
		if _, err := fmt.Fprintln(s.out, a); err != nil {
			return err
		}
	}
	return nil
}
