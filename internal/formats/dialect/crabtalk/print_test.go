package crabtalk

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/dialecttest"

	"pgregory.net/rapid"
)

func TestTool(t *testing.T) { dialecttest.RunTool(t, New(), os.DirFS("testdata")) }

// writer prints entries and stores them, as the writer of a file does.
type writer struct {
	t       testing.TB
	printer dialect.Printer
	items   []dialect.EntryLines
	out     []byte
	losses  []string
}

func newWriter(t testing.TB, to dialect.Target) *writer {
	w := &writer{t: t}
	to.OnLoss = func(l dialect.Loss) {
		w.losses = append(w.losses, fmt.Sprintf("%s %s %t", l.Entry, l.Limit, l.Dropped))
	}
	to.Written = func(since firn.EntryID) iter.Seq[dialect.EntryLines] {
		return func(yield func(dialect.EntryLines) bool) {
			begun := false
			for _, item := range w.items {
				if begun = begun || item.Entry.ID == since; begun && !yield(item) {
					return
				}
			}
		}
	}
	w.printer = New().Printer(to)
	return w
}

func (w *writer) print(entries ...firn.Entry) string {
	w.t.Helper()
	start := len(w.out)
	for _, e := range entries {
		var err error
		before := len(w.out)
		if w.out, err = w.printer.Print(w.out, e); err != nil {
			w.t.Fatal(err)
		}
		if e.ID != "" {
			w.items = append(w.items, dialect.EntryLines{Entry: e, Lines: bytes.Split(w.out[before:], []byte("\n"))})
		}
	}
	return string(w.out[start:])
}

// chain returns entries that follow each other.
func chain(bodies ...firn.Body) []firn.Entry {
	at := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	entries := []firn.Entry{{Time: at, Body: &firn.Header{Session: "s", Agent: "crab", Key: "agent:crab:direct:tg%3a1"}}}
	var parent firn.EntryID
	for i, body := range bodies {
		id := firn.EntryID(fmt.Sprintf("e%d", i+1))
		entries = append(entries, firn.Entry{ID: id, Parent: parent, Time: at, Body: body})
		parent = id
	}
	return entries
}

func user(text string) *firn.Message {
	return &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}}
}

func answer(parts ...firn.Part) *firn.Message {
	return &firn.Message{Role: firn.RoleAssistant, Parts: parts, StopReason: firn.StopEnd}
}

func result(id, name, text string) *firn.Message {
	return &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: id, Name: name, Content: []firn.Part{firn.Text{Text: text}}}}}
}

// TestPrintBytes writes the corpus byte for byte as CrabTalk does.
func TestPrintBytes(t *testing.T) {
	for name, data := range fixtures(t) {
		entries := scan(t, dialect.Origin{}, data)
		to := dialect.Target{Created: entries[0].Time}
		if title, ok := entries[1].Body.(*firn.Title); ok {
			to.Title = title.Name
		}
		w := newWriter(t, to)
		got := w.print(entries...)
		want := strings.ReplaceAll(string(data), "00.5+00:00", "00.500+00:00") // chrono writes three digits
		if got != want {
			t.Errorf("%s is written\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestPrintNative(t *testing.T) {
	w := newWriter(t, dialect.Target{Title: "A \"title\"\u2028", Uptime: 90*time.Second + 1})
	code := 2
	got := w.print(chain(
		user("a\x7f\u0001</b>"),
		&firn.Title{Name: "A \"title\"\u2028"},
		answer(firn.Thinking{Text: "hm", Signature: "x"}, firn.Text{Text: "I look."}, firn.ToolCall{ID: "c1", Name: "ls", Arguments: []byte(`{"p":"/"}`)}, firn.ToolCall{ID: "c2", Name: "no"}),
		result("c1", "ls", "a"),
		&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopError, Error: "gone"},
		&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Image{MimeType: "image/png", Data: "AA=="}, firn.Text{Text: "see"}}},
		&firn.Message{Role: firn.RoleShell, Parts: []firn.Part{firn.Shell{Command: "make", Output: "no", ExitCode: &code}}},
		&firn.CustomMessage{Type: "note", Parts: []firn.Part{firn.Text{Text: "noted"}}},
		&firn.ModelChange{Model: "m"},
		&firn.Label{Target: "e1", Name: "here"},
		&firn.Custom{Type: "other", Data: []byte(`{}`)},
		&firn.Custom{Type: "crabtalk:done", Data: []byte(`{"event":"done","n":1.0}`)},
		answer(firn.Thinking{Text: "hm"}),
	)...)
	want := `{"agent":"crab","created_by":"tg:1","created_at":"2026-04-01T09:00:00+00:00","title":"A \"title\"` + "\u2028" + `","uptime_secs":90}
{"role":"user","content":"a` + "\x7f" + `\u0001</b>"}
{"role":"assistant","content":"I look.","reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"p\":\"/\"}"}},{"id":"c2","type":"function","function":{"name":"no","arguments":"{}"}}]}
{"role":"tool","content":"a","name":"ls","tool_call_id":"c1"}
{"role":"user","content":"[image]\nsee"}
{"role":"user","content":"Ran ` + "`make`" + `\nno\n\nExit code: 2"}
{"role":"user","content":"noted"}
{"event":"done","n":1.0}
`
	if got != want {
		t.Errorf("written:\n%s\nwant\n%s", got, want)
	}
	losses := strings.Join(w.losses, "\n")
	for _, loss := range []string{"e3 marks false", "e5 failed answers true", "e6 images false", "e7 speakers false", "e9 settings true", "e10 notes true", "e11 notes true", "e13 empty answers true"} {
		if !strings.Contains(losses, loss) {
			t.Errorf("the loss %q is not reported:\n%s", loss, losses)
		}
	}
}

