package compact

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/window"
	"firn.dev/window/windowtest"

	"pgregory.net/rapid"
)

// TestRandom applies random operations to a session. Written entries must stay, providers
// must accept the window, compactions must fit, and undoing one must restore the window.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{T: t, st: memstore.New(memstore.Options{}), size: rapid.SampledFrom([]int64{2_000, 8_000}).Draw(t, "window")}
		w.add(firn.UserText("Begin with src/part0.go."))
		t.Repeat(map[string]func(*rapid.T){
			"say":     w.addMessage,
			"call":    w.call,
			"note":    w.note,
			"hide":    w.hide,
			"rewind":  w.rewind,
			"compact": w.compact,
			"undo":    w.undo,
			"redo":    w.redo,
			"":        w.check,
		})
	})
}

// world is a session and its expected state.
type world struct {
	*rapid.T
	st   *memstore.Store
	size int64
	log  []firn.Entry
	n    int
}

func (w *world) add(entries ...firn.Entry) {
	if _, err := w.st.Append(context.Background(), session, store.Any, entries...); err != nil {
		w.Fatal(err)
	}
}

func (w *world) path() window.Path {
	p, err := collect(context.Background(), w.st, session)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

func (w *world) window(profile window.Profile) window.Window {
	return window.Build(w.path(), window.Options{Profile: profile})
}

func (w *world) entries() []firn.Entry {
	var entries []firn.Entry
	for rec, err := range w.st.Read(context.Background(), session, store.Start) {
		if err != nil {
			w.Fatal(err)
		}
		entry, err := rec.Entry()
		if err != nil {
			w.Fatal(err)
		}
		entries = append(entries, entry)
	}
	return entries
}

func (w *world) text(t *rapid.T) string {
	w.n++
	length := rapid.SampledFrom([]int{1, 20, 200, 1500}).Draw(t, "length")
	return fmt.Sprintf("Item %d of src/part%d.go. ", w.n, w.n%9) + strings.Repeat("über ", length)
}

func (w *world) addMessage(t *rapid.T) {
	w.add(firn.UserText(w.text(t)), firn.AssistantText(w.text(t)))
}

// call makes parallel calls, some of which get results, with other entries between them.
func (w *world) call(t *rapid.T) {
	calls := rapid.IntRange(1, 3).Draw(t, "calls")
	m := &firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopToolUse}
	for i := range calls {
		m.Parts = append(m.Parts, firn.ToolCall{ID: fmt.Sprintf("c%d_%d", w.n, i), Name: "read_file", Arguments: []byte(`{"path":"src/part1.go"}`)})
	}
	entries := []firn.Entry{firn.NewEntry(m)}
	for i, n := 0, w.n; i < calls; i++ {
		if rapid.Bool().Draw(t, "between") {
			entries = append(entries, firn.NewEntry(&firn.CustomMessage{Type: "x", Parts: []firn.Part{firn.Text{Text: w.text(t)}}}))
		}
		if rapid.IntRange(0, 4).Draw(t, "answered") > 0 {
			entries = append(entries, answer(fmt.Sprintf("c%d_%d", n, i), "read_file", w.text(t)))
		}
	}
	w.add(entries...)
}

// target returns any entry but the header.
func (w *world) target(t *rapid.T) firn.EntryID {
	entries := w.entries()[1:]
	return entries[rapid.IntRange(0, len(entries)-1).Draw(t, "target")].ID
}

func (w *world) note(t *rapid.T) {
	target := w.target(t)
	w.add(label(target, rapid.SampledFrom([]string{"pin", "", "x"}).Draw(t, "name")))
}

func (w *world) hide(t *rapid.T) {
	w.add(firn.Hide(w.target(t)))
}

func (w *world) rewind(t *rapid.T) {
	e := firn.NewEntry(&firn.Head{Reason: "rewind"})
	e.Parent = w.target(t)
	w.add(e)
}

