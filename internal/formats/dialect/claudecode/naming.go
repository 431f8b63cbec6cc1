package claudecode

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode/utf16"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// longestName is the maximum length of a directory's name in the name of its project
// folder, before the hash.
const longestName = 200

// projectDir returns the folder name for a directory: each UTF-16 unit other than an ASCII
// letter or digit becomes a dash. Long names are truncated and a hash of the whole name is
// appended.
func projectDir(cwd string) string {
	if cwd == "" {
		cwd = "/"
	}
	units := utf16.Encode([]rune(cwd))
	var b strings.Builder
	var hash int32
	for _, u := range units {
		hash = hash<<5 - hash + int32(u)
		if u < 0x80 && isWord(byte(u)) {
			b.WriteByte(byte(u))
		} else {
			b.WriteByte('-')
		}
	}
	name := b.String()
	if len(name) <= longestName {
		return name
	}
	h := int64(hash)
	if h < 0 {
		h = -h
	}
	return name[:longestName] + "-" + strconv.FormatInt(h, 36)
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// isProject reports whether a folder name encodes an absolute path of Unix or of Windows
// with a drive.
func isProject(name string) bool {
	return isFolded(name) && (strings.HasPrefix(name, "-") || len(name) >= 3 && name[1:3] == "--")
}

// isFolded reports whether a name has only the characters of project names. Cersei stores
// other folders next to them.
func isFolded(name string) bool {
	for i := range len(name) {
		if name[i] != '-' && !isWord(name[i]) {
			return false
		}
	}
	return name != ""
}

// longDir returns the existing folder for a directory with a long name: builds of Claude
// Code differ in the hash suffix.
func longDir(dirs []fs.DirEntry, dir string) string {
	name := path.Base(dir)
	found := ""
	for _, d := range dirs {
		switch {
		case d.Name() == name:
			return dir
		case found == "" && d.IsDir() && strings.HasPrefix(d.Name(), name[:longestName+1]):
			found = d.Name()
		}
	}
	if found == "" {
		return dir
	}
	return path.Join(projects, found)
}

// sessionUUID returns Claude Code's ID for a session: it accepts only UUIDs.
func sessionUUID(id firn.ID) string { return dialect.UUID("claudecode", string(id)) }

// sessionOf returns Claude Code's ID for the target session.
func sessionOf(to dialect.Target) string {
	if to.As != "" {
		return to.As
	}
	return sessionUUID(to.Session)
}

// isSubPath reports whether a file is a sub-agent's.
func isSubPath(file string) bool {
	return strings.HasPrefix(path.Base(file), agentStem) || strings.Contains("/"+path.Dir(file)+"/", "/"+subagents+"/")
}
