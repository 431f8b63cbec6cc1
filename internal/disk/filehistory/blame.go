package filehistory

import (
	"firn.dev"
	"firn.dev/internal/base/linediff"
)

// Origin is where a line of a file came from.
type Origin struct {
	// Session is empty if the line was there before, or was written by something else.
	Session firn.ID `json:"session,omitempty"`
	Change  *Change `json:"change,omitempty"`
}

// SessionChange is a change with its session.
type SessionChange struct {
	Session firn.ID
	Change
}

// Blame returns for each line of a text the change that wrote it. The changes are those of
// one file, oldest first. Lines are followed through later changes and through edits made
// by something else. A rewind gives lines back the origin that they had. Content returns the content of a state, or false if it is not stored.
func Blame(text string, changes []SessionChange, content func(SessionChange, State) (string, bool)) []Origin {
	type version struct {
		lines   []string
		origins []Origin
	}
	var lines []string
	var origins []Origin
	versions := make(map[string]version) // by hash
	follow := func(to string, o Origin) {
		next := linediff.Lines(to)
		moved := make([]Origin, 0, len(next))
		at := 0
		for _, h := range linediff.Hunks(lines, next) {
			moved = append(moved, origins[at:h.OldStart]...)
			for range h.NewEnd - h.NewStart {
				moved = append(moved, o)
			}
			at = h.OldEnd
		}
		lines, origins = next, append(moved, origins[at:]...)
	}
	for i := range changes {
		c := &changes[i]
		before, ok := content(*c, c.Before)
		if !ok {
			continue
		}
		follow(before, Origin{})
		versions[c.Before.Hash] = version{lines, origins}
		if c.After == nil {
			continue
		}
		if old, ok := versions[c.After.Hash]; ok && c.Entry == "" { // a rewind
			lines, origins = old.lines, old.origins
			continue
		}
		if after, ok := content(*c, *c.After); ok {
			follow(after, Origin{Session: c.Session, Change: &c.Change})
			versions[c.After.Hash] = version{lines, origins}
		}
	}
	follow(text, Origin{})
	return origins
}
