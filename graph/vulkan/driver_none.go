//go:build !gpu

package vulkan

// Devices returns an error.
func Devices() ([]Adapter, error) { return nil, errBuild }

// Open returns an error.
func Open(int) (*Device, error) { return nil, errBuild }
