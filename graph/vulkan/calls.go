//go:build gpu

package vulkan

import (
	"fmt"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// result is a VkResult other than VK_SUCCESS.
type result int32

const (
	outOfHostMemory    result = -1
	outOfDeviceMemory  result = -2
	deviceLost         result = -4
	incompatibleDriver result = -9
	timeout            result = 2
)

func (r result) Error() string {
	switch r {
	case outOfHostMemory:
		return "Vulkan: out of host memory"
	case outOfDeviceMemory:
		return "Vulkan: out of device memory"
	case timeout:
		return "Vulkan: the GPU did not finish in time"
	}
	return fmt.Sprintf("Vulkan: error %d", int32(r))
}

func (r result) Is(target error) bool { return target == ErrLost && r == deviceLost }

// call calls a function that returns a VkResult. Pointers in args are kept alive and escape.
//
//go:uintptrescapes
func call(function uintptr, args ...uintptr) error {
	r, _, _ := purego.SyscallN(function, args...)
	if c := result(int32(r)); c != 0 {
		return c
	}
	return nil
}

// void calls a function without a result.
//
//go:uintptrescapes
func void(function uintptr, args ...uintptr) { purego.SyscallN(function, args...) }

// lookUp sets the fields of a structure to the functions with their names, from vkGetInstanceProcAddr or
// vkGetDeviceProcAddr.
func lookUp(get, handle uintptr, functions any) error {
	list := reflect.ValueOf(functions).Elem()
	for i := range list.NumField() {
		f, err := lookup(get, handle, "vk"+list.Type().Field(i).Name)
		if err != nil {
			return err
		}
		list.Field(i).SetUint(uint64(f))
	}
	return nil
}

// lookup asks vkGetInstanceProcAddr or vkGetDeviceProcAddr for a function.
func lookup(get, handle uintptr, name string) (uintptr, error) {
	b := cstring(name)
	f, _, _ := purego.SyscallN(get, handle, uintptr(unsafe.Pointer(b)))
	runtime.KeepAlive(b)
	if f == 0 {
		return 0, fmt.Errorf("the Vulkan driver has no %s; want a driver of Vulkan 1.1 or newer", name)
	}
	return f, nil
}

func cstring(s string) *byte { return &append([]byte(s), 0)[0] }

// made checks a handle that a call has set: a null handle in a later call would end the process.
func made(err error, handle uintptr, what string) error {
	if err == nil && handle == 0 {
		return fmt.Errorf("the driver made a null %s", what)
	}
	return err
}

// The structures below have the names and layouts of vulkan_core.h.

type applicationInfo struct {
	sType         uint32
	_             uintptr
	name          *byte
	_             uint32
	engine        *byte
	_, apiVersion uint32
}

type instanceCreateInfo struct {
	sType      uint32
	_          uintptr
	flags      uint32
	app        *applicationInfo
	layers     uint32
	layerNames uintptr
	extensions uint32
	extNames   uintptr
}

type queueFamily struct{ flags, count, timestampBits, x, y, z uint32 }

type memoryProperties struct {
	types    uint32
	typeList [32]struct{ flags, heap uint32 }
	heaps    uint32
	heapList [16]struct {
		size  uint64
		flags uint32
	}
}

type deviceQueueCreateInfo struct {
	sType            uint32
	_                uintptr
	_, family, count uint32
	priority         *float32
}

type deviceCreateInfo struct {
	sType              uint32
	_                  uintptr
	flags, queues      uint32
	queueInfos         *deviceQueueCreateInfo
	layers             uint32
	layerNames         uintptr
	extensions         uint32
	extNames, features uintptr
}

type bufferCreateInfo struct {
	sType                    uint32
	_                        uintptr
	flags                    uint32
	size                     uint64
	usage, sharing, families uint32
	family                   uintptr
}

type memoryRequirements struct {
	size, alignment uint64
	types           uint32
}

type memoryAllocateInfo struct {
	sType      uint32
	_          uintptr
	size       uint64
	memoryType uint32
}

type layoutBinding struct {
	binding, kind, count, stages uint32
	_                            uintptr
}

type setLayoutCreateInfo struct {
	sType        uint32
	_            uintptr
	flags, count uint32
	bindings     *layoutBinding
}

type pushConstantRange struct{ stages, offset, size uint32 }

type pipelineLayoutCreateInfo struct {
	sType       uint32
	_           uintptr
	flags, sets uint32
	set         *uintptr
	ranges      uint32
	ranged      *pushConstantRange
}

type shaderModuleCreateInfo struct {
	sType uint32
	_     uintptr
	flags uint32
	size  uintptr
	code  *byte
}

type shaderStage struct {
	sType          uint32
	_              uintptr
	flags, stage   uint32
	module         uintptr
	name           *byte
	specialization uintptr
}

type computePipelineCreateInfo struct {
	sType        uint32
	_            uintptr
	flags        uint32
	stage        shaderStage
	layout, base uintptr
	baseIndex    int32
}

type commandPoolCreateInfo struct {
	sType         uint32
	_             uintptr
	flags, family uint32
}

type commandBufferAllocateInfo struct {
	sType        uint32
	_, pool      uintptr
	level, count uint32
}

type commandBufferBeginInfo struct {
	sType       uint32
	_           uintptr
	flags       uint32
	inheritance uintptr
}

type descriptorPoolSize struct{ kind, count uint32 }

type descriptorPoolCreateInfo struct {
	sType              uint32
	_                  uintptr
	flags, sets, count uint32
	sizes              *descriptorPoolSize
}

type descriptorSetAllocateInfo struct {
	sType   uint32
	_, pool uintptr
	count   uint32
	layout  *uintptr
}

type descriptorBufferInfo struct {
	buffer        uintptr
	offset, bytes uint64
}

type writeDescriptorSet struct {
	sType                         uint32
	_, set                        uintptr
	binding, element, count, kind uint32
	image                         uintptr
	buffer                        *descriptorBufferInfo
	texel                         uintptr
}

type memoryBarrier struct {
	sType       uint32
	_           uintptr
	source, dst uint32
}

type bufferCopy struct{ from, to, bytes uint64 }

type submitInfo struct {
	sType        uint32
	_            uintptr
	waits        uint32
	wait, stages uintptr
	count        uint32
	commands     *uintptr
	signals      uint32
	semaphores   uintptr
}
