package interop

import (
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store/filestore"

	"github.com/google/go-cmp/cmp"
)

// client is a tool as the target of handoffs, with its home and a working directory.
type client struct {
	tool, home, cwd string
	// ask lets the tool ask a model, and returns the request, one line per part. The answer
	// is always "It was snow."
	ask func(t *testing.T, question string, args ...string) []string
	// withoutOwnMessages removes the tool's own messages from those that firn reads.
	withoutOwnMessages func(flat []string) []string
}

// handedShapes are the shapes of sessions that are handed to tools.
var handedShapes = map[string]func(t *testing.T, s *session){
	"one line of every kind": everyKind,
	"compacted twice":        compactedTwice,
	"compacted and undone":   uncompacted,
	"branched":               branched,
	"rewound":                rewound,
	"a message hidden":       func(t *testing.T, s *session) { hidden(t, s) },
	"an answer that failed":  failed,
	"what an agent wrote":    agentTalk,
}

// continueIn hands sessions of the given or all shapes to a tool and continues each there.
// The tool must send the same messages as firn, translated with words, or those in sends.
// firn must read the entries that the tool adds.
func continueIn(t *testing.T, start func(t *testing.T) client, words *strings.Replacer, sends map[string][]string, only ...string) {
	for name, build := range handedShapes {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, filestore.Options{})
			build(t, s)
			c := start(t)
			h := s.handoff(t, c.tool, c.home, c.cwd)
			want := sends[name]
			if want == nil {
				for _, line := range flatWindow(t, s.path(t)) {
					want = append(want, strings.Split(words.Replace(line), newLine)...)
				}
			}
			c.resume(t, h, want)
		})
	}
}

// resume continues a handed over session in the tool.
func (c client) resume(t *testing.T, h handed, want []string) {
	t.Helper()
	home := t.TempDir()
	before, first := readFile(t, h.File), importFile(t, home, h.File)
	s := openHome(t, home, filestore.Options{})
	s.id = firn.ID(first.Session.ID)
	known, window := entryNames(s.entries(t)), flatWindow(t, s.path(t))

	got := c.ask(t, "what was it?", h.Resume[1:]...)
	if diff := cmp.Diff(append(want, "user: what was it?"), got); diff != "" {
		t.Errorf("it sends something else (-firn +%s):\n%s", c.tool, diff)
	}
	if after := readFile(t, h.File); string(after[:len(before)]) != string(before) {
		t.Errorf("%s changed bytes that were written", c.tool)
	}
	again := importFile(t, home, h.File)
	all := entryNames(s.entries(t))
	if again.Session.ID != first.Session.ID || again.Added < 2 || len(all) != len(known)+again.Added {
		t.Fatalf("firn added %d entries to %d, and then there are %d", again.Added, len(known), len(all))
	}
	if diff := cmp.Diff(known, all[:len(known)]); diff != "" {
		t.Errorf("messages that were imported before have changed:\n%s", diff)
	}
	window = append(window, "user: what was it?", "assistant: It was snow.")
	if diff := cmp.Diff(window, c.withoutOwnMessages(flatWindow(t, s.path(t)))); diff != "" {
		t.Errorf("firn reads something else (-before +after):\n%s", diff)
	}
	if third := importFile(t, home, h.File); third.Added != 0 {
		t.Errorf("firn adds %d entries that it has", third.Added)
	}
	s.mustBeWhole(t)
}

// entryNames returns the IDs of entries, without the counters that firn adds after each
// import.
func entryNames(entries []firn.Entry) []string {
	var names []string
	for _, e := range entries {
		if b, ok := e.Body.(*firn.Custom); ok && b.Type == firn.CountersType {
			continue
		}
		names = append(names, string(e.ID))
	}
	return names
}
