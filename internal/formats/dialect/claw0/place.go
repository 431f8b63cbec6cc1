package claw0

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// maxTries bounds the search for a name that is free.
const maxTries = 1000

// Place names the file of a new session: by its key and an id in the first
// version, by the id in the current one.
func (l layout) Place(home fs.FS, to dialect.Target) (string, error) {
	base := baseOf(home)
	id := shortID(to.Session)
	for n := 2; n < maxTries; n++ {
		name := path.Join(base, "transcripts", fileSafe(keyOf(to, ""), 150)+"_"+id+extension)
		if l.options.Current {
			name = path.Join(base, "agents", agentOf(to), "sessions", id+extension)
		}
		if !taken(home, name) {
			return name, nil
		}
		id = shortID(firn.ID(fmt.Sprintf("%s/%d", to.Session, n))) // which is no id, so one is made
	}
	return "", fmt.Errorf("placing session %s for claw0: %w: there are too many of that name", to.Session, firn.ErrConflict)
}

// taken reports whether there is a file of that name, in whatever case.
func taken(home fs.FS, name string) bool {
	entries, _ := fs.ReadDir(home, path.Dir(name))
	for _, e := range entries {
		if strings.EqualFold(e.Name(), path.Base(name)) {
			return true
		}
	}
	return false
}

// longestID is how long an id may be to be part of a name with a key in it.
const longestID = 64

// shortID is what claw0 calls a session. It takes any id, so that the session
// is known by its own; where that cannot be, it is made as claw0 makes them, of
// twelve hexadecimal digits.
func shortID(session firn.ID) string {
	if session.Check() == nil && len(session) <= longestID {
		return string(session)
	}
	return strings.ReplaceAll(dialect.UUID(string(dialect.Claw0), "session/"+string(session)), "-", "")[:12]
}

// keyOf is the key that claw0 finds a session by. A session without one gets
// one of its own, as its command /new does.
func keyOf(to dialect.Target, key string) string {
	if key = orElse(to.Key, key); key != "" {
		return theirKey(key)
	}
	return agentOf(to) + ":cli:user_" + shortID(to.Session)
}

// agentOf is the agent whose session it is, as the name of a folder.
func agentOf(to dialect.Target) string {
	return orElse(strings.Trim(fileSafe(strings.ToLower(to.Agent), 64), "."), "main")
}

// fileSafe makes a text fit for the name of a file, of at most that many bytes.
// claw0 itself only replaces colons; who has other such characters in a key
// cannot open the file on every system.
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
