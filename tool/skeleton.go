package tool

import (
	"context"
	"time"
)

// Workspace is a directory that tools may touch, and nothing outside of it.
type Workspace struct{}

// WorkspaceOptions says what may be done in a workspace.
type WorkspaceOptions struct {
	// ReadOnly leaves out all that writes.
	ReadOnly bool
}

// OpenWorkspace opens a directory that exists.
func OpenWorkspace(dir string, o WorkspaceOptions) (*Workspace, error) { return nil, nil }

// Dir is the workspace's directory, absolute.
func (w *Workspace) Dir() string { return "" }

// ReadOnly reports whether nothing may be written.
func (w *Workspace) ReadOnly() bool { return false }

// Close lets go of the directory. Tools of the workspace fail from then on.
func (w *Workspace) Close() error { return nil }

// Tools are read_file, list_dir and grep, and write_file unless it is read-only.
func (w *Workspace) Tools() []Tool { return nil }

// Now is the tool now; a nil clock is the system's.
func Now(clock func() time.Time) Tool { return nil }

// Calc is the tool calc.
func Calc() Tool { return nil }

// ShellOptions says how commands are run.
type ShellOptions struct {
	// Dir is where commands run.
	Dir string
	// Env is the environment of commands, all of it: name=value.
	Env []string
	// Program is what is called with the command behind it; none means sh -c.
	Program []string
	// Timeout is for a command that names none, zero means 2 minutes; MaxTimeout
	// bounds what it may name, zero means 10 minutes.
	Timeout, MaxTimeout time.Duration
	// Grace is how long a command may take to end once it was asked to; zero
	// means 2 seconds.
	Grace time.Duration
	// MaxOutput is how many bytes of output are kept; zero means 1 MB.
	MaxOutput int
}

// Shell is the tool shell.
func Shell(o ShellOptions) Tool { return nil }

// MemoryOptions bounds what is noted.
type MemoryOptions struct {
	// Clock tells the day; nil is the system's.
	Clock func() time.Time
	// MaxBytes bounds the file of a day, zero means 64 KB; MaxNote the text of a
	// call, zero means 2 KB.
	MaxBytes, MaxNote int
}

// MemoryWrite is the tool memory_write.
func MemoryWrite(w *Workspace, o MemoryOptions) Tool { return nil }

// Note is something that was noted.
type Note struct {
	// Source is the file in the workspace, Line the line in it, from 1.
	Source string
	Line   int
	Text   string
	// Time is the day of the file; zero for MEMORY.md.
	Time time.Time
}

// Notes reads the notes of a workspace.
func Notes(w *Workspace) ([]Note, error) { return nil, nil }

// Hit is something that was found.
type Hit struct {
	// Source is what it was found in, such as a file or a session; Where is the
	// place in it, such as a line or an entry; it may be empty.
	Source, Where string
	Text          string
	// Time is when it was said, zero if not known.
	Time time.Time
}

// Search finds what fits a query, the best first, at most limit of it.
type Search func(ctx context.Context, query string, limit int) ([]Hit, error)

// Recall is the tool recall.
func Recall(search Search) Tool { return nil }

// SearchNotes searches the notes of a workspace.
func SearchNotes(w *Workspace) Search { return nil }
