// Package vulkan runs compute kernels on a GPU through Vulkan 1.1, without cgo.
//
// A [Device] allocates memory as [Buffer] values. A [Tape] records dispatches of kernels with the access of each
// argument. It derives the barriers between them from these accesses. A tape can run any number of times:
//
//	d, err := vulkan.Open(0)
//	x, err := d.Alloc(4 * n)
//	t := d.NewTape()
//	t.Dispatch(kernel, groups, 1, 1, []uint32{n}, vulkan.Read(x), vulkan.Write(y))
//	err = t.Compile()
//	err = t.Run()
//
// The driver needs the build tag gpu. Without it, [Devices] and [Open] return an error. Recording, barriers and
// memory allocation do not depend on the tag.
package vulkan

import (
	"errors"
	"fmt"
)

// Errors for a machine without a usable GPU. Each text says what to install.
var (
	// errBuild is the error of [Devices] and [Open] in a build without the tag gpu. Build with -tags gpu, or use the CPU.
	errBuild = errors.New("this build has no GPU support; want one made by: go build -tags gpu ./cmd/unravel")
	// ErrNoLoader is the error of [Devices] and [Open] without the loader of Vulkan. Install libvulkan1.
	ErrNoLoader = errors.New("there is no Vulkan loader (libvulkan.so.1); want one: apt-get install libvulkan1")
	// ErrNoDriver is the error of [Devices] and [Open] without a driver. Install the GPU's driver, or a software driver.
	ErrNoDriver = errors.New("no GPU found; want its Vulkan driver, or a software driver: apt-get install mesa-vulkan-drivers")
)

// ErrLost is the error of [Tape.Run] and [Device.Upload] after the device has stopped working. Its content is lost, and
// every later call fails. Open the device again, and resume from a checkpoint.
var ErrLost = errors.New("the GPU was lost: its driver reset it, or it is gone; resume the run from its checkpoint")

// MemoryError is the error of [Device.Alloc] for more bytes than the device has. Free buffers, or use a smaller batch.
type MemoryError struct {
	Needed, Used, Available int64
	Limit                   int64 // maximum size of a buffer for a kernel; 0 if this is not the reason
	Err                     error // error of the driver; nil if it was not called
}

func (e *MemoryError) Error() string {
	if e.Limit > 0 {
		return fmt.Sprintf("a buffer of %s is over the GPU's limit of %s; want a smaller batch", size(e.Needed),
			size(e.Limit))
	}
	return fmt.Sprintf("out of GPU memory: %s more are needed, %s are in use, of %s; want a smaller batch",
		size(e.Needed), size(e.Used), size(e.Available))
}

func (e *MemoryError) Unwrap() error { return e.Err }

func size(bytes int64) string {
	if bytes >= 1<<20 {
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// Adapter describes a GPU.
type Adapter struct {
	Index  int    `json:"index"`
	Name   string `json:"name"`
	Kind   string `json:"kind"`   // integrated, discrete, virtual, CPU or other
	API    string `json:"vulkan"` // the Vulkan version, such as 1.3.230
	Memory int64  `json:"memory"` // size of the largest device-local heap in bytes
	Limits Limits `json:"limits"`
}

// String returns a line such as "gpu:0 llvmpipe (CPU, 2048.0 MiB, Vulkan 1.3.230)".
func (a Adapter) String() string {
	return fmt.Sprintf("gpu:%d %s (%s, %s, Vulkan %s)", a.Index, a.Name, a.Kind, size(a.Memory), a.API)
}

// Limits are the maximum sizes that an adapter supports.
type Limits struct {
	Buffer    int64 // size of a buffer in bytes
	Constants int   // size of the push constants of a dispatch in bytes
	Buffers   int   // number of buffers of a kernel
	Groups    [3]int
	Alignment int64 // alignment of a buffer, a power of 2
}

// Kernel is a compute shader in SPIR-V with the entry point main. Its buffers are bindings 0, 1, ... of set 0, and its
// constants are push constants. Kernels with equal names must have equal code.
type Kernel struct {
	Name string
	Code []byte
}

// Argument is a buffer of a dispatch, with the kernel's access to it.
type Argument struct {
	Buffer      Buffer
	read, write bool
}

// Read is an argument that the kernel only reads.
func Read(b Buffer) Argument { return Argument{Buffer: b, read: true} }

// Write is an argument that the kernel only writes.
func Write(b Buffer) Argument { return Argument{Buffer: b, write: true} }

// Update is an argument that the kernel reads and writes.
func Update(b Buffer) Argument { return Argument{Buffer: b, read: true, write: true} }

// driver is the part of a device that calls Vulkan.
type driver interface {
	// allocate returns a block of memory, mapped if host is true.
	allocate(bytes int64, host bool) (*block, error)
	free(*block)
	// compile prepares the commands of a tape.
	compile(commands []command) (program, error)
	close() error
}

type program interface {
	run() error
	close()
}
