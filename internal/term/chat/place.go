package chat

import (
	"path/filepath"
	"strings"

	"firn.dev/internal/base/route"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// Place describes where a session belongs, in at most width characters: its key, for a
// project the project's directory, marked if the key points at the session, or without a key
// its working directory. The user's home directory is displayed as ~. Of a long directory the
// end is shown.
func Place(s wire.Session, user string, width int) string {
	if s.Key == "" {
		return cutDirectory(abbreviateHome(s.CWD, user), width)
	}
	if k, err := route.Parse(s.Key); err == nil {
		if dir := route.ProjectDir(k); dir != "" {
			label := "project:"
			if !s.Current { // a newer session has the key
				label = ""
			}
			return label + cutDirectory(abbreviateHome(dir, user), width-len(label))
		}
	}
	return prose.OneLine(strings.TrimPrefix(s.Key, "agent:"), width)
}

// ShortKey shortens a key to width characters. Of a project's directory it keeps the end.
func ShortKey(key string, width int) string {
	if k, err := route.Parse(key); err == nil && k.Kind() == route.KindProject && len(key) > width {
		label := "agent:" + k.Agent() + ":" + string(route.KindProject) + ":"
		return label + cutDirectory(strings.TrimPrefix(key, label), max(width-len(label), 1))
	}
	return prose.OneLine(key, width)
}

// pathIn returns a path relative to a directory if it is in it.
func pathIn(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); dir != "" && err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// abbreviateHome replaces the user's home directory at the start of a path with ~.
func abbreviateHome(dir, user string) string {
	if user != "" && (dir == user || strings.HasPrefix(dir, user+string(filepath.Separator))) {
		return "~" + strings.TrimPrefix(dir, user)
	}
	return dir
}

// cutDirectory shortens a path to its end, if possible at a separator.
func cutDirectory(dir string, width int) string {
	runes := []rune(prose.Clean(dir))
	if len(runes) <= width {
		return string(runes)
	}
	end := string(runes[len(runes)-width+1:])
	if i := strings.IndexAny(end, `/\`); i > 0 && i < len(end)-1 {
		end = end[i:]
	}
	return "…" + end
}
