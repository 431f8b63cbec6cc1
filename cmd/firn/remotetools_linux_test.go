package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRemoteGatewayNeedsApproval chats at a terminal with the gateway of another home
// whose settings approve every call. Without a flag it is offered no tool that writes or
// runs commands; with --approve it is.
func TestRemoteGatewayNeedsApproval(t *testing.T) {
	theirs, ours, dir := t.TempDir(), t.TempDir(), realDir(t)
	settings := "[defaults.approvals]\nmode = 'everything'\n"
	if err := os.WriteFile(filepath.Join(theirs, "firn.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	serveIn(t, theirs, t.TempDir())
	socket := "unix:" + filepath.Join(theirs, "gateway.sock")
	made := filepath.Join(dir, "made.txt")
	chat := func(args ...string) *window {
		w := openProject(t, ours, dir, append([]string{"chat", "--gateway", socket}, args...)...)
		w.press("run `touch made.txt`\r")
		return w
	}
	w := chat()
	w.Await(t, "not offered")
	w.press("\x04")
	if _, err := os.Stat(made); err == nil {
		t.Error("the gateway ran a command at the terminal")
	}
	w = chat("--approve", "everything")
	w.AwaitThat(t, "the command has run", func() bool { _, err := os.Stat(made); return err == nil })
	w.press("\x04")
}
