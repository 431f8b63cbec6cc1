// Package syncmark marks entries that a sync or a purge appended to the copy of a session on
// one machine: a head that stays where it was, counters of that copy. Such an entry is not
// copied to other machines unless another entry refers to it, and never takes part in the
// election of a title, tags and keys.
package syncmark

import (
	"encoding/json"
	"slices"

	"firn.dev"
)

// Field is the name of the extra field that marks such an entry.
const Field = "sync"

// value is the value of the field.
const value = `"local"`

// Add marks an entry as appended by a sync or a purge.
func Add(e *firn.Entry) {
	e.Extra = append(slices.Clip(e.Extra), firn.Field{Name: Field, Value: json.RawMessage(value)})
}

// Has reports whether an entry was appended by a sync or a purge.
func Has(e *firn.Entry) bool { return e.Extra.Get(Field) != nil }
