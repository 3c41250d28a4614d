//go:build gpu

package vulkan

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
	"unsafe"
)

// wait is the maximum duration of a tape.
const wait = 10 * time.Minute

type instance struct {
	handle uintptr
	vk     struct {
		EnumeratePhysicalDevices, GetPhysicalDeviceProperties, GetPhysicalDeviceQueueFamilyProperties,
		GetPhysicalDeviceMemoryProperties, CreateDevice, GetDeviceProcAddr uintptr
	}
}

// theInstance returns the process's only instance, which is never closed: NVIDIA's driver cannot be loaded again after
// about thirty instances have loaded and unloaded it.
var theInstance = sync.OnceValues(newInstance)

func newInstance() (*instance, error) {
	var get uintptr
	var err error
	for _, name := range loaderNames() {
		var library uintptr
		if library, err = dlopen(name); err == nil {
			if get, err = dlsym(library, "vkGetInstanceProcAddr"); err == nil {
				break
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrNoLoader, err)
	}
	create, err := lookup(get, 0, "vkCreateInstance")
	if err != nil {
		return nil, err
	}
	app := &applicationInfo{sType: 0, name: cstring("unravel"), engine: cstring("unravel"), apiVersion: 1<<22 | 1<<12}
	info := &instanceCreateInfo{sType: 1, app: app}
	in := &instance{}
	err = made(call(create, uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(&in.handle))), in.handle, "instance")
	if errors.Is(err, incompatibleDriver) {
		return nil, ErrNoDriver
	}
	if err != nil {
		return nil, err
	}
	if err := lookUp(get, in.handle, &in.vk); err != nil {
		return nil, err
	}
	return in, nil
}

// physical is a physical device of an instance.
type physical struct {
	Adapter
	handle uintptr
	family uint32 // queue family with compute support
	memory memoryProperties
}

