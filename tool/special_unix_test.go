//go:build unix

package tool_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/tool"
)

// TestSpecialFilesAreLeftAlone would hang if a tool opened the pipe.
func TestSpecialFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // a socket's path must be short
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := os.Symlink("pipe", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	w := open(t, dir, tool.WorkspaceOptions{})
	for path, want := range map[string]string{"pipe": "a named pipe", "link": "a named pipe", "socket": "a socket"} {
		for name, a := range map[string]args{
			"read_file":  {"path": path},
			"list_dir":   {"path": path},
			"grep":       {"path": path, "pattern": "x"},
			"write_file": {"path": path, "content": "x"},
		} {
			err := fails(t, find(t, w, name), a)
			has(t, err.Error(), want)
			if !errors.Is(err, firn.ErrUnsupported) {
				t.Errorf("%s %s: %v", name, path, err)
			}
		}
		fails(t, find(t, w, "write_file"), args{"path": path, "content": "x", "append": true})
	}
	has(t, call(t, find(t, w, "list_dir"), nil), "pipe (a named pipe)", "socket (a socket)", "link -> pipe")
	has(t, call(t, find(t, w, "grep"), args{"pattern": "x"}), "no line matches \"x\" in 0 files")
}

func TestDevicesAreLeftAlone(t *testing.T) {
	w := open(t, "/dev", tool.WorkspaceOptions{ReadOnly: true})
	for _, device := range []string{"zero", "tty", "null"} {
		if err := fails(t, find(t, w, "read_file"), args{"path": device}); !errors.Is(err, firn.ErrUnsupported) {
			t.Errorf("%s: %v", device, err)
		}
	}
}

func TestUnusualFileNames(t *testing.T) {
	files := map[string]string{"two\nlines.txt": "needle", "tab\t.txt": "needle", "straße.txt": "needle", "[1]: x": "needle"}
	if runtime.GOOS == "linux" { // other systems accept only names that are valid text
		files["bad\xff.txt"] = "needle"
	}
	w := workspace(t, files)
	listed := call(t, find(t, w, "list_dir"), nil)
	has(t, listed, `"two\nlines.txt"  6 bytes`, `"tab\t.txt"`, "straße.txt", "[1]: x")
	if runtime.GOOS == "linux" {
		has(t, listed, `"bad\xff.txt"`)
	}
	found := call(t, find(t, w, "grep"), args{"pattern": "needle"})
	has(t, found, `"two\nlines.txt":1: needle`, "straße.txt:1: needle")
	has(t, call(t, find(t, w, "read_file"), args{"path": "two\nlines.txt"}), "needle")
	has(t, fails(t, find(t, w, "read_file"), args{"path": "two\nline"}).Error(), `"two\nline" was not found in the workspace; there is "two\nlines.txt"`)
	fails(t, find(t, w, "read_file"), args{"path": "a\x00b"})
}
