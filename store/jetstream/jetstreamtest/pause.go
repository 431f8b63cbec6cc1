//go:build unix

package jetstreamtest

import (
	"syscall"
	"testing"
)

// Pause stops the process where it is, without its noticing. It must be resumed.
func (n *Node) Pause(t testing.TB) {
	t.Helper()
	if err := n.command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// Resume lets a process that was stopped go on.
func (n *Node) Resume(t testing.TB) {
	t.Helper()
	if err := n.command.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
