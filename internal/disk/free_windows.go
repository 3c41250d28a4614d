package disk

import "golang.org/x/sys/windows"

func free(dir string) (uint64, bool) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var have uint64
	err = windows.GetDiskFreeSpaceEx(name, &have, nil, nil)
	return have, err == nil
}
