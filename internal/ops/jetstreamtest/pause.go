//go:build unix

package jetstreamtest

import (
	"syscall"
	"testing"
)

// Pause suspends the process, unnoticed by it. It must be resumed with [Node.Resume].
func (n *Node) Pause(t testing.TB) {
	t.Helper()
	if err := n.command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// Resume continues a suspended process.
func (n *Node) Resume(t testing.TB) {
	t.Helper()
	if err := n.command.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
