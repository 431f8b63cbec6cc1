// Package aider reads the chat histories of Aider.
//
// Aider appends to a Markdown file in the directory of a project. A run of Aider begins with a
// heading, "# aider chat started at …", and is a session. Prompts are lines that begin with
// "#### ", notices of Aider lines that begin with "> ", both ending with two spaces; everything
// else is the model's. A second file has the prompts with their times.
package aider

import (
	"fmt"
	"io/fs"
	"iter"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// The files of a project: the chats, and the prompts with their times.
const (
	chatFile   = ".aider.chat.history.md"
	promptFile = ".aider.input.history"
)

// New returns the tool.
func New() history.Tool {
	return history.New(history.Format{
		Name: dialect.Aider, FindHomes: projects, InProjects: true, Source: source{},
		Decoder: func() history.Decoder { return &decoder{} },
		Resume:  func(string) []string { return []string{"aider", "--restore-chat-history"} },
	})
}

// The limits of the search for projects.
const (
	maxDepth = 5
	maxDirs  = 50_000
)

// skipped are directories that hold no projects, or very many files. Hidden ones are skipped too.
var skipped = []string{"node_modules", "vendor", "target", "dist", "build", "venv", "__pycache__", "go", "Library", "AppData", "Applications", "Movies", "Music", "Pictures"}

// guarded are directories in a home directory for which macOS would ask the user.
var guarded = []string{"Desktop", "Documents", "Downloads"}

// projects returns the directories below a user's home directory that have a chat history,
// relative to it.
func projects(user fs.FS) (homes []string) {
	seen := 0
	_ = fs.WalkDir(user, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir // a directory that cannot be read has no projects for us
		case !e.IsDir():
			if e.Name() == chatFile && e.Type().IsRegular() {
				homes = append(homes, path.Dir(name))
			}
			return nil
		}
		seen++
		base := path.Base(name)
		switch {
		case seen > maxDirs:
			return fs.SkipAll
		case name == ".":
		case strings.HasPrefix(base, "."), slices.Contains(skipped, base), strings.Count(name, "/") >= maxDepth,
			runtime.GOOS == "darwin" && slices.Contains(guarded, name):
			return fs.SkipDir
		}
		return nil
	})
	return homes
}

// source finds the runs in the history of a project.
type source struct{}

// Owns reports whether a directory has a chat history.
func (source) Owns(home fs.FS) bool {
	info, err := fs.Stat(home, chatFile)
	return err == nil && info.Mode().IsRegular()
}

// Files lists the two files.
func (source) Files(home fs.FS) (names []string) {
	for _, name := range []string{chatFile, promptFile} {
		if history.Exists(home, name) {
			names = append(names, name)
		}
	}
	return names
}

// Sessions yields the runs.
func (source) Sessions(home fs.FS) iter.Seq2[history.Session, error] {
	return history.Each([]string{chatFile}, func(name string) ([]history.Session, error) {
		data, err := fs.ReadFile(home, name)
		if err != nil {
			return nil, err
		}
		var sessions []history.Session
		prompts := readPrompts(home)
		all := split(string(data))
		for i := range all {
			if s, ok := all[i].session(prompts); ok {
				sessions = append(sessions, s)
			}
		}
		if n := len(sessions); n > 0 {
			if info, err := fs.Stat(home, name); err == nil && all[len(all)-1].firstPrompt != "" {
				sessions[n-1].Updated = info.ModTime().UTC().Truncate(time.Millisecond) // the last run
			}
		}
		return sessions, nil
	})
}

// id returns the ID of a run, which Aider does not give it: it is made from its time and the
// first line of its first prompt.
func (r *run) id() string {
	return dialect.UUID(string(dialect.Aider), fmt.Sprintf("%s\x00%s", r.started, r.firstPrompt))
}
