//go:build !gpu

package vulkan

// Devices lists the GPUs that Vulkan finds.
func Devices() ([]Adapter, error) { return nil, ErrBuild }

// Open opens the GPU of an index of [Devices].
func Open(int) (*Device, error) { return nil, ErrBuild }
