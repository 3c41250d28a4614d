package cli

import (
	"fmt"
	"runtime"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/version"
)

type versionCommand struct {
	Devices bool `help:"List the GPUs for train.device and --device."`
	JSON    bool `name:"json" help:"Print one JSON object on standard output."`
	CPU     bool `name:"cpu" help:"Also print the processor, its caches, and the block sizes of matrix products."`
}

// Run prints the versions of the code, of Go and of the kernels. With the flag for devices, it prints the GPUs.
func (c *versionCommand) Run(s *ui.Streams) error {
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
		object := map[string]string{"version": version.Code(), "release": version.Name(), "go": runtime.Version(),
			"os": runtime.GOOS, "arch": runtime.GOARCH, "kernels": set, "mixed": mixed}
		if c.CPU {
			object["processor"], object["caches"], object["products"] = processor()
		}
		return ui.WriteJSON(s.Out, object)
	}
	name := version.Name()
	if name != version.Code() {
		name += ", revision " + version.Code()
	}
	fmt.Fprintf(s.Out, "unravel %s\n%s on %s/%s, %s kernels\nmixed precision: %s\n",
		name, runtime.Version(), runtime.GOOS, runtime.GOARCH, set, mixed)
	if c.CPU {
		name, caches, products := processor()
		fmt.Fprintf(s.Out, "processor: %s\ncaches of a core: %s\nmatrix products: %s\n", name, caches, products)
	}
	return nil
}

// processor describes the processor, its caches, and the block sizes of matrix products.
func processor() (name, caches, products string) {
	p, c := kernel.Processor()
	name, caches = "unknown", "unknown"
	if p.Vendor != "" {
		name = fmt.Sprintf("%s, family %d, model %d", p.Vendor, p.Family, p.Model)
	}
	if p.L2 > 0 {
		caches = fmt.Sprintf("%d, %d and %d KB", p.L1>>10, p.L2>>10, p.L3>>10)
	}
	return name, caches, fmt.Sprintf("sums of %d rows and %d columns in registers, %d terms at a time; right operands packed from %d rows on; %d KB of the left operand in the second-level cache", c.Rows, c.Columns, c.Depth, c.Packed, c.Left>>10)
}

func (c *versionCommand) devices(s *ui.Streams) error {
	list, err := vulkan.Devices()
	if err != nil {
		return err
	}
	if c.JSON {
		return ui.WriteJSON(s.Out, list)
	}
	for _, a := range list {
		fmt.Fprintln(s.Out, a)
	}
	return nil
}