// model returns a model that answers well, badly or not at all.
func (w *world) model(t *rapid.T) provider.Model {
	if rapid.IntRange(0, 3).Draw(t, "without") == 0 {
		return nil
	}
	step := rapid.SampledFrom([]string{"good", "empty", "huge", "fail"}).Draw(t, "model")
	var m *scripted.Model
	m = scripted.Func(info(w.size), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		s := scripted.Reply(good(asked(req)))
		switch step {
		case "empty":
			s = scripted.Reply("")
		case "huge":
			s = scripted.Reply(strings.Repeat("src/part1.go ", 20_000))
		case "fail":
			s = scripted.Fail(errors.New("boom"))
		}
		if req.Window.Tokens.Total+req.MaxTokens > w.size {
			w.Errorf("a question has %d tokens, with an answer of %d; the window is %d", req.Window.Tokens.Total, req.MaxTokens, w.size)
		}
		return m.Play(ctx, req, s)
	})
	return m
}

func (w *world) compact(t *rapid.T) {
	profiles := window.Profiles()
	profile := profiles[rapid.IntRange(0, len(profiles)-1).Draw(t, "profile")]
	before := w.window(profile)
	j := Job{
		Store: w.st, Session: session, Window: w.size, Model: w.model(t),
		Reason:   rapid.SampledFrom([]Reason{Manual, Threshold, Overflow}).Draw(t, "reason"),
		Settings: Settings{KeepRecent: rapid.SampledFrom([]int64{0, 1, 500}).Draw(t, "keep"), Backoff: provider.Backoff{Retries: -1}},
		Build:    window.Options{Profile: profile},
		System:   rapid.SampledFrom([]int64{0, 100, 1000}).Draw(t, "system"),
	}
	result, err := Run(context.Background(), j)
	var big *TooBig
	switch {
	case err == nil:
		after := w.window(profile)
		if after.Tokens.Items+j.System != result.After || result.After > j.Limit(w.size) || after.Tokens.Items >= before.Tokens.Items {
			t.Fatalf("%d tokens are now %d, the result says %d, the limit is %d", before.Tokens.Items, after.Tokens.Items, result.After, j.Limit(w.size))
		}
		if rapid.Bool().Draw(t, "undo at once") {
			if _, err := Undo(context.Background(), w.st, session, ""); err != nil {
				t.Fatal(err)
			}
			sameWindow(w, before, w.window(profile))
			if rapid.Bool().Draw(t, "redo at once") {
				if _, err := Redo(context.Background(), w.st, session, ""); err != nil {
					t.Fatal(err)
				}
				sameWindow(w, after, w.window(profile))
			}
		}
	case errors.Is(err, ErrNothing), errors.Is(err, ErrPaused):
	case errors.As(err, &big):
		if big.System+big.Tail+big.Summary+minBody <= big.Limit {
			t.Fatalf("it was too big although everything fits: %+v", big)
		}
	default:
		t.Fatal(err)
	}
}

func (w *world) undo(t *rapid.T) {
	if _, err := Undo(context.Background(), w.st, session, ""); err != nil && !errors.Is(err, ErrNothing) {
		t.Fatal(err)
	}
}

func (w *world) redo(t *rapid.T) {
	if _, err := Redo(context.Background(), w.st, session, ""); err != nil && !errors.Is(err, ErrNothing) {
		t.Fatal(err)
	}
}

