package claw0

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// maxTries limits the search for an unused name.
const maxTries = 1000

// Place returns the path of a new session: named by its key and an ID in the first version,
// by the ID in the current one.
func (l layout) Place(home fs.FS, to dialect.Target) (string, error) {
	base := baseOf(home)
	id := shortID(to.Session)
	for n := 2; n < maxTries; n++ {
		name := path.Join(base, "transcripts", fileSafe(keyOf(to, ""), 150)+"_"+id+extension)
		if l.options.Current {
			name = path.Join(base, "agents", agentOf(to), "sessions", id+extension)
		}
		if !fileExists(home, name) {
			return name, nil
		}
		id = shortID(firn.ID(fmt.Sprintf("%s/%d", to.Session, n))) // not a valid session ID, so one is derived from it
	}
	return "", fmt.Errorf("placing session %s for claw0: %w: too many sessions have this name", to.Session, firn.ErrConflict)
}

// fileExists reports whether there is a file of this name, ignoring case.
func fileExists(home fs.FS, name string) bool {
	entries, _ := fs.ReadDir(home, path.Dir(name))
	for _, e := range entries {
		if strings.EqualFold(e.Name(), path.Base(name)) {
			return true
		}
	}
	return false
}

// longestID is the maximum length of an ID in a file name with a key.
const longestID = 64

// shortID returns claw0's ID of a session. claw0 accepts any ID, so this is firn's own if
// possible, otherwise twelve hexadecimal digits as in claw0.
func shortID(session firn.ID) string {
	if session.Check() == nil && len(session) <= longestID {
		return string(session)
	}
	return strings.ReplaceAll(dialect.UUID(string(dialect.Claw0), "session/"+string(session)), "-", "")[:12]
}

// keyOf returns claw0's key of a session. A session without a key gets a unique one, as
// with the command /new.
func keyOf(to dialect.Target, key string) string {
	if key = orElse(to.Key, key); key != "" {
		return toClaw0Key(key)
	}
	return agentOf(to) + ":cli:user_" + shortID(to.Session)
}

// agentOf returns the agent of the session as a folder name.
func agentOf(to dialect.Target) string {
	return orElse(strings.Trim(fileSafe(strings.ToLower(to.Agent), 64), "."), "main")
}

// fileSafe converts a text to a part of a file name of at most most bytes. claw0 itself
// replaces only colons; keys with other special characters do not work on every system.
func fileSafe(text string, most int) string {
	safe := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("-_.@+=", c):
			return c
		}
		return '_'
	}, text)
	return firn.CutText(safe, most)
}
