//go:build !unix && !windows

package priority

func lower() {}
