package memory

import (
	"encoding/json"
	"fmt"

	"firn.dev"
)

// seenFile remembers which conversations dreams have looked through. It only
// saves work, and is no part of a change: without it all are looked through
// again, from where they were left.
const seenFile = ".dreamt.json"

// seen is how conversations were when a dream looked at them. It is not told by
// time: one from long ago may have come here today, and one dream does not get to
// see all of them.
type seen map[firn.ID]glance

// glance is what a dream saw of a conversation: its mark, and whether it had to
// be passed over, so that it is tried again though nothing changed.
type glance struct {
	Mark   string `json:"mark"`
	Passed bool   `json:"passed,omitempty"`
}

func (d *Dir) seen() (seen, error) {
	c, err := d.readState(seenFile)
	if err != nil {
		return nil, err
	}
	var s seen
	if json.Unmarshal([]byte(c.text), &s) != nil || s == nil {
		s = make(seen)
	}
	return s, nil
}

// changed reports whether a conversation is other than it was seen last.
func (s seen) changed(id firn.ID, mark string) bool {
	known, ok := s[id]
	return !ok || mark == "" || known.Mark != mark
}

// writeSeen keeps what was seen. The caller has the lock.
func (d *Dir) writeSeen(s seen) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	old, err := d.readState(seenFile)
	to := content{string(data) + "\n", true}
	if err != nil || old == to {
		return err
	}
	if err := d.writeContent(memoryDir+"/"+seenFile, to); err != nil {
		return fmt.Errorf("remember which conversations were looked through: %w", err)
	}
	return nil
}

// unsee forgets that a conversation was looked through. The caller has the lock.
func (d *Dir) unsee(id firn.ID) error {
	s, err := d.seen()
	if err != nil {
		return err
	}
	if _, ok := s[id]; !ok {
		return nil
	}
	delete(s, id)
	return d.writeSeen(s)
}

// news is what there is to look through.
type news struct {
	// sessions are to be looked at, those that changed first; fresh is how many
	// did.
	sessions []Session
	fresh    int
	// seen is what is known of all that were listed. Of others nothing needs to
	// be known.
	seen seen
}

// newsOf asks a lister for what a folder has not seen.
func newsOf(before seen, list func(News) ([]Session, error)) (news, error) {
	n := news{seen: make(seen)}
	found, err := list(func(id firn.ID, mark string) bool {
		if known, ok := before[id]; ok {
			n.seen[id] = known
		}
		return before.changed(id, mark) || before[id].Passed
	})
	if err != nil {
		return n, err
	}
	var passed []Session
	for _, s := range found {
		if before.changed(s.ID, s.Mark) {
			n.sessions = append(n.sessions, s)
		} else {
			passed = append(passed, s)
		}
	}
	n.fresh = len(n.sessions)
	n.sessions = append(n.sessions, passed...)
	return n, nil
}
