package store

import (
	"encoding/json"
	"slices"

	"firn.dev"
)

// Checkpoint is the state of a session that a list shows and that any entry can have
// settled, however long ago. An entry of type [firn.CountersType] carries it in its
// member "names". A reader needs the header, the latest checkpoint and the entries
// behind it to know what all entries say, and never guesses: without a checkpoint it
// reads the whole session.
//
// The zero value is the state before the first entry.
type Checkpoint struct {
	Names
	// Prompted reports whether the user has said something in words. The text is not copied:
	// it stands near the beginning, and purging it there must be enough.
	Prompted bool `json:"prompted,omitempty"`
	// Directories are those that messages say they were said in, each once, the latest last.
	// Only the latest [mostDirectories] are kept.
	Directories []string `json:"directories,omitempty"`
	// Hiding are the tombstones that decide whether the session is hidden, in order:
	// those of the session itself and of each other.
	Hiding []Hiding `json:"hiding,omitempty"`
	// Keys are the keys that point at the session, as far as its entries say.
	Keys []Claim `json:"keys,omitempty"`
	// Complete is set if the state is that of all entries before it.
	Complete bool `json:"complete,omitempty"`
}

// Hiding is a tombstone of a session, or of such a tombstone.
type Hiding struct {
	ID     firn.EntryID `json:"id"`
	Target firn.EntryID `json:"target"`
}

// Bounds of a checkpoint. A session with more has none, and is read as a whole.
const (
	mostHidings = 64
	mostClaims  = 64
)

// mostDirectories is how many directories of a session are kept.
const mostDirectories = 16

// See applies the next entry of the session.
func (c *Checkpoint) See(session firn.ID, e firn.Entry) {
	switch b := e.Body.(type) {
	case *firn.Header:
		if b.Key != "" {
			c.Keys = addClaim(c.Keys, b.Key, e.Time.UnixMilli())
		}
	case *firn.Message:
		c.Prompted = c.Prompted || b.Role == firn.RoleUser && b.Text() != ""
		c.enter(firn.DirectoryOf(e))
	case *firn.Tombstone:
		c.hide(session, e.ID, b.Target)
	case *firn.Title:
		c.Names.See(e)
	case *firn.Custom:
		if all, ok := CheckpointOf(b); ok {
			*c = all
			return
		}
		c.Names.See(e)
		if change, ok := keyChangeOf(b); ok {
			c.Keys = change.apply(c.Keys, e.Time.UnixMilli())
		}
	}
}

// enter notes a directory that a message was said in.
func (c *Checkpoint) enter(dir string) {
	if dir == "" || len(c.Directories) > 0 && c.Directories[len(c.Directories)-1] == dir {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(c.Directories), func(other string) bool { return other == dir })
	kept = append(kept, dir)
	c.Directories = kept[max(0, len(kept)-mostDirectories):]
}

// hide notes a tombstone if it can decide whether the session is hidden.
func (c *Checkpoint) hide(session firn.ID, id, target firn.EntryID) {
	known := func(h Hiding) bool { return h.ID == target }
	if target == firn.EntryID(session) || slices.ContainsFunc(c.Hiding, known) {
		c.Hiding = append(slices.Clip(c.Hiding), Hiding{id, target})
	}
}

// Hidden reports whether a tombstone that is not itself hidden has the session as
// its target.
func (c *Checkpoint) Hidden(session firn.ID) bool {
	hidden := make(map[firn.EntryID]bool, len(c.Hiding))
	for _, h := range slices.Backward(c.Hiding) { // a tombstone stands behind its target
		if !hidden[h.ID] {
			hidden[h.Target] = true
		}
	}
	return hidden[firn.EntryID(session)]
}

// Seal returns the checkpoint as an entry carries it, if the state is that of all
// entries: then it is complete, unless there is too much of it.
func (c Checkpoint) Seal() Checkpoint {
	c.Complete = len(c.Hiding) <= mostHidings && len(c.Keys) <= mostClaims
	return c
}

// CheckpointOf returns the checkpoint that an entry carries, if it carries one that
// is complete, with counts that are believed.
func CheckpointOf(b *firn.Custom) (Checkpoint, bool) {
	if b.Type != firn.CountersType {
		return Checkpoint{}, false
	}
	if _, ok := CountsOf(b); !ok {
		return Checkpoint{}, false
	}
	var data struct {
		Names json.RawMessage `json:"names"`
	}
	var c Checkpoint
	if json.Unmarshal(b.Data, &data) != nil || len(data.Names) == 0 || json.Unmarshal(data.Names, &c) != nil || !c.Complete {
		return Checkpoint{}, false
	}
	c.Title, _ = firn.CleanText(c.Title)
	// Anybody can write a file: what cannot be a tag or a key is none here either.
	c.Tags, _ = TagsOf(&firn.Custom{Type: firn.TagsType, Data: data.Names})
	c.Directories = slices.DeleteFunc(c.Directories, func(dir string) bool { return !firn.ValidDirectory(dir) })
	c.Directories = c.Directories[max(0, len(c.Directories)-mostDirectories):]
	c.Keys = slices.DeleteFunc(c.Keys, func(k Claim) bool { return CheckKey(k.Key) != nil })
	return c, true
}
