//go:build gpu

package vulkan

import "syscall"

func loaderNames() []string { return []string{"vulkan-1.dll"} }

func dlopen(name string) (uintptr, error) {
	library, err := syscall.LoadLibrary(name)
	return uintptr(library), err
}

func dlsym(library uintptr, name string) (uintptr, error) {
	return syscall.GetProcAddress(syscall.Handle(library), name)
}
