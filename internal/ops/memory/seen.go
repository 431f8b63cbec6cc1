package memory

import (
	"encoding/json"
	"fmt"

	"firn.dev"
)

// seenFile records the conversations that consolidations have examined. It only saves work
// and is not part of a change: without it all are examined again from where the last
// extraction ended.
const seenFile = ".dreamt.json"

// seen holds the state of conversations at their last examination. It does not rely on
// times: an old conversation may have been imported today, and one consolidation does not
// examine all of them.
type seen map[firn.ID]glance

// glance is the examined state of a conversation: its mark, and whether it was skipped, so
// that it is tried again even if unchanged.
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

// changed reports whether a conversation has changed since it was last examined.
func (s seen) changed(id firn.ID, mark string) bool {
	known, ok := s[id]
	return !ok || mark == "" || known.Mark != mark
}

// writeSeen stores the examined states. The caller holds the lock.
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
		return fmt.Errorf("record which conversations were read: %w", err)
	}
	return nil
}

// forgetSeen removes the record of a conversation. The caller holds the lock.
func (d *Dir) forgetSeen(id firn.ID) error {
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

// news holds the conversations to examine.
type news struct {
	// sessions are the conversations to examine, changed ones first; fresh is the number of
	// changed ones.
	sessions []Session
	fresh    int
	// seen holds the states of all listed conversations. Others are dropped.
	seen seen
}

// newsOf returns the listed conversations that have not been examined in their current
// state.
func newsOf(before seen, list func(ChangeFilter) ([]Session, error)) (news, error) {
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
