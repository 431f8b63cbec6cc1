package window_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/window"

	"github.com/google/go-cmp/cmp"
)

const corpus = "../testdata/corpus/pi/golden/"

// readLog reads lines in the native dialect. A line that cannot be parsed is a gap.
func readLog(data []byte) log {
	var l log
	at := firn.Pos(0)
	for line := range bytes.Lines(data) {
		next := at + firn.Pos(len(line))
		line = bytes.TrimRight(line, "\n")
		glance, err := native.New().Glance(line)
		if err != nil {
			l = append(l, firn.GapRecord(firn.Gap{Kind: firn.GapDamaged, At: at, Next: next, Detail: err.Error()}))
		} else {
			l = append(l, firn.LazyRecord(at, next, glance, line, native.New().Decode))
		}
		at = next
	}
	return l
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func collectFile(t testing.TB, name string) window.Path {
	t.Helper()
	var read int
	p, err := window.Collect(readLog(readFile(t, name)).back(&read))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// golden is the output of pi 0.58.3 for a file.
type golden struct {
	LeafID  string
	Context struct {
		Messages      []any
		ThinkingLevel string
		Model         struct{ Provider, ModelID string }
	}
	LLM []any
}

func readGolden(t *testing.T, name string) golden {
	t.Helper()
	var g golden
	data := readFile(t, "../testdata/golden/pi/"+name+".context.json")
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	if g.Context.Messages == nil { // the golden of the torn tail has only the context
		if err := json.Unmarshal(data, &g.Context); err != nil {
			t.Fatal(err)
		}
	}
	normalize(g.Context.Messages)
	normalize(g.LLM)
	return g
}

// normalize rewrites string content as a list with one text, which is equivalent.
func normalize(messages []any) {
	for _, m := range messages {
		m := m.(map[string]any)
		if text, ok := m["content"].(string); ok {
			m["content"] = []any{map[string]any{"type": "text", "text": text}}
		}
	}
}

// asJSON encodes a message as in session files.
func asJSON(t *testing.T, m *firn.Message) any {
	t.Helper()
	line, err := native.New().Append(nil, firn.Entry{ID: "x", Body: m})
	if err != nil {
		t.Fatal(err)
	}
	var entry struct{ Message any }
	if err := json.Unmarshal(line, &entry); err != nil {
		t.Fatal(err)
	}
	return entry.Message
}

// contextOf lists a path as pi does before it converts messages for a model.
func contextOf(t *testing.T, p window.Path) []any {
	var messages []any
	if p.Compaction != nil {
		c := p.Compaction.Body.(*firn.Compaction)
		messages = append(messages, map[string]any{
			"role": "compactionSummary", "summary": c.Summary, "tokensBefore": float64(c.TokensBefore),
			"timestamp": float64(p.Compaction.Time.UnixMilli()),
		})
	}
	for _, e := range p.Entries {
		stamp := float64(e.Time.UnixMilli())
		switch b := e.Body.(type) {
		case *firn.Message:
			messages = append(messages, asJSON(t, b))
		case *firn.BranchSummary:
			messages = append(messages, map[string]any{
				"role": "branchSummary", "summary": b.Summary, "fromId": string(b.From), "timestamp": stamp,
			})
		case *firn.CustomMessage:
			m := asJSON(t, &firn.Message{Role: firn.RoleUser, Parts: b.Parts}).(map[string]any)
			m["role"], m["customType"], m["display"], m["timestamp"] = "custom", b.Type, b.Display, stamp
			var details any
			if json.Unmarshal(b.Details, &details) == nil {
				m["details"] = details
			}
			messages = append(messages, m)
		}
	}
	normalize(messages)
	return messages
}

// sentOf lists a window to which no rule was applied.
func sentOf(t *testing.T, p window.Path) []any {
	var messages []any
	for _, it := range window.Build(p, window.Options{}).Items {
		messages = append(messages, asJSON(t, &it.Message))
	}
	normalize(messages)
	return messages
}

func TestPiGoldens(t *testing.T) {
	files, err := filepath.Glob("../testdata/golden/pi/*.context.json")
	if err != nil || len(files) < 8 {
		t.Fatalf("found %d goldens: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".context.json")
		if better[name] != "" {
			continue // see TestMoreMessagesThanPi
		}
		t.Run(name, func(t *testing.T) {
			want, p := readGolden(t, name), collectFile(t, corpus+name+".jsonl")
			check(t, "head", string(p.Head), want.LeafID)
			check(t, "thinking level", orOff(p.State.ThinkingLevel), want.Context.ThinkingLevel)
			check(t, "provider", p.State.Provider, want.Context.Model.Provider)
			check(t, "model", p.State.Model, want.Context.Model.ModelID)
			if diff := cmp.Diff(want.Context.Messages, contextOf(t, p)); diff != "" {
				t.Errorf("context differs: - pi, + firn\n%s", diff)
			}
			if diff := cmp.Diff(want.LLM, sentOf(t, p)); diff != "" {
				t.Errorf("sent messages differ: - pi, + firn\n%s", diff)
			}
		})
	}
}

// orOff returns the level, or pi's name for no thinking.
func orOff(level string) string {
	if level == "" {
		return "off"
	}
	return level
}

// better lists the files of which pi loses the beginning, each with the entry whose parent is
// missing. firn falls back to the order of the file and reports a gap.
var better = map[string]firn.EntryID{
	"edge_torn_tail_then_append": "ca3d4bb9", // its parent was joined to a torn line
	"forked_session":             "901b220b", // its parent, a label, was not copied
}

func TestMoreMessagesThanPi(t *testing.T) {
	for name, at := range better {
		t.Run(name, func(t *testing.T) {
			want, p := readGolden(t, name), collectFile(t, corpus+name+".jsonl")
			ours, theirs := contextOf(t, p), want.Context.Messages
			more := len(ours) - len(theirs)
			if more < 2 {
				t.Fatalf("pi has %d messages, firn has %d", len(theirs), len(ours))
			}
			if diff := cmp.Diff(theirs, ours[more:]); diff != "" {
				t.Errorf("the end differs: - pi, + firn\n%s", diff)
			}
			dangling := slices.IndexFunc(p.Gaps, func(g firn.Gap) bool { return g.Kind == firn.GapDangling && g.Entry == at })
			if dangling < 0 {
				t.Errorf("the broken link at %s is not reported: %v", at, p.Gaps)
			}
		})
	}
}

// TestTornTail checks that a file whose last line is torn yields everything before it.
func TestTornTail(t *testing.T) {
	p := collectFile(t, corpus+"edge_torn_tail.jsonl")
	check(t, "entries", ids(p.Entries), "164346d2 3ee814e5")
	check(t, "gaps", gaps(p), "damaged:")
}

// TestCharsGolden checks that the counter without a tokenizer counts as pi does.
func TestCharsGolden(t *testing.T) {
	var cuts map[string]struct{ Estimates []int64 }
	if err := json.Unmarshal(readFile(t, "../testdata/golden/pi/compaction_cutpoints.json"), &cuts); err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, it := range window.Build(collectFile(t, corpus+"compaction_before.jsonl"), window.Options{}).Items {
		got = append(got, it.Tokens)
	}
	if diff := cmp.Diff(cuts["1"].Estimates, got); diff != "" {
		t.Errorf("counts differ: - pi, + firn\n%s", diff)
	}
}

// TestRealSessions checks that sessions written by pi in real use give valid windows for every
// provider, without gaps.
func TestRealSessions(t *testing.T) {
	files, err := filepath.Glob("../testdata/corpus/pi/real-*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions found: %v", err)
	}
	for _, file := range files {
		p := collectFile(t, file)
		if len(p.Entries) == 0 || len(p.Gaps) > 0 {
			t.Errorf("%s: %d entries, gaps %v", file, len(p.Entries), p.Gaps)
		}
		for _, ask := range asks {
			verify(t, p, ask)
		}
	}
}
