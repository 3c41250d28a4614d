//go:build gpu

package vulkan

import (
	"fmt"
	"unsafe"
)

const storageBuffer = 7 // VK_DESCRIPTOR_TYPE_STORAGE_BUFFER

// Pipeline stages and accesses.
const (
	stageCompute  = 0x800
	stageTransfer = 0x1000
	stageHost     = 0x4000

	shaderRead    = 0x20
	shaderWrite   = 0x40
	transferRead  = 0x800
	transferWrite = 0x1000
	hostRead      = 0x2000
	hostWrite     = 0x4000
)

// recording is a command buffer with its resources.
type recording struct {
	gpu         *gpu
	pool        uintptr // pool of the command buffer
	descriptors uintptr
	fence       uintptr
	commands    uintptr
	submit      *submitInfo
}

func (g *gpu) compile(commands []command) (program, error) {
	r := &recording{gpu: g}
	if err := r.record(commands); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *recording) record(commands []command) (err error) {
	g := r.gpu
	pool := &commandPoolCreateInfo{sType: 39, family: g.family}
	if r.pool, err = g.create(g.vk.CreateCommandPool, "command pool", uintptr(unsafe.Pointer(pool))); err != nil {
		return err
	}
	allocate := &commandBufferAllocateInfo{sType: 40, pool: r.pool, count: 1}
	buffer := new(uintptr)
	err = call(g.vk.AllocateCommandBuffers, g.handle, uintptr(unsafe.Pointer(allocate)), uintptr(unsafe.Pointer(buffer)))
	if r.commands = *buffer; made(err, r.commands, "command buffer") != nil {
		return made(err, r.commands, "command buffer")
	}
	sets, buffers := uint32(1), uint32(1)
	for _, c := range commands {
		if c.kernel.Name != "" {
			sets++
			buffers += uint32(len(c.args))
		}
	}
	sizes := &descriptorPoolSize{storageBuffer, buffers}
	descriptors := &descriptorPoolCreateInfo{sType: 33, sets: sets, count: 1, sizes: sizes}
	if r.descriptors, err = g.create(g.vk.CreateDescriptorPool, "descriptor pool",
		uintptr(unsafe.Pointer(descriptors))); err != nil {
		return err
	}
	fence := &commandBufferBeginInfo{sType: 8} // VkFenceCreateInfo has the same first members
	if r.fence, err = g.create(g.vk.CreateFence, "fence", uintptr(unsafe.Pointer(fence))); err != nil {
		return err
	}
	begin := &commandBufferBeginInfo{sType: 42}
	if err := call(g.vk.BeginCommandBuffer, r.commands, uintptr(unsafe.Pointer(begin))); err != nil {
		return err
	}
	// wait for earlier tapes
	r.barrier(stageCompute|stageTransfer|stageHost, stageCompute|stageTransfer, shaderWrite|transferWrite|hostWrite)
	for _, c := range commands {
		if c.barrier {
			r.barrier(stageCompute|stageTransfer, stageCompute|stageTransfer, shaderWrite|transferWrite)
		}
		if err := r.add(c); err != nil {
			return err
		}
	}
	r.barrier(stageCompute|stageTransfer, stageHost, shaderWrite|transferWrite)
	if err := call(g.vk.EndCommandBuffer, r.commands); err != nil {
		return err
	}
	r.submit = &submitInfo{sType: 4, count: 1, commands: &r.commands}
	return nil
}

// barrier makes commands of the stages after wait for writes of the stages before.
func (r *recording) barrier(before, after, writes uint32) {
	seen := uint32(shaderRead | shaderWrite | transferRead | transferWrite)
	if after == stageHost {
		seen = hostRead
	}
	b := &memoryBarrier{sType: 46, source: writes, dst: seen}
	void(r.gpu.vk.CmdPipelineBarrier, r.commands, uintptr(before), uintptr(after), 0, 1,
		uintptr(unsafe.Pointer(b)), 0, 0, 0, 0)
}

func (r *recording) add(c command) error {
	f := &r.gpu.vk
	first := c.args[0].Buffer
	switch {
	case c.fill:
		void(f.CmdFillBuffer, r.commands, first.block.handle, uintptr(first.at), uintptr(first.size), uintptr(c.constants[0]))
		return nil
	case c.copied > 0:
		to := c.args[1].Buffer
		region := &bufferCopy{uint64(first.at), uint64(to.at), uint64(c.copied)}
		void(f.CmdCopyBuffer, r.commands, first.block.handle, to.block.handle, 1, uintptr(unsafe.Pointer(region)))
		return nil
	}
	return r.dispatch(c)
}

func (r *recording) dispatch(c command) error {
	g, f := r.gpu, &r.gpu.vk
	p, err := g.pipeline(c.kernel, len(c.args), len(c.constants))
	if err != nil {
		return err
	}
	set := new(uintptr)
	allocate := &descriptorSetAllocateInfo{sType: 34, pool: r.descriptors, count: 1, layout: &p.set}
	err = call(f.AllocateDescriptorSets, g.handle, uintptr(unsafe.Pointer(allocate)), uintptr(unsafe.Pointer(set)))
	if err := made(err, *set, "descriptor set"); err != nil {
		return fmt.Errorf("kernel %s: %w", c.kernel.Name, err)
	}
	writes := make([]writeDescriptorSet, len(c.args))
	for i, a := range c.args {
		info := &descriptorBufferInfo{a.Buffer.block.handle, uint64(a.Buffer.at), uint64(a.Buffer.size)}
		writes[i] = writeDescriptorSet{sType: 35, set: *set, binding: uint32(i), count: 1, kind: storageBuffer,
			buffer: info}
	}
	void(f.UpdateDescriptorSets, g.handle, uintptr(len(writes)), uintptr(unsafe.Pointer(&writes[0])), 0, 0)
	const computePoint = 1
	void(f.CmdBindPipeline, r.commands, computePoint, p.handle)
	void(f.CmdBindDescriptorSets, r.commands, computePoint, p.layout, 0, 1, uintptr(unsafe.Pointer(set)), 0, 0)
	if n := len(c.constants); n > 0 {
		void(f.CmdPushConstants, r.commands, p.layout, computeStage, 0, uintptr(4*n),
			uintptr(unsafe.Pointer(&c.constants[0])))
	}
	void(f.CmdDispatch, r.commands, uintptr(c.groups[0]), uintptr(c.groups[1]), uintptr(c.groups[2]))
	return nil
}

func (r *recording) run() error {
	g, f := r.gpu, &r.gpu.vk
	if err := call(f.QueueSubmit, g.queue, 1, uintptr(unsafe.Pointer(r.submit)), r.fence); err != nil {
		return err
	}
	if err := call(f.WaitForFences, g.handle, 1, uintptr(unsafe.Pointer(&r.fence)), 1, uintptr(wait)); err != nil {
		return err
	}
	return call(f.ResetFences, g.handle, 1, uintptr(unsafe.Pointer(&r.fence)))
}

func (r *recording) close() {
	g := r.gpu
	g.destroy(g.vk.DestroyCommandPool, r.pool)
	g.destroy(g.vk.DestroyDescriptorPool, r.descriptors)
	g.destroy(g.vk.DestroyFence, r.fence)
}
