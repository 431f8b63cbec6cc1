//go:build unix

package local

import (
	"context"
	"os"
	"os/exec"
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
		t.Errorf("an empty clipboard returns %v", err)
	}
}

// TestClipboardPrograms reads the clipboard with stand-ins that behave like wl-paste and xclip:
// they take the type as an argument, print the image, and fail with a message if the clipboard
// has another type. The first installed program of the display is used.
func TestClipboardPrograms(t *testing.T) {
	const (
		wayland = `[ "$*" = "--type image/png" ] || exit 2
[ -s "$DIR/image" ] || { echo "Clipboard content is not available as requested type \"image/png\"" >&2; exit 1; }
cat "$DIR/image"`
		x11 = `[ "$*" = "-selection clipboard -t image/png -o" ] || exit 2
[ -s "$DIR/image" ] || { echo "Error: target image/png not available" >&2; exit 1; }
cat "$DIR/image"`
	)
	for _, x := range []struct {
		name     string
		env      map[string]string
		programs map[string]string
		image    string
		want     string
	}{
		{"wayland", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, map[string]string{"wl-paste": wayland}, string(dot), ""},
		{"x11", map[string]string{"DISPLAY": ":0"}, map[string]string{"xclip": x11}, string(dot), ""},
		{"both displays, only xclip", map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, map[string]string{"xclip": x11}, string(dot), ""},
		{"text on the clipboard, wayland", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, map[string]string{"wl-paste": wayland}, "", "no image"},
		{"text on the clipboard, x11", map[string]string{"DISPLAY": ":0"}, map[string]string{"xclip": x11}, "", "no image"},
		{"not an image", map[string]string{"DISPLAY": ":0"}, map[string]string{"xclip": x11}, "plain text", "image"},
		{"no program", map[string]string{"DISPLAY": ":0"}, nil, string(dot), "xclip on X11"},
		{"no display", nil, map[string]string{"wl-paste": wayland, "xclip": x11}, string(dot), "wl-paste on Wayland"},
	} {
		dir := t.TempDir()
		for name, text := range x.programs {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nDIR='"+dir+"'\n"+text+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "image"), []byte(x.image), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"sh", "cat"} { // nothing else is in the path
			real, err := exec.LookPath(tool)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(real, filepath.Join(dir, tool)); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(x.name, func(t *testing.T) {
			t.Setenv("PATH", dir)
			image, err := Machine{Env: func(name string) string { return x.env[name] }}.Clipboard(t.Context())
			if x.want == "" && (err != nil || string(image.Data) != x.image || image.MimeType != "image/png") {
				t.Errorf("the image is %+v, %v", image, err)
			}
			if x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
				t.Errorf("it says %v, want %q", err, x.want)
			}
		})
	}
}
