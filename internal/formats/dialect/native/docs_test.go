package native

import (
	"os"
	"slices"
	"strings"
	"testing"

	"firn.dev"
)

// TestDocumentedLines checks the examples in the format specification.
func TestDocumentedLines(t *testing.T) {
	const file = "../../../../docs/format.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	shown := make(map[firn.Kind]bool)
	inside := false
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```jsonl"
		case inside:
			entry, err := New().Decode([]byte(line))
			if err != nil {
				t.Errorf("%s:%d: %v", file, i+1, err)
				continue
			}
			shown[entry.Body.Kind()] = true
			if out, err := New().Append(nil, entry); err != nil || string(out) != line {
				t.Errorf("%s:%d: it is written differently: %v\ndescribed %s\nwritten   %s", file, i+1, err, line, out)
			}
			checkKnown(t, i+1, entry)
		}
	}
	for _, kind := range kinds {
		if !shown[kind] {
			t.Errorf("%s shows no %s", file, kind)
		}
	}
}

// kinds are the types of entries that must be documented.
var kinds = []firn.Kind{
	firn.KindHeader, firn.KindMessage, firn.KindCompaction, firn.KindBranchSummary, firn.KindTombstone, firn.KindLabel, firn.KindTitle,
	firn.KindModelChange, firn.KindThinkingChange, firn.KindCustom, firn.KindCustomMessage, firn.KindHead, firn.KindErased,
}

// checkKnown checks that an example of a firn type is decoded as such: an opaque entry
// would be written back unchanged regardless of its content.
func checkKnown(t *testing.T, at int, entry firn.Entry) {
	t.Helper()
	_, opaque := entry.Body.(*firn.Opaque)
	kind := entry.Body.Kind()
	if ours := kind != firn.KindErased && slices.Contains(kinds, kind); opaque == ours {
		t.Errorf("line %d: an entry of type %q is opaque: %t", at, kind, opaque)
	}
}
