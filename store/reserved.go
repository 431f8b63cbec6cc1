package store

import (
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/syncmark"
)

// ownPrefix is the prefix of custom entry types that only firn writes. docs/format.md lists
// them.
const ownPrefix = "firn."

// ownFields are extra fields of entries that only firn writes.
var ownFields = []string{"accepted", "asker", "collected", "delegated", "request", lateField, syncmark.Field}

// CheckExternal rejects an entry from a client that uses a type or field reserved for firn,
// since readers trust those. It is meant for single entries. Transcripts that are imported,
// migrated or restored as a whole may contain such entries.
func CheckExternal(e *firn.Entry) error {
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

// ownType returns a custom entry type if it is reserved, else "".
func ownType(kind string) string {
	if !strings.HasPrefix(strings.ToLower(kind), ownPrefix) {
		return ""
	}
	return "custom entries of type " + kind
}

// opaqueHas reports whether the raw line of an opaque entry has a member.
func opaqueHas(e *firn.Entry, name string) bool {
	o, ok := e.Body.(*firn.Opaque)
	if !ok {
		return false
	}
	held, err := parseLine(o.Raw)
	return err == nil && held.rest.Get(name) != nil
}
