package tool

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// A command can leave its process group, as setsid does. So each has a mark in its
// environment, which what it starts inherits. What clears its environment as well
// is not found.

// killStrays kills the processes that carry a mark, and reports how many there
// were.
func killStrays(mark string) int {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well formed
	found := 0
	for _, path := range environments {
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append([]byte{0}, data...), []byte("\x00"+mark+"\x00")) {
			continue // it has ended, or is not ours
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && pid != os.Getpid() {
			found++
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
		}
	}
	return found
}

// strays is the part of the watcher's script that does the same once we are gone.
const strays = `
for p in /proc/[0-9]*; do
	if tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qxF "$0" 2>/dev/null; then kill -KILL "${p#/proc/}" 2>/dev/null; fi
done`
