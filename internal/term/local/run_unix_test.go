//go:build unix

package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunStopped stops a command and its children. The output so far is kept.
func TestRunStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := Machine{Dir: t.TempDir()}
	done, err := m.Run(ctx, "echo begun; sleep 1000 | sleep 1000", func(string) { cancel() })
	if err != nil || !done.Cancelled || done.ExitCode != nil || done.Output != "begun" {
		t.Errorf("it is %+v, %v", done, err)
	}
}

// TestEditorRuns edits a text with a script as the editor.
func TestEditorRuns(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "edit")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nsed s/one/two/ \"$2\" > \"$2.new\" && mv \"$2.new\" \"$2\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	m := Machine{Dir: dir, Env: func(name string) string { return map[string]string{"EDITOR": script + " -w"}[name] }}
	if got, err := m.Edit(t.Context(), "one\n", nil, nil); got != "two\n" || err != nil {
		t.Errorf("it returns %q, %v", got, err)
	}
}

// TestClipboard reads an image with a stand-in for wl-paste.
func TestClipboard(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dot.png"), dot, 0o600); err != nil {
		t.Fatal(err)
	}
	program := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "wl-paste"), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	m := Machine{Env: func(name string) string { return map[string]string{"WAYLAND_DISPLAY": "w"}[name] }}
	program("cat '" + dir + "/dot.png'")
	if image, err := m.Clipboard(t.Context()); err != nil || string(image.Data) != string(dot) || image.MimeType != "image/png" {
		t.Errorf("the image is %+v, %v", image, err)
	}
	program("exit 1")
	if _, err := m.Clipboard(t.Context()); err == nil || !strings.Contains(err.Error(), "no image") {
		t.Errorf("an empty clipboard says %v", err)
	}
}
