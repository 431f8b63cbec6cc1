//go:build !windows

package main

import "syscall"

// leaveNoCore disables core dumps, because the memory of the process contains API keys and
// conversations. A limit of one byte also works where a program receives the dumps, which
// ignores a limit of zero. Child processes inherit the limit and may raise it again.
func leaveNoCore() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) != nil {
		return // the limit cannot be set either
	}
	limit.Cur = min(1, limit.Max)
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // best effort
}
