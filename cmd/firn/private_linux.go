package main

import "syscall"

// keepMemoryPrivate keeps other processes of the same user, such as the commands
// that agents run, from reading the memory and the environment of this one: API
// keys are in both. After it /proc/PID/environ and /proc/PID/mem belong to root,
// and debuggers cannot attach. What we start is readable again. Root still reads
// everything.
func keepMemoryPrivate() {
	const setDumpable = 4                                              // PR_SET_DUMPABLE
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0) // to run is better than not to
}
