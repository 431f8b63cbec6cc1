// Package adopt mirrors the session folders of other tools on this machine, so that no
// tool's cleanup deletes them. The originals are only read.
package adopt

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"firn.dev/internal/formats/dialect"
)

// Found is a folder of a tool.
type Found struct {
	Tool dialect.Tool
	// Home is its path.
	Home string
	// Sessions is the number of sessions, Subs the number of those that belong to
	// sub-agents. Bytes is the total size of their Files.
	Sessions, Subs, Files int
	Bytes                 int64
	// Oldest and Newest are times of the last write to a session.
	Oldest, Newest time.Time
	// Retention is the age at which the tool deletes sessions; 0 means never.
	Retention time.Duration
	// Faults describes the files that could not be interpreted.
	Faults []string
}

// Find returns the folders of tools below a user's home directory and in the directories
// that others gives for each tool.
func Find(ctx context.Context, user string, tools []dialect.Tool, others map[dialect.Name]string) ([]Found, error) {
	var all []Found
	for _, tool := range tools {
		for _, home := range homes(user, tool, others) {
			tree := os.DirFS(home)
			if !tool.Layout().Owns(tree) {
				continue
			}
			found, err := Inspect(ctx, home, tool)
			if err != nil {
				return all, err
			}
			_, viewed := tool.(dialect.Viewer)
			if found.Sessions > 0 || viewed && len(found.Faults) > 0 {
				all = append(all, found)
			}
		}
	}
	return all, nil
}

// EnclosingHome returns the folder of a tool, or a location where a tool would have its folder,
// that contains dir. Callers use it to avoid writing there.
func EnclosingHome(dir, user string, tools []dialect.Tool, others map[dialect.Name]string, found []Found) (home string, ok bool) {
	var all []string
	for _, tool := range tools {
		if !inProjects(tool) {
			all = append(all, homes(user, tool, others)...)
		}
	}
	for _, f := range found {
		if !inProjects(f.Tool) {
			all = append(all, f.Home)
		}
	}
	dir = resolved(dir)
	for _, home := range all {
		if rel, err := filepath.Rel(resolved(home), dir); err == nil && filepath.IsLocal(rel) {
			return home, true
		}
	}
	return "", false
}

// inProjects reports whether the folders of a tool are directories of projects, in which
// others may write.
func inProjects(tool dialect.Tool) bool {
	f, ok := tool.Layout().(dialect.Finder)
	return ok && f.InProjects()
}

// resolved returns a path with symbolic links resolved, as far as it exists.
func resolved(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	if parent := filepath.Dir(name); parent != name {
		return filepath.Join(resolved(parent), filepath.Base(name))
	}
	return name
}

// homes lists the possible locations of a tool's folder.
func homes(user string, tool dialect.Tool, others map[dialect.Name]string) []string {
	if home := others[tool.Name()]; home != "" {
		return []string{home}
	}
	var list []string
	for _, name := range tool.Layout().Homes() {
		list = append(list, filepath.Join(user, filepath.FromSlash(name)))
	}
	if f, ok := tool.Layout().(dialect.Finder); ok {
		for _, home := range f.FindHomes(os.DirFS(user)) {
			if !filepath.IsAbs(home) {
				home = filepath.Join(user, filepath.FromSlash(home))
			}
			if !slices.Contains(list, home) {
				list = append(list, home)
			}
		}
	}
	return list
}

// Inspect describes a tool's folder without opening transcripts.
func Inspect(ctx context.Context, home string, tool dialect.Tool) (Found, error) {
	f := Found{Tool: tool, Home: home}
	tree := dialect.Tree(tool, os.DirFS(home))
	f.Retention = tool.Layout().Retention(tree)
	for t, err := range tool.Layout().Transcripts(tree) {
		if ctx.Err() != nil {
			return f, ctx.Err()
		}
		if err != nil {
			f.Faults = append(f.Faults, faultText(err))
			continue
		}
		f.add(tree, t)
	}
	return f, nil
}

// faultText returns the text of an error, with the path of the file once.
func faultText(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) && strings.Contains(at.Err.Error(), at.Path) {
		return at.Err.Error()
	}
	return err.Error()
}

func (f *Found) add(tree fs.FS, t dialect.Transcript) {
	f.Sessions++
	if t.Sub {
		f.Subs++
	}
	for _, part := range t.Parts {
		info, err := fs.Stat(tree, part)
		if err != nil {
			continue // it was deleted meanwhile
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

// Next returns the time when the tool will delete the oldest session, if it does.
func (f *Found) Next() (time.Time, bool) {
	if f.Retention == 0 || f.Oldest.IsZero() {
		return time.Time{}, false
	}
	return f.Oldest.Add(f.Retention), true
}
