package providertest

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// goroutines maps the IDs of all goroutines that run firn's code to their stacks.
func goroutines() map[string]string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	ours := make(map[string]string)
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		name, _, _ := strings.Cut(stack, " [")
		if strings.Contains(stack, "\nfirn.dev/") {
			ours[name] = stack
		}
	}
	return ours
}

// checkGoroutines waits until only the goroutines in before are left.
func checkGoroutines(t *testing.T, before map[string]string) {
	deadline := time.Now().Add(patience)
	for {
		left := goroutines()
		for name := range before {
			delete(left, name)
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, stack := range left {
				t.Errorf("a goroutine is left behind:\n%s", stack)
			}
			return
		}
		time.Sleep(time.Millisecond) // taking stacks is more expensive than waiting
	}
}
