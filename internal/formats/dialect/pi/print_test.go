package pi_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// printed prints entries with a printer that has no access to written entries.
func printed(t testing.TB, to dialect.Target, entries ...firn.Entry) string {
	t.Helper()
	p := tool.Printer(to)
	var out []byte
	var err error
	for _, e := range entries {
		if out, err = p.Print(out, e); err != nil {
			t.Fatalf("Print(%s): %v", e.ID, err)
		}
	}
	if out, err = p.Finish(out); err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestPrintBytes(t *testing.T) {
	zero := time.Time{}
	message := func(id, parent, rest string) string {
		return `{"type":"message","id":"` + id + `","parentId":` + parent + `,"timestamp":"2026-11-15T02:40:15.042Z","message":{` + rest + `}}` + "\n"
	}
	for _, test := range []struct {
		name  string
		entry firn.Entry
		want  string
	}{
		{"a header of ours", firn.Entry{Time: when, Body: &firn.Header{Session: "x", Version: 3, Firn: 1, CWD: "/old", ParentSession: "/p.jsonl"}},
			`{"type":"session","version":3,"id":"s","timestamp":"2026-11-15T02:40:15.042Z","cwd":"/w","parentSession":"/p.jsonl"}` + "\n"},
		{"a header without a time", firn.Entry{Body: &firn.Header{Session: "x", Version: 1}},
			`{"type":"session","version":3,"id":"s","timestamp":"2026-11-15T02:40:15.042Z","cwd":"/w"}` + "\n"},
		{"an entry without a header", user("a", "", "A"),
			`{"type":"session","version":3,"id":"s","timestamp":"2026-11-15T02:40:15.042Z","cwd":"/w"}` + "\n" + message("a", "null", `"role":"user","content":[{"type":"text","text":"A"}],"timestamp":1794710415042`)},
		{"an answer that names no model", firn.Entry{ID: "a", Time: when, Body: &firn.Message{Role: firn.RoleAssistant, Time: zero}},
			head3 + message("a", "null", `"role":"assistant","content":[],"provider":"prov","model":"mod","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"timestamp":1794710415042`)},
		{"a compaction that keeps nothing", firn.Entry{ID: "a", Time: when, Body: &firn.Compaction{Summary: "S"}},
			head3 + `{"type":"compaction","id":"a","parentId":null,"timestamp":"2026-11-15T02:40:15.042Z","summary":"S","firstKeptEntryId":"a","tokensBefore":0}` + "\n"},
		{"a custom entry", firn.Entry{ID: "a", Time: when, Body: &firn.Custom{Type: "claudecode:progress", Data: json.RawMessage(`{"n":1}`)}},
			head3 + `{"type":"custom","customType":"claudecode:progress","data":{"n":1},"id":"a","parentId":null,"timestamp":"2026-11-15T02:40:15.042Z"}` + "\n"},
		{"a line of pi", firn.Entry{ID: "u", Time: when, Body: &firn.Custom{Type: "pi:usage", Data: json.RawMessage(`{"type":"usage" ,"id":"u","parentId":null,"n":1.50}`)}},
			head3 + `{"type":"usage" ,"id":"u","parentId":null,"n":1.50}` + "\n"},
		{"a line of OpenClaw in another place", firn.Entry{ID: "v", Time: when, Body: &firn.Custom{Type: "openclaw:usage", Data: json.RawMessage(`{"type":"usage","id":"u","parentId":"gone","n":1.50}`)}},
			head3 + `{"type":"usage","id":"v","parentId":null,"n":1.50}` + "\n"},
		{"a line that pi would not count", firn.Entry{ID: "l000003", Time: when, Body: &firn.Custom{Type: "pi:session", Data: json.RawMessage(`{"type":"session","id":"s"}`)}},
			head3 + `{"type":"custom","customType":"pi:session","data":{"type":"session","id":"s"},"id":"l000003","parentId":null,"timestamp":"2026-11-15T02:40:15.042Z"}` + "\n"},
		{"a line without an id", firn.Entry{ID: "l000003", Time: when, Body: &firn.Custom{Type: "pi:x", Data: json.RawMessage(`{"type":"x"}`)}},
			head3 + `{"type":"custom","customType":"pi:x","data":{"type":"x"},"id":"l000003","parentId":null,"timestamp":"2026-11-15T02:40:15.042Z"}` + "\n"},
		{"an entry of an unknown kind", firn.Entry{ID: "u", Time: when, Body: &firn.Opaque{Type: "usage", Raw: json.RawMessage(`{"type":"usage","id":"u","parentId":null}`)}},
			head3 + `{"type":"usage","id":"u","parentId":null}` + "\n"},
		{"a head", firn.Entry{ID: "h", Time: when, Body: &firn.Head{}},
			head3 + `{"type":"head","id":"h","parentId":null,"timestamp":"2026-11-15T02:40:15.042Z"}` + "\n"},
	} {
		to := dialect.Target{Session: "s", CWD: "/w", Created: when, Provider: "prov", Model: "mod"}
		entries := []firn.Entry{header(), test.entry}
		if test.entry.Body.Kind() == firn.KindHeader || test.name == "an entry without a header" {
			entries = entries[1:]
		}
		if got := printed(t, to, entries...); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestPrintAsPi checks that pi's lines are printed unchanged, except for values that pi
// encodes in several ways.
func TestPrintAsPi(t *testing.T) {
	same := 0
	for _, name := range files(t) {
		if !strings.Contains(name, "real-") {
			continue
		}
		lines := readLines(t, name)
		entries := scanned(lines)
		h := entries[0].Body.(*firn.Header)
		out := printed(t, dialect.Target{Session: h.Session, CWD: h.CWD}, entries...)
		for i, line := range split([]byte(out)) {
			if string(line) != strings.Replace(string(lines[i]), `,"fromHook":false`, "", 1) {
				t.Errorf("%s, line %d:\n pi   %s\n firn %s", name, i+1, lines[i], line)
			}
			same++
		}
	}
	if same == 0 {
		t.Error("nothing was printed")
	}
}

func TestPrintRefuses(t *testing.T) {
	p := tool.Printer(dialect.Target{Session: "s"})
	dst := []byte("before")
	for _, e := range []firn.Entry{
		{ID: "a"}, {Body: &firn.Head{}}, {ID: "a", Body: &firn.Message{}},
		{ID: "a", Body: &firn.Opaque{Raw: json.RawMessage(`{"type":"x"}`)}},
	} {
		if got, err := p.Print(dst, e); !errors.Is(err, firn.ErrInvalid) || string(got) != "before" {
			t.Errorf("Print(%+v) = %q, %v", e, got, err)
		}
	}
	if _, err := p.Print(nil, header()); err != nil {
		t.Fatalf("after a rejected entry: %v", err)
	}
	if _, err := p.Print(nil, header()); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("a second header: %v", err)
	}
	old := tool.Printer(dialect.Target{Session: "s"})
	old.Repeat(header(), [][]byte{[]byte(`{"type":"session","id":"s","cwd":"/"}`)})
	if _, err := old.Print(nil, user("a", "", "A")); !errors.Is(err, firn.ErrUnsupported) {
		t.Errorf("adding to a file of the first version: %v", err)
	}
}

// TestPrintLosses checks that every reported loss is one of the limits, and that the lost
// entry is written for firn.
func TestPrintLosses(t *testing.T) {
	answered := assistant("b", "a", firn.Text{Text: "B"})
	answered.Extra = firn.Fields{{Name: "knew", Value: json.RawMessage(`"a"`)}}
	title := func(id firn.EntryID, name string, source firn.Source) firn.Entry {
		return firn.Entry{ID: id, Parent: "a", Time: when, Body: &firn.Title{Name: name, Source: source}}
	}
	compaction := firn.Entry{ID: "c", Parent: "a", Time: when, Body: &firn.Compaction{Summary: "S", FirstKept: "a"}}
	for _, test := range []struct {
		name, limit string
		entries     []firn.Entry
	}{
		{"an answer to an earlier message", "answers to earlier messages", []firn.Entry{user("a", "", "A"), answered}},
		{"an automatic title after the user's", "automatic titles", []firn.Entry{user("a", "", "A"), title("x", "mine", firn.SourceUser), title("y", "made", firn.SourceAuto)}},
		{"a session as a whole", "hidden sessions", []firn.Entry{user("a", "", "A"), hide("t", "a", "s")}},
		{"a message", "hidden entries", []firn.Entry{user("a", "", "A"), hide("t", "a", "a")}},
		{"a compaction", "hidden entries", []firn.Entry{user("a", "", "A"), compaction, hide("t", "c", "c")}},
		{"a tombstone", "restored entries", []firn.Entry{user("a", "", "A"), hide("t", "a", "s"), hide("u", "t", "t")}},
	} {
		var losses []string
		to := dialect.Target{Session: "s", CWD: "/w", OnLoss: func(l dialect.Loss) {
			if l.Dropped {
				t.Errorf("%s: %s is dropped", test.name, l.Entry)
			}
			losses = append(losses, l.Limit)
		}}
		out := printed(t, to, append([]firn.Entry{header()}, test.entries...)...)
		if !slices.Contains(losses, test.limit) {
			t.Errorf("%s: the losses are %q, want %q", test.name, losses, test.limit)
		}
		for _, l := range losses {
			if !slices.ContainsFunc(tool.Limits(), func(limit dialect.Limit) bool { return limit.Name == l }) {
				t.Errorf("%s: %q is no limit", test.name, l)
			}
		}
		again := scanText(out)
		if diff := cmp.Diff(sent(t, append([]firn.Entry{header()}, test.entries...)), sent(t, again)); diff != "" {
			t.Errorf("%s: firn reads something else (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestPrintOmits checks that an entry that cannot be read again is hidden by a context
// edit, which pi supports since 0.87.
func TestPrintOmits(t *testing.T) {
	grave := hide("t", "b", "a")
	grave.Body.(*firn.Tombstone).Reason = "a secret"
	out := printed(t, dialect.Target{Session: "s", CWD: "/w"}, header(), user("a", "", "A"), user("b", "a", "B"), grave)
	want := `{"type":"context_edit","id":"t","parentId":"b","timestamp":"2026-11-15T02:40:15.042Z","targetId":"a","replacement":null,"tombstone":true,"reason":"a secret"}` + "\n"
	if !strings.HasSuffix(out, want) {
		t.Errorf("printed %s\nwant in the end %s", out, want)
	}
	again := find(t, scanText(out), "t")
	if diff := cmp.Diff(grave, again); diff != "" {
		t.Errorf("it reads differently (-want +got):\n%s", diff)
	}
}

// TestPrintAndScan prints random trees as firn's own agent writes them and reads them back.
func TestPrintAndScan(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		entries := []firn.Entry{header()}
		var known []firn.EntryID
		for i := range rapid.IntRange(1, 12).Draw(r, "entries") {
			e := firn.Entry{ID: firn.EntryID("e" + string(rune('a'+i))), Time: when.Add(time.Duration(i) * time.Second), Body: bodies(known).Draw(r, "body")}
			if len(known) > 0 {
				e.Parent = rapid.SampledFrom(known).Draw(r, "parent")
			}
			entries = append(entries, e)
			known = append(known, e.ID)
		}
		got := scanText(printed(t, dialect.Target{Session: "s", CWD: "/w"}, entries...))
		for i := range entries {
			if c, ok := entries[i].Body.(*firn.Compaction); ok && c.FirstKept == "" {
				c.FirstKept = entries[i].ID
			}
		}
		if diff := cmp.Diff(entries, got); diff != "" {
			r.Fatalf("it reads differently (-want +got):\n%s", diff)
		}
		for _, line := range split([]byte(printed(t, dialect.Target{Session: "s", CWD: "/w"}, entries...))) {
			if _, err := native.New().Decode(line); err != nil {
				r.Fatalf("%s: %v", line, err)
			}
		}
	})
}

// bodies generates bodies without references to other entries.
func bodies(known []firn.EntryID) *rapid.Generator[firn.Body] {
	return rapid.Custom(func(r *rapid.T) firn.Body {
		text := rapid.StringMatching(`[a-z<é"\n ]{1,12}`).Draw(r, "text")
		one := firn.EntryID("")
		if len(known) > 0 {
			one = rapid.SampledFrom(known).Draw(r, "one")
		}
		words := []firn.Part{firn.Text{Text: text}}
		kind := rapid.IntRange(0, 11).Draw(r, "kind")
		switch {
		case kind == 0:
			return &firn.Message{Role: firn.RoleUser, Time: when, Parts: words}
		case kind == 1:
			return &firn.Message{Role: firn.RoleAssistant, Time: when, API: "a", Provider: "p", Model: "m", StopReason: firn.StopToolUse, Usage: &firn.Usage{Input: 3, Total: 3},
				Parts: []firn.Part{firn.Thinking{Text: text, Signature: "s"}, firn.Text{Text: text}, firn.ToolCall{ID: "c1", Name: "n", Arguments: json.RawMessage(`{"a": 1.0}`)}}}
		case kind == 2:
			return &firn.Message{Role: firn.RoleToolResult, Time: when, Parts: []firn.Part{firn.ToolResult{CallID: "c1", Name: "n", Content: words, Details: json.RawMessage(`{"x":[1]}`), IsError: true}}}
		case kind == 3:
			return &firn.Message{Role: firn.RoleSystem, Time: when, Parts: words}
		case kind == 4:
			code := 1
			return &firn.Message{Role: firn.RoleShell, Time: when, Parts: []firn.Part{firn.Shell{Command: text, Output: text, ExitCode: &code, Hidden: true}}}
		case kind == 5:
			return &firn.Compaction{Summary: text, FirstKept: one, TokensBefore: 7}
		case kind == 6:
			return &firn.Title{Name: text, Source: firn.SourceAuto}
		case kind == 7:
			return &firn.ModelChange{Provider: "p", Model: text}
		case kind == 8:
			return &firn.Custom{Type: "firn.verbose", Data: json.RawMessage(`{"level":"on"}`)}
		case kind == 9:
			return &firn.CustomMessage{Type: "note", Parts: words, Display: true}
		case kind == 10 && one != "":
			return &firn.Label{Target: one, Name: text}
		case kind == 11:
			return &firn.BranchSummary{From: one, Summary: text}
		}
		return &firn.Head{Reason: text}
	})
}