// check verifies the invariants.
func (w *world) check(t *rapid.T) {
	entries := w.entries()
	if len(w.log) > 0 && !reflect.DeepEqual(w.log, entries[:len(w.log)]) {
		t.Fatal("written entries changed")
	}
	w.log = entries
	for _, profile := range window.Profiles() {
		if err := windowtest.Check(profile, w.window(profile)); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzPlan checks for any path that planning fails only with the documented errors and
// never separates a call from its result.
func FuzzPlan(f *testing.F) {
	f.Add([]byte{}, int64(1), int64(0))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, int64(10), int64(100))
	f.Add([]byte{0, 20, 35, 36, 3, 52, 68, 84, 21, 37, 5, 0}, int64(40), int64(8000))
	f.Add([]byte{20, 36, 8, 9, 35, 7, 20, 20, 35}, int64(7), int64(-1))
	f.Fuzz(func(t *testing.T, data []byte, keep, size int64) {
		p := chain(invent(data)...)
		for i := range p.Entries {
			if _, ok := p.Entries[i].Body.(*firn.Compaction); ok {
				p.Compaction = &p.Entries[i]
			}
		}
		for _, how := range []Keep{KeepRecent, KeepTurn, KeepLast, KeepNothing, 99, -1} {
			plan, err := NewPlan(p, Settings{KeepRecent: keep}, PlanOptions{Window: size, Keep: how, Again: keep%2 == 0})
			if err != nil && !errors.Is(err, ErrNothing) {
				t.Fatal(err)
			}
			checkPlan(t, p.Entries, plan)
		}
	})
}

func checkPlan(t *testing.T, entries []firn.Entry, plan Plan) {
	t.Helper()
	first := len(plan.Summarize) + len(plan.Prefix)
	if first+len(plan.Kept) != len(entries) || plan.Split != (len(plan.Prefix) > 0) {
		t.Fatalf("%d + %d + %d entries of %d, split %v", len(plan.Summarize), len(plan.Prefix), len(plan.Kept), len(entries), plan.Split)
	}
	if len(plan.Kept) > 0 && (plan.FirstKept != entries[first].ID || plan.Kept[0].ID != plan.FirstKept) || len(plan.Kept) == 0 && plan.FirstKept != "" {
		t.Fatalf("first kept is %q", plan.FirstKept)
	}
	// The window of the kept entries must not have more results without a call than the
	// window of all entries.
	if all, kept := orphans(entries), orphans(entries[first:]); kept > all {
		t.Fatalf("%d results without a call after the cut, %d in total", kept, all)
	}
	if cut, all := orphans(entries[:first]), orphans(entries); cut > all {
		t.Fatalf("%d results without a call before the cut, %d in total", cut, all)
	}
}

// orphans counts the results that the rules leave out because they have no call.
func orphans(entries []firn.Entry) int {
	w := window.Build(window.Path{Entries: entries}, window.Options{Profile: window.OpenAIChat()})
	n := 0
	for _, r := range w.Repairs {
		if r.Rule == "pair" && strings.Contains(r.What, "no such call") {
			n++
		}
	}
	return n
}

// invent makes entries from bytes: the lower four bits select the kind, the upper four the
// variant or length.
func invent(data []byte) []firn.Entry {
	var entries []firn.Entry
	for _, b := range data[:min(len(data), 300)] {
		what, n := b%16, int(b/16)
		id, text := fmt.Sprint("c", n%4), strings.Repeat("word ", n*n)
		m := &firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Text{Text: text}}}
		var body firn.Body = m
		switch what {
		case 0, 1:
			m.Role = firn.RoleUser
		case 2:
		case 3, 4:
			m.Role, m.Parts = firn.RoleToolResult, []firn.Part{firn.ToolResult{CallID: id, Content: m.Parts}}
		case 5:
			m.Parts = append(m.Parts, firn.ToolCall{ID: id, Name: "ls"}, firn.ToolCall{ID: "c0", Name: "ls"})
		case 6, 7:
			m.Parts = append(m.Parts, firn.ToolCall{ID: id, Name: "ls"})
		case 8:
			m.StopReason, m.Parts = firn.StopAborted, append(m.Parts, firn.ToolCall{ID: id, Name: "ls"})
		case 9:
			m.Role, m.Parts = firn.RoleShell, []firn.Part{firn.Shell{Command: "ls", Output: text}}
		case 10:
			body = &firn.CustomMessage{Type: "x", Parts: m.Parts}
		case 11:
			body = &firn.BranchSummary{From: "e0", Summary: text}
		case 12:
			body = &firn.Label{Target: "e0", Name: "pin"}
		case 13:
			body = &firn.Compaction{Summary: text, FirstKept: "e0"}
		case 14:
			m.Role, m.Parts = firn.Role(id), nil
		case 15:
			body = nil
		}
		entries = append(entries, firn.Entry{Body: body})
	}
	return entries
}
