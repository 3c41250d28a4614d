//go:build !gpu

package vulkan

// Devices returns [ErrBuild].
func Devices() ([]Adapter, error) { return nil, ErrBuild }

// Open returns [ErrBuild].
func Open(int) (*Device, error) { return nil, ErrBuild }
