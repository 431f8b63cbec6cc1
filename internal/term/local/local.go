// Package local is what a chat uses of the user's own machine: the files of the project,
// commands, the editor, and images in files and on the clipboard. All of it acts with the
// permissions of the user who typed. It knows no sessions.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Machine is a directory on the user's machine. The zero value uses the current directory
// and an empty environment.
type Machine struct {
	// Dir is the directory of commands, and the base of relative paths.
	Dir string
	// Env returns an environment variable; nil means that none is set.
	Env func(name string) string
}

// env returns the first of the named variables that is set.
func (m Machine) env(names ...string) string {
	if m.Env == nil {
		return ""
	}
	for _, name := range names {
		if value := m.Env(name); value != "" {
			return value
		}
	}
	return ""
}

// Path returns the path of a file that a user names: absolute, below the home directory, or
// relative to Dir.
func (m Machine) Path(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if home := m.env("HOME", "USERPROFILE"); home != "" {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(m.Dir, name)
}

// ErrNoEditor means that the user has chosen no editor.
var ErrNoEditor = errors.New("neither VISUAL nor EDITOR is set")

// Edit opens a text in the user's editor and returns the result. The temporary file is
// private and removed afterwards.
func (m Machine) Edit(ctx context.Context, text string, in, out *os.File) (string, error) {
	words := strings.Fields(m.editor(runtime.GOOS))
	if len(words) == 0 {
		return "", ErrNoEditor
	}
	file := filepath.Join(os.TempDir(), "firn-prompt-"+string(firn.NewID())+".md")
	if err := writeNew(file, text); err != nil {
		return "", err
	}
	defer (vfs.OS{}).Remove(file) // if it fails, the file stays among the temporary ones
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], file)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = m.Dir, in, out, out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("editor %s failed: %w", words[0], err)
	}
	changed, err := os.ReadFile(file)
	return string(changed), err
}

// writeNew writes a file that only the user can read.
func writeNew(name, text string) error {
	f, err := vfs.OS{}.Open(name, vfs.Create)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}

// HasEditor reports whether there is an editor: one that the user has chosen or, on Windows,
// Notepad.
func (m Machine) HasEditor() bool { return m.editor(runtime.GOOS) != "" }

// editor returns the command of the editor on an operating system; empty if there is none.
func (m Machine) editor(system string) string {
	chosen := strings.TrimSpace(m.env("VISUAL", "EDITOR"))
	if chosen == "" && system == "windows" {
		return "notepad.exe" // part of every Windows, and ends when its window is closed
	}
	return chosen
}
