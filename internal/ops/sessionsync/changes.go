package sessionsync

import (
	"cmp"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/store"
)

// SessionChange is what a sync changed about a session besides its conversation: titles, tags, keys,
// labels, hidden entries, and whether it is archived, removed or purged.
type SessionChange struct {
	Session firn.ID `json:"session"`
	// What are the kinds of changes, such as "title" or "archived".
	What []string `json:"what"`
	// Published is set for a change of this machine, which other machines get.
	Published bool `json:"published,omitempty"`
}

// direction returns a word that sorts imported changes before published ones.
func (c *SessionChange) direction() string {
	if c.Published {
		return "published"
	}
	return "imported"
}

// changeTable collects the changes of a sync.
type changeTable struct {
	all map[changed]*SessionChange
	// grew are the sessions whose conversation grew. Their records are not listed.
	grew map[changed]bool
	// observed are the changes that users of this machine made to marks.
	observed map[firn.ID][]string
}

// changed is a session in one direction.
type changed struct {
	id        firn.ID
	published bool
}

func newChangeTable() changeTable {
	return changeTable{make(map[changed]*SessionChange), make(map[changed]bool), make(map[firn.ID][]string)}
}

// add adds kinds of changes.
func (t *changeTable) add(id firn.ID, published bool, what ...string) {
	key := changed{id, published}
	for _, kind := range what {
		c := t.all[key]
		if c == nil {
			c = &SessionChange{Session: id, Published: published}
			t.all[key] = c
		}
		if !slices.Contains(c.What, kind) {
			c.What = append(c.What, kind)
		}
	}
}

// addEntry adds an entry that was imported or published.
func (t *changeTable) addEntry(id firn.ID, published bool, it *item) {
	switch {
	case !it.record && !it.moves:
		t.grew[changed{id, published}] = true
	case it.kind != "":
		t.add(id, published, it.kind)
	}
}

// list returns the changes by session. Records that came with messages are left out.
func (t *changeTable) list() []SessionChange {
	var all []SessionChange
	for key, c := range t.all {
		if !t.grew[key] {
			all = append(all, *c)
		}
	}
	slices.SortFunc(all, func(a, b SessionChange) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), strings.Compare(a.direction(), b.direction()))
	})
	return all
}

// recordKind returns the word for a record; empty if users do not know it.
func recordKind(e *firn.Entry) string {
	switch b := e.Body.(type) {
	case *firn.Title:
		return "title"
	case *firn.Label:
		return "label"
	case *firn.Tombstone:
		return "hidden or restored entry"
	case *firn.Head:
		return "rewound"
	case *firn.Custom:
		return map[string]string{store.KeyType: "key", firn.TagsType: "tags", "firn.reset": "key"}[b.Type]
	}
	return ""
}

// markWords describes what turns the marks of a session into other ones.
func markWords(archived, removed bool, want Marks, erase int) []string {
	var words []string
	if want.Purged {
		return []string{"purged"}
	}
	if archived != want.Archived {
		words = append(words, map[bool]string{true: "archived", false: "unarchived"}[want.Archived])
	}
	if removed != want.Removed {
		words = append(words, map[bool]string{true: "moved to the trash bin", false: "restored"}[want.Removed])
	}
	if erase > 0 {
		words = append(words, prose.Count(erase, "entry", "entries")+" purged")
	}
	return words
}

// isGone reports whether a session is in the trash bin or was purged, so that nothing of it can
// be continued.
func isGone(h store.Holding) bool { return h.Removed || h.Receipt != nil }
