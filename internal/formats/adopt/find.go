// Package adopt mirrors the folders in which other tools keep their sessions, as
// far as it finds them on this machine, so that no tool's timer takes them away.
// The originals are only ever read.
package adopt

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"firn.dev/internal/formats/dialect"
)

// Found is a folder of a tool.
type Found struct {
	Tool dialect.Tool
	// Home is where it is.
	Home string
	// Sessions, of which Subs are those of sub-agents, take Bytes in Files.
	Sessions, Subs, Files int
	Bytes                 int64
	// Oldest and Newest are when a session was last written.
	Oldest, Newest time.Time
	// Keeps is after how long the tool deletes sessions by itself; 0 is never.
	Keeps time.Duration
	// Faults are what could not be made sense of, in words.
	Faults []string
}

// Find looks for the folders of tools below a user's home directory, and in the
// directories that others names for a tool.
func Find(ctx context.Context, user string, tools []dialect.Tool, others map[dialect.Name]string) ([]Found, error) {
	var all []Found
	for _, tool := range tools {
		for _, home := range homes(user, tool, others) {
			tree := os.DirFS(home)
			if !tool.Layout().Owns(tree) {
				continue
			}
			found, err := Look(ctx, home, tool)
			if err != nil {
				return all, err
			}
			if found.Sessions > 0 {
				all = append(all, found)
			}
		}
	}
	return all, nil
}

// Within finds the folder of a tool, or a place where a tool has its folder if it
// is used, in which a directory lies that we want to write to.
func Within(dir, user string, tools []dialect.Tool, others map[dialect.Name]string, found []Found) (home string, ok bool) {
	var all []string
	for _, tool := range tools {
		all = append(all, homes(user, tool, others)...)
	}
	for _, f := range found {
		all = append(all, f.Home)
	}
	dir = resolved(dir)
	for _, home := range all {
		if rel, err := filepath.Rel(resolved(home), dir); err == nil && filepath.IsLocal(rel) {
			return home, true
		}
	}
	return "", false
}

// resolved is a path without links, as far as there is something at it.
func resolved(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	if parent := filepath.Dir(name); parent != name {
		return filepath.Join(resolved(parent), filepath.Base(name))
	}
	return name
}

// homes lists where a tool's folder may be.
func homes(user string, tool dialect.Tool, others map[dialect.Name]string) []string {
	if home := others[tool.Name()]; home != "" {
		return []string{home}
	}
	var list []string
	for _, name := range tool.Layout().Homes() {
		list = append(list, filepath.Join(user, filepath.FromSlash(name)))
	}
	return list
}

// Look tells what is in a tool's folder, without opening a transcript.
func Look(ctx context.Context, home string, tool dialect.Tool) (Found, error) {
	f := Found{Tool: tool, Home: home}
	tree := os.DirFS(home)
	f.Keeps = tool.Layout().Keeps(tree)
	for t, err := range tool.Layout().Transcripts(tree) {
		if ctx.Err() != nil {
			return f, ctx.Err()
		}
		if err != nil {
			f.Faults = append(f.Faults, err.Error())
			continue
		}
		f.add(tree, t)
	}
	return f, nil
}

func (f *Found) add(tree fs.FS, t dialect.Transcript) {
	f.Sessions++
	if t.Sub {
		f.Subs++
	}
	for _, part := range t.Parts {
		info, err := fs.Stat(tree, part)
		if err != nil {
			continue // it went away since
		}
		f.Files++
		f.Bytes += info.Size()
		if at := info.ModTime(); f.Oldest.IsZero() || at.Before(f.Oldest) {
			f.Oldest = at
		}
		if at := info.ModTime(); at.After(f.Newest) {
			f.Newest = at
		}
	}
}

// Next is when the tool will delete the oldest session, if it does.
func (f *Found) Next() (time.Time, bool) {
	if f.Keeps == 0 || f.Oldest.IsZero() {
		return time.Time{}, false
	}
	return f.Oldest.Add(f.Keeps), true
}
