//go:build gpu && !windows

package vulkan

import (
	"runtime"

	"github.com/ebitengine/purego"
)

func loaderNames() []string {
	if runtime.GOOS == "darwin" {
		return []string{"libvulkan.1.dylib", "libMoltenVK.dylib"}
	}
	return []string{"libvulkan.so.1", "libvulkan.so"}
}

func dlopen(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

func dlsym(library uintptr, name string) (uintptr, error) { return purego.Dlsym(library, name) }
