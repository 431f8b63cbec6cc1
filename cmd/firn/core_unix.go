//go:build !windows

package main

import "syscall"

// leaveNoCore keeps the system from writing the memory of this process to a file if
// it crashes: keys are in it, and what was said. A limit of one byte does that also
// where a program takes the files in, which does not heed a limit of zero. What we
// start inherits it, and may set it up again.
func leaveNoCore() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) != nil {
		return // what cannot be asked cannot be set either
	}
	limit.Cur = min(1, limit.Max)
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // to run is better than not to
}
