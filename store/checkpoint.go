package store

import (
	"encoding/json"
	"slices"

	"firn.dev"
)

// Checkpoint is the session state shown in lists that depends on entries anywhere in the
// session. An entry of type [firn.CountersType] carries it in its member "names". With the
// header, the latest checkpoint and the entries after it, a reader knows the state without
// reading the rest. Without a checkpoint it reads the whole session.
//
// The zero value is the state before the first entry.
type Checkpoint struct {
	Names
	// Prompted reports whether the user has sent any text. The text itself is not copied,
	// so that purging the message erases all of it.
	Prompted bool `json:"prompted,omitempty"`
	// Directories are the working directories recorded in messages, without duplicates,
	// latest last. Only the latest [maxDirectories] are kept.
	Directories []string `json:"directories,omitempty"`
	// Hiding are the tombstones that determine whether the session is hidden, in order:
	// those that target the session and those that target another one of the list.
	Hiding []Hiding `json:"hiding,omitempty"`
	// Keys are the keys bound to the session according to its entries.
	Keys []Claim `json:"keys,omitempty"`
	// Complete is set if the checkpoint covers all entries before it.
	Complete bool `json:"complete,omitempty"`
}

// Hiding is a tombstone that targets a session or another such tombstone.
type Hiding struct {
	ID     firn.EntryID `json:"id"`
	Target firn.EntryID `json:"target"`
}

// Limits of a checkpoint. A session that exceeds them has no checkpoint and is read
// completely.
const (
	maxTombstones = 64
	maxClaims     = 64
)

// maxDirectories is the number of directories kept per session.
const maxDirectories = 16

// See applies the next entry of the session.
func (c *Checkpoint) See(session firn.ID, e firn.Entry) {
	switch b := e.Body.(type) {
	case *firn.Header:
		if b.Key != "" {
			c.Keys = addClaim(c.Keys, b.Key, e.Time.UnixMilli())
		}
	case *firn.Message:
		c.Prompted = c.Prompted || b.Role == firn.RoleUser && b.Text() != ""
		c.addDirectory(firn.DirectoryOf(e))
	case *firn.Tombstone:
		c.addTombstone(session, e.ID, b.Target)
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

// addDirectory moves a directory to the end of the list.
func (c *Checkpoint) addDirectory(dir string) {
	if dir == "" || len(c.Directories) > 0 && c.Directories[len(c.Directories)-1] == dir {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(c.Directories), func(other string) bool { return other == dir })
	kept = append(kept, dir)
	c.Directories = kept[max(0, len(kept)-maxDirectories):]
}

// addTombstone records a tombstone that can affect whether the session is hidden.
func (c *Checkpoint) addTombstone(session firn.ID, id, target firn.EntryID) {
	known := func(h Hiding) bool { return h.ID == target }
	if target == firn.EntryID(session) || slices.ContainsFunc(c.Hiding, known) {
		c.Hiding = append(slices.Clip(c.Hiding), Hiding{id, target})
	}
}

// Hidden reports whether the session is the target of a tombstone that is not hidden
// itself.
func (c *Checkpoint) Hidden(session firn.ID) bool {
	hidden := make(map[firn.EntryID]bool, len(c.Hiding))
	for _, h := range slices.Backward(c.Hiding) { // a tombstone follows its target
		if !hidden[h.ID] {
			hidden[h.Target] = true
		}
	}
	return hidden[firn.EntryID(session)]
}

// Seal returns the checkpoint of a state that covers all entries, in the form stored in an
// entry. Complete is set unless the checkpoint exceeds its limits.
func (c Checkpoint) Seal() Checkpoint {
	c.Complete = len(c.Hiding) <= maxTombstones && len(c.Keys) <= maxClaims
	return c
}

// CheckpointOf returns the checkpoint of an entry. It returns false if the checkpoint is
// missing or incomplete, or if the counts are not plausible.
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
	// The file may have been written by other software: drop invalid tags, directories and
	// keys.
	c.Tags, _ = TagsOf(&firn.Custom{Type: firn.TagsType, Data: data.Names})
	c.Directories = slices.DeleteFunc(c.Directories, func(dir string) bool { return !firn.ValidDirectory(dir) })
	c.Directories = c.Directories[max(0, len(c.Directories)-maxDirectories):]
	c.Keys = slices.DeleteFunc(c.Keys, func(k Claim) bool { return CheckKey(k.Key) != nil })
	return c, true
}