// TestPrintKept checks that messages kept by a compaction are repeated, so that CrabTalk
// sends them.
func TestPrintKept(t *testing.T) {
	w := newWriter(t, dialect.Target{})
	w.print(chain(user("one"), answer(firn.Text{Text: "1"}), user("two"), answer(firn.Text{Text: "2"}))...)
	got := w.print(firn.Entry{ID: "c", Parent: "e4", Body: &firn.Compaction{Summary: "one was 1", FirstKept: "e3"}})
	want := `{"compact":"one was 1"}
{"role":"user","content":"two"}
{"role":"assistant","content":"2"}
`
	if got != want {
		t.Errorf("written:\n%s\nwant\n%s", got, want)
	}
	got = w.print(firn.Entry{ID: "d", Parent: "c", Body: &firn.Compaction{Summary: "all", FirstKept: "d"}})
	if want := `{"compact":"all"}` + "\n"; got != want {
		t.Errorf("written: %s, want %s", got, want)
	}
}

func TestPrintHides(t *testing.T) {
	w := newWriter(t, dialect.Target{})
	w.print(chain(user("one"), answer(firn.Text{Text: "1"}), user("secret"), answer(firn.Text{Text: "2"}))...)
	hide := func(id, target firn.EntryID) string {
		return w.print(firn.Entry{ID: id, Body: &firn.Tombstone{Target: target}})
	}
	if got, want := hide("t1", "e3"), `{"compact":"one"}
{"role":"assistant","content":"1"}
{"role":"assistant","content":"2"}
`; got != want {
		t.Errorf("hiding writes\n%s\nwant\n%s", got, want)
	}
	if got, want := hide("t2", "t1"), `{"compact":"one"}
{"role":"assistant","content":"1"}
{"role":"user","content":"secret"}
{"role":"assistant","content":"2"}
`; got != want {
		t.Errorf("restoring writes\n%s\nwant\n%s", got, want)
	}
	w.losses = nil
	if got := hide("t3", "nobody"); got != "" || len(w.losses) != 1 || w.losses[0] != "t3 hiding true" {
		t.Errorf("hiding a missing entry writes %q and loses %q", got, w.losses)
	}
	if got, want := w.print(firn.Entry{ID: "h", Parent: "e2", Body: &firn.Head{}}), `{"compact":"one"}
{"role":"assistant","content":"1"}
`; got != want {
		t.Errorf("rewinding writes\n%s\nwant\n%s", got, want)
	}
}

// conversation draws messages that CrabTalk can represent exactly.
func conversation(t *rapid.T) []firn.Body {
	text := rapid.StringN(1, 40, 200).Filter(func(s string) bool { return !strings.Contains(s, "\x00") })
	var bodies []firn.Body
	for i := range rapid.IntRange(0, 8).Draw(t, "n") {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			bodies = append(bodies, user(text.Draw(t, "said")))
		case 1:
			bodies = append(bodies, answer(firn.Thinking{Text: text.Draw(t, "thought")}, firn.Text{Text: text.Draw(t, "said")}))
		case 2:
			id := fmt.Sprintf("call%d", i)
			m := answer(firn.ToolCall{ID: id, Name: "ls", Arguments: []byte(`{"n":1.50}`)})
			m.StopReason = firn.StopToolUse
			bodies = append(bodies, m, result(id, "ls", text.Draw(t, "output")))
		case 3:
			bodies = append(bodies, &firn.Compaction{Summary: text.Draw(t, "summary")})
		}
	}
	return bodies
}

func TestPrintScan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bodies := conversation(rt)
		w := newWriter(t, dialect.Target{})
		w.print(chain(bodies...)...)
		back := scan(t, dialect.Origin{}, w.out)[1:]
		if len(back) != len(bodies) {
			rt.Fatalf("%d entries came back, want %d:\n%s", len(back), len(bodies), w.out)
		}
		for i, e := range back {
			want := firn.Entry{ID: e.ID, Parent: e.Parent, Time: e.Time, Body: bodies[i]}
			if c, ok := bodies[i].(*firn.Compaction); ok {
				want.Body = &firn.Compaction{Summary: c.Summary, FirstKept: e.ID}
			}
			if got, want := describeEntries([]firn.Entry{e}), describeEntries([]firn.Entry{want}); got != want {
				rt.Errorf("came back %s, want %s", got, want)
			}
		}
	})
}

func TestStamp(t *testing.T) {
	at := time.Date(2026, 4, 1, 9, 5, 0, 0, time.FixedZone("", 3600))
	for ns, want := range map[int]string{0: "", 500_000_000: ".500", 1_000: ".000001", 1: ".000000001", 123_456_789: ".123456789"} {
		if got := dialect.ChronoTime(at.Add(time.Duration(ns))); got != "2026-04-01T08:05:00"+want+"+00:00" {
			t.Errorf("%d nanoseconds are written %s", ns, got)
		}
	}
}
