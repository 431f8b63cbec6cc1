package convert_test

import (
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/store"
	"firn.dev/store/memstore"

	"github.com/google/go-cmp/cmp"
)

// TestNamedCounters checks that counters are not written to other tools. A compaction that
// keeps from such an entry keeps from the next one on its branch, and a tombstone of one
// hides nothing else.
func TestNamedCounters(t *testing.T) {
	content := func(id, parent firn.EntryID, role firn.Role, text string) firn.Entry {
		m := &firn.Message{Role: role, Parts: []firn.Part{firn.Text{Text: text}}}
		if role == firn.RoleAssistant {
			m.StopReason = firn.StopEnd
		}
		return firn.Entry{ID: id, Parent: parent, Body: m}
	}
	count := func(id, parent firn.EntryID) firn.Entry {
		return firn.Entry{ID: id, Parent: parent, Body: &firn.Custom{Type: firn.CountersType, Data: []byte(`{"turns":1}`)}}
	}
	compaction := func(parent, kept firn.EntryID) firn.Entry {
		return firn.Entry{ID: "k", Parent: parent, Body: &firn.Compaction{Summary: "They greeted.", FirstKept: kept}}
	}
	first := []firn.Entry{
		content("u1", firn.Root, firn.RoleUser, "one"), content("a1", "u1", firn.RoleAssistant, "answer one"), count("c1", "a1"),
	}
	second := []firn.Entry{content("u2", "c1", firn.RoleUser, "two"), content("a2", "u2", firn.RoleAssistant, "answer two")}
	left := []firn.Entry{content("x", "c1", firn.RoleUser, "left"), content("y", "x", firn.RoleAssistant, "answer left")}
	apart := []firn.Entry{count("c2", "c1"), content("u2", "c2", firn.RoleUser, "two"), content("a2", "u2", firn.RoleAssistant, "answer two")}
	const kept = "user: two\nassistant: answer two\nuser: three\n"
	tests := map[string]struct {
		more []firn.Entry
		want string
	}{
		"kept from counters":        {slices.Concat(second, []firn.Entry{compaction("a2", "c1")}), kept},
		"kept from two in a row":    {slices.Concat(apart, []firn.Entry{compaction("a2", "c1")}), kept},
		"nothing kept":              {[]firn.Entry{compaction("c1", "c1")}, "user: three\n"},
		"kept on the second branch": {slices.Concat(left, second, []firn.Entry{compaction("a2", "c1")}), kept},
		"counters hidden":           {slices.Concat(second, []firn.Entry{{ID: "t", Parent: "a2", Body: &firn.Tombstone{Target: "c1"}}}), "user: one\nassistant: answer one\n" + kept},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			st := memstore.New(memstore.Options{})
			entries := slices.Concat(first, test.more)
			end := content("u3", entries[len(entries)-1].ID, firn.RoleUser, "three")
			if _, err := st.Append(t.Context(), "s", store.Start, append(entries, end)...); err != nil {
				t.Fatal(err)
			}
			for _, tool := range []dialect.Name{dialect.ClaudeCode, dialect.Codex, dialect.Pi} {
				to, _ := dialects.Find(string(tool))
				out, _ := exported(t, st, to)
				got := conversation(t, from(to, "s.jsonl", out))
				if _, after, ok := strings.Cut(got, "</summary>\n"); ok {
					got = after
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s reads something else (-want +got):\n%s\n%s", tool, diff, out)
				}
			}
		})
	}
}