// adapters lists the adapters with compute support.
func (in *instance) adapters() ([]*physical, error) {
	count := new(uint32)
	f := in.vk.EnumeratePhysicalDevices
	if err := call(f, in.handle, uintptr(unsafe.Pointer(count)), 0); err != nil {
		return nil, err
	}
	if *count == 0 {
		return nil, ErrNoDriver
	}
	handles := make([]uintptr, *count)
	if err := call(f, in.handle, uintptr(unsafe.Pointer(count)), uintptr(unsafe.Pointer(&handles[0]))); err != nil {
		return nil, err
	}
	var list []*physical
	for _, h := range handles[:*count] {
		if h == 0 {
			continue
		}
		if p := in.describe(h); p != nil {
			p.Index = len(list)
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil, ErrNoDriver
	}
	return list, nil
}

// describe returns an adapter, or nil if it does not support compute or Vulkan 1.1.
func (in *instance) describe(h uintptr) *physical {
	words := new([256]uint32) // VkPhysicalDeviceProperties has 824 bytes
	void(in.vk.GetPhysicalDeviceProperties, h, uintptr(unsafe.Pointer(words)))
	p := &physical{handle: h, family: math.MaxUint32}
	api := words[0]
	p.API = fmt.Sprintf("%d.%d.%d", api>>22&0x7f, api>>12&0x3ff, api&0xfff)
	if api < 1<<22|1<<12 {
		return nil
	}
	p.Kind = "other"
	if kinds := []string{"other", "integrated", "discrete", "virtual", "CPU"}; int(words[4]) < len(kinds) {
		p.Kind = kinds[words[4]]
	}
	name := (*[1024]byte)(unsafe.Pointer(words))[20 : 20+256]
	for i, c := range name {
		if c == 0 {
			name = name[:i]
			break
		}
	}
	p.Name = string(name)
	limits := words[296/4:] // VkPhysicalDeviceLimits
	p.Limits = Limits{Buffer: int64(limits[7]), Constants: int(limits[8]), Buffers: int(limits[19]),
		Groups: [3]int{int(limits[55]), int(limits[56]), int(limits[57])}, Alignment: 256} // no driver may ask for more
	count := new(uint32)
	f := in.vk.GetPhysicalDeviceQueueFamilyProperties
	void(f, h, uintptr(unsafe.Pointer(count)), 0)
	families := make([]queueFamily, *count+1)
	void(f, h, uintptr(unsafe.Pointer(count)), uintptr(unsafe.Pointer(&families[0])))
	for i, q := range families[:*count] {
		if q.flags&2 != 0 { // VK_QUEUE_COMPUTE_BIT
			p.family = uint32(i)
			break
		}
	}
	if p.family == math.MaxUint32 {
		return nil
	}
	void(in.vk.GetPhysicalDeviceMemoryProperties, h, uintptr(unsafe.Pointer(&p.memory)))
	for _, heap := range p.memory.heapList[:p.memory.heaps] {
		if heap.flags&1 != 0 { // device local
			p.Memory = max(p.Memory, int64(heap.size))
		}
	}
	return p
}

// Devices lists the available GPUs.
func Devices() ([]Adapter, error) {
	in, err := theInstance()
	if err != nil {
		return nil, err
	}
	list, err := in.adapters()
	var adapters []Adapter
	for _, p := range list {
		adapters = append(adapters, p.Adapter)
	}
	return adapters, err
}

// Open opens the GPU with the given index in [Devices].
func Open(index int) (*Device, error) {
	in, err := theInstance()
	if err != nil {
		return nil, err
	}
	d, a, err := in.open(index)
	if err != nil {
		return nil, err
	}
	return newDevice(a, d), nil
}

func (in *instance) open(index int) (*gpu, Adapter, error) {
	list, err := in.adapters()
	if err != nil {
		return nil, Adapter{}, err
	}
	if index < 0 || index >= len(list) {
		return nil, Adapter{}, fmt.Errorf("there is no gpu:%d; want 0 to %d: unravel version --devices lists them",
			index, len(list)-1)
	}
	p := list[index]
	priority := float32(1)
	queue := &deviceQueueCreateInfo{sType: 2, family: p.family, count: 1, priority: &priority}
	info := &deviceCreateInfo{sType: 3, queues: 1, queueInfos: queue}
	g := &gpu{instance: in, physical: p, kernels: map[string]*pipeline{}}
	err = made(call(in.vk.CreateDevice, p.handle, uintptr(unsafe.Pointer(info)), 0,
		uintptr(unsafe.Pointer(&g.handle))), g.handle, "device")
	if err != nil {
		return nil, Adapter{}, fmt.Errorf("opening %v: %w", p.Adapter, err)
	}
	if err := lookUp(in.vk.GetDeviceProcAddr, g.handle, &g.vk); err != nil {
		return nil, Adapter{}, err
	}
	void(g.vk.GetDeviceQueue, g.handle, uintptr(p.family), 0, uintptr(unsafe.Pointer(&g.queue)))
	return g, p.Adapter, made(nil, g.queue, "queue")
}

type gpu struct {
	*physical
	instance *instance
	handle   uintptr
	queue    uintptr
	vk       struct {
		DestroyDevice, GetDeviceQueue, CreateBuffer, DestroyBuffer, GetBufferMemoryRequirements, AllocateMemory,
		FreeMemory, BindBufferMemory, MapMemory, CreateShaderModule, DestroyShaderModule, CreateDescriptorSetLayout,
		DestroyDescriptorSetLayout, CreatePipelineLayout, DestroyPipelineLayout, CreateComputePipelines, DestroyPipeline,
		CreateDescriptorPool, DestroyDescriptorPool, AllocateDescriptorSets, UpdateDescriptorSets, CreateCommandPool,
		DestroyCommandPool, AllocateCommandBuffers, BeginCommandBuffer, EndCommandBuffer, CmdBindPipeline,
		CmdBindDescriptorSets, CmdPushConstants, CmdDispatch, CmdPipelineBarrier, CmdCopyBuffer, CmdFillBuffer,
		QueueSubmit, CreateFence, DestroyFence, WaitForFences, ResetFences, DeviceWaitIdle uintptr
	}
	kernels map[string]*pipeline
}

// create calls a vkCreate function with a structure and checks the handle.
//
//go:uintptrescapes
func (g *gpu) create(function uintptr, what string, info uintptr) (uintptr, error) {
	handle := new(uintptr)
	err := call(function, g.handle, info, 0, uintptr(unsafe.Pointer(handle)))
	return *handle, made(err, *handle, what)
}

// destroy calls a vkDestroy function, unless the handle is null.
func (g *gpu) destroy(function uintptr, handle uintptr) {
	if handle != 0 {
		void(function, g.handle, handle, 0)
	}
}

// Memory properties.
const (
	local    = 1
	visible  = 2
	coherent = 4
	cached   = 8
)

func (g *gpu) allocate(bytes int64, host bool) (b *block, err error) {
	b = &block{size: bytes, host: host}
	defer func() {
		if err != nil {
			g.free(b)
		}
	}()
	info := &bufferCreateInfo{sType: 12, size: uint64(bytes), usage: 1 | 2 | 0x20} // transfers from and to, storage
	if b.handle, err = g.create(g.vk.CreateBuffer, "buffer", uintptr(unsafe.Pointer(info))); err != nil {
		return nil, err
	}
	need := &memoryRequirements{}
	void(g.vk.GetBufferMemoryRequirements, g.handle, b.handle, uintptr(unsafe.Pointer(need)))
	wishes := []uint32{local, 0}
	if host {
		wishes = []uint32{visible | coherent | cached, visible | coherent}
	}
	memoryType, err := g.memoryType(need.types, wishes)
	if err != nil {
		return nil, err
	}
	allocation := &memoryAllocateInfo{sType: 5, size: need.size, memoryType: memoryType}
	if b.memory, err = g.create(g.vk.AllocateMemory, "allocation", uintptr(unsafe.Pointer(allocation))); err != nil {
		return nil, err
	}
	if err := call(g.vk.BindBufferMemory, g.handle, b.handle, b.memory, 0); err != nil {
		return nil, err
	}
	if host {
		at := new(unsafe.Pointer)
		if err := call(g.vk.MapMemory, g.handle, b.memory, 0, ^uintptr(0), 0, uintptr(unsafe.Pointer(at))); err != nil {
			return nil, err
		}
		if *at == nil {
			return nil, errors.New("the driver mapped memory to null")
		}
		b.floats = unsafe.Slice((*float32)(*at), bytes/4)
	}
	return b, nil
}

// memoryType returns the first allowed memory type with all properties of a wish. Earlier wishes have priority.
func (g *gpu) memoryType(allowed uint32, wishes []uint32) (uint32, error) {
	for _, want := range wishes {
		for i, t := range g.memory.typeList[:g.memory.types] {
			if allowed>>i&1 == 1 && t.flags&want == want {
				return uint32(i), nil
			}
		}
	}
	return 0, errors.New("the GPU has no memory for buffers")
}

func (g *gpu) free(b *block) {
	g.destroy(g.vk.DestroyBuffer, b.handle)
	g.destroy(g.vk.FreeMemory, b.memory)
	b.handle, b.memory, b.floats = 0, 0, nil
}

type pipeline struct {
	handle, layout, set uintptr
	buffers, constants  int
}

const computeStage = 0x20

func (g *gpu) pipeline(k Kernel, buffers, constants int) (p *pipeline, err error) {
	if p := g.kernels[k.Name]; p != nil {
		if p.buffers != buffers || p.constants != constants {
			return nil, fmt.Errorf("kernel %s: %d buffers and %d constants, and before %d and %d", k.Name, buffers,
				constants, p.buffers, p.constants)
		}
		return p, nil
	}
	if len(k.Code) < 20 || len(k.Code)%4 != 0 || k.Code[0] != 0x03 || k.Code[1] != 0x02 || k.Code[2] != 0x23 ||
		k.Code[3] != 0x07 {
		return nil, fmt.Errorf("kernel %s: the code is no SPIR-V", k.Name)
	}
	p = &pipeline{buffers: buffers, constants: constants}
	defer func() {
		if err != nil {
			g.closePipeline(p)
			p, err = nil, fmt.Errorf("kernel %s: %w", k.Name, err)
		}
	}()
	bindings := make([]layoutBinding, buffers)
	for i := range bindings {
		bindings[i] = layoutBinding{binding: uint32(i), kind: storageBuffer, count: 1, stages: computeStage}
	}
	sets := &setLayoutCreateInfo{sType: 32, count: uint32(buffers), bindings: &bindings[0]}
	if p.set, err = g.create(g.vk.CreateDescriptorSetLayout, "descriptor set layout",
		uintptr(unsafe.Pointer(sets))); err != nil {
		return p, err
	}
	layout := &pipelineLayoutCreateInfo{sType: 30, sets: 1, set: &p.set}
	if constants > 0 {
		layout.ranges, layout.ranged = 1, &pushConstantRange{computeStage, 0, uint32(4 * constants)}
	}
	if p.layout, err = g.create(g.vk.CreatePipelineLayout, "pipeline layout", uintptr(unsafe.Pointer(layout))); err != nil {
		return p, err
	}
	shader := &shaderModuleCreateInfo{sType: 16, size: uintptr(len(k.Code)), code: &k.Code[0]}
	module, err := g.create(g.vk.CreateShaderModule, "shader", uintptr(unsafe.Pointer(shader)))
	if err != nil {
		return p, err
	}
	defer g.destroy(g.vk.DestroyShaderModule, module)
	info := &computePipelineCreateInfo{sType: 29, layout: p.layout, baseIndex: -1,
		stage: shaderStage{sType: 18, stage: computeStage, module: module, name: cstring("main")}}
	handle := new(uintptr)
	err = call(g.vk.CreateComputePipelines, g.handle, 0, 1, uintptr(unsafe.Pointer(info)), 0,
		uintptr(unsafe.Pointer(handle)))
	if p.handle = *handle; made(err, p.handle, "pipeline") != nil {
		return p, made(err, p.handle, "pipeline")
	}
	g.kernels[k.Name] = p
	return p, nil
}

func (g *gpu) closePipeline(p *pipeline) {
	g.destroy(g.vk.DestroyPipeline, p.handle)
	g.destroy(g.vk.DestroyPipelineLayout, p.layout)
	g.destroy(g.vk.DestroyDescriptorSetLayout, p.set)
}

func (g *gpu) close() error {
	err := call(g.vk.DeviceWaitIdle, g.handle)
	for _, p := range g.kernels {
		g.closePipeline(p)
	}
	void(g.vk.DestroyDevice, g.handle, 0)
	if errors.Is(err, ErrLost) {
		return nil // already reported
	}
	return err
}
