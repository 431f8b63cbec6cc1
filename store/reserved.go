package store

import (
	"fmt"
	"strings"

	"firn.dev"
)

// ownPrefix begins the types of custom entries that firn itself writes: what it
// counted, what waits, what was repaired, what a key did. docs/format.md lists them.
const ownPrefix = "firn."

// ownFields are extra fields of entries that only firn itself writes: what was
// accepted and is owed an answer, who asked, which messages became one, which request added it,
// and that its id breaks the order.
var ownFields = []string{"accepted", "asker", "collected", "delegated", "request", lateField}

// CheckOutside refuses an entry from outside that says what only firn itself may
// say: that something was erased, what was counted, what waits. Readers believe such
// entries. It is for those who take single entries from clients; a transcript that is
// imported, migrated or restored as a whole is history, and carries them.
func CheckOutside(e *firn.Entry) error {
	if e.Body == nil {
		return nil
	}
	what := ""
	switch b := e.Body.(type) {
	case *firn.Custom:
		what = ownType(b.Type)
	case *firn.CustomMessage:
		what = ownType(b.Type)
	case *firn.Opaque:
		if b.Type == firn.KindErased {
			what = "entries of type " + string(firn.KindErased)
		}
	}
	for _, name := range ownFields {
		if what == "" && (e.Extra.Get(name) != nil || opaqueHas(e, name)) {
			what = fmt.Sprintf("the member %q", name)
		}
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("only firn itself writes %s: %w", what, firn.ErrInvalid)
}

// ownType names a type of custom entries if it is one of ours.
func ownType(kind string) string {
	if !strings.HasPrefix(strings.ToLower(kind), ownPrefix) {
		return ""
	}
	return "custom entries of type " + kind
}

// opaqueHas reports whether the line of an entry of an unknown kind has a member.
func opaqueHas(e *firn.Entry, name string) bool {
	o, ok := e.Body.(*firn.Opaque)
	if !ok {
		return false
	}
	held, err := takeApart(o.Raw)
	return err == nil && held.rest.Get(name) != nil
}
