package tool

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// A command can leave its process group, for example with setsid. Each command therefore
// has a marker in its environment, which its children inherit. A process that also clears
// its environment is not found.

// killStrays kills the processes that carry the mark and returns their number.
func killStrays(mark string) int {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	found := 0
	for _, path := range environments {
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append([]byte{0}, data...), []byte("\x00"+mark+"\x00")) {
			continue // the process has ended or belongs to another user
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && pid != os.Getpid() {
			found++
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended in the meantime
		}
	}
	return found
}

// strays is the part of the watcher script that does the same after this process has died.
// Like endStrays, it repeats the search while it finds processes: one that is killed may
// have just started another.
const strays = `
n=0 found=1
while [ "$found" ] && [ $n -lt 10 ]; do
	n=$((n+1)) found=
	for p in /proc/[0-9]*; do
		if tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qxF "$0" 2>/dev/null; then kill -KILL "${p#/proc/}" 2>/dev/null && found=1; fi
	done
done`
