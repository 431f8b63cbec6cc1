package main

import "syscall"

// keepMemoryPrivate prevents other processes of the same user, such as commands run by
// agents, from reading the memory and environment of this process, which contain API keys.
// /proc/PID/environ and /proc/PID/mem then belong to root, and debuggers cannot attach.
// Child processes are not affected, and root can still read everything.
func keepMemoryPrivate() {
	const setDumpable = 4                                              // PR_SET_DUMPABLE
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0) // best effort
}
