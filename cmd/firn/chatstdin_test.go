package main

import (
	"strings"
	"testing"
)

// TestPromptWithOpenPipe asks with a pipe as stdin that is neither used nor closed, as some
// programs start others.
func TestPromptWithOpenPipe(t *testing.T) {
	cmd := program(t.TempDir(), "chat", "-p", "what is 2*3?")
	pipe, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	out, notes := new(strings.Builder), new(strings.Builder)
	cmd.Stdout, cmd.Stderr = out, notes
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "6") || !strings.Contains(notes.String(), "no text on stdin") {
		t.Errorf("it ends with %v and prints %q, %q", err, out, notes)
	}
}
