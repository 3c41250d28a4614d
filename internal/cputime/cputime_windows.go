package cputime

import (
	"time"

	"golang.org/x/sys/windows"
)

func process() time.Duration {
	var created, ended, system, own windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &system, &own) != nil {
		return 0
	}
	return lasted(system) + lasted(own)
}

// lasted converts a duration. [windows.Filetime.Nanoseconds] would interpret it as a date.
func lasted(f windows.Filetime) time.Duration {
	const unit = 100 * time.Nanosecond
	return time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime)) * unit
}
