package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/gateway/view"
	"firn.dev/provider/scripted"
	"firn.dev/window"
	"firn.dev/wire"
)

// runsOf formats runs on one line.
func runsOf(runs []wire.Run) string {
	var out []string
	for _, r := range runs {
		s := fmt.Sprintf("#%d–#%d ×%d", r.From, r.To, r.Count)
		if r.Why != "" {
			s += " " + r.Why
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestWindow(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		w := got(r.Window(r.ctx, sampleSession(r), ""))(t)
		same(t, "in", runsOf(w.In), "#8–#15 ×6")
		same(t, "out", runsOf(w.Out), "#1–#7 ×7 compacted, #9–#9 ×1 tombstoned, #14–#14 ×1 hidden")
		if w.Provider != "scripted" || w.Model != "scripted" || w.Profile != "anthropic" || w.Compactions != 1 || w.Head != "label-1" || w.End == 0 {
			t.Errorf("the window is %+v", w)
		}
		sum := w.Totals.System + w.Totals.Notes + w.Totals.Summary + w.Totals.Kept + w.Totals.Tools + w.Totals.Specs
		if w.Totals.System != (window.Chars{}).CountText("Be brief.") || w.Totals.Summary == 0 || w.Totals.Kept == 0 || w.Totals.Tools != 0 || sum != w.Usage.Tokens {
			t.Errorf("the totals are %+v, together %d, of %+v", w.Totals, sum, w.Usage)
		}
		if w.Count != len(w.Items) || w.Count != 3 || !w.Items[2].Synthetic || !strings.Contains(w.Items[0].Preview, "compacted into the following sum") {
			t.Errorf("the items are %+v", w.Items)
		}
		from := fmt.Sprint(w.Items[0].From)
		same(t, "the first item comes from", from, "[comp-1 user-4 user-5]")
	})
}

func TestWindowWithoutCompaction(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		w := got(r.Window(r.ctx, branchedSession(r), ""))(t)
		same(t, "in", runsOf(w.In), "#1–#2 ×2, #7–#16 ×9")
		same(t, "out", runsOf(w.Out), "#14–#14 ×1 tombstoned, #3–#6 ×4 other-branch")
	})
}

// TestWindowWithTools checks that tool results are counted separately, and that missing
// ones are repaired and reported.
func TestWindowWithTools(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		call := answers("answer-1", "let me see")
		m := call.Body.(*firn.Message)
		m.Usage, m.StopReason = nil, firn.StopToolUse
		m.Parts = append(m.Parts, firn.ToolCall{ID: "c1", Name: "read", Arguments: json.RawMessage(`{}`)}, firn.ToolCall{ID: "c2", Name: "read", Arguments: json.RawMessage(`{}`)})
		result := body("result-1", &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "c1", Name: "read", Content: []firn.Part{firn.Text{Text: strings.Repeat("line ", 800)}}}}})
		w := got(r.Window(r.ctx, r.start(firn.Header{}, says("user-1", "look"), call, result, says("user-2", "and?")), ""))(t)
		if w.Totals.Tools < 1000 || len(w.Repairs) == 0 || w.Repairs[0].Entry != "answer-1" {
			t.Errorf("the totals are %+v, the repairs %+v", w.Totals, w.Repairs)
		}
		synthetic := 0
		for _, it := range w.Items {
			if it.Synthetic {
				synthetic++
			}
		}
		if synthetic != 1 {
			t.Errorf("%d items were added: %+v", synthetic, w.Items)
		}
	})
}

func TestWindowThatIsLimited(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		r.setup.Load().Agents["main"].Turns = 2
		id := r.talk(5)
		w := got(r.Window(r.ctx, id, ""))(t)
		same(t, "in", runsOf(w.In), "#7–#10 ×4")
		same(t, "out", runsOf(w.Out), "#1–#6 ×6 turn-limit")
		same(t, "entries", lineIDs(t, allEntries(t, r, id, view.EntryQuery{View: wire.ViewWindow})),
			"user-1/turn-limit answer-1/turn-limit user-2/turn-limit answer-2/turn-limit user-3/turn-limit answer-3/turn-limit user-4 answer-4 user-5 answer-5")
	})
}

func TestWindowThatIsTooSmall(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		info := scripted.Info()
		info.Window = 1500
		r.setup.Load().Agents["main"].Model = scripted.New(info)
		id := r.talkAtLength(5)
		w := got(r.Window(r.ctx, id, ""))(t)
		if w.Usage.Tokens > 1500 || w.Usage.Window != 1500 {
			t.Errorf("the window is %+v", w.Usage)
		}
		same(t, "in", runsOf(w.In), "#5–#10 ×6")
		same(t, "out", runsOf(w.Out), "#1–#4 ×4 over-budget")
	})
}

func TestRequestOfAWindow(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talk(2)
		r.write(id, says("", "and?"))
		for as, want := range map[string]string{
			"model": "scripted", "scripted": "scripted", "scripted/scripted": "scripted", "scripted/other": "other",
		} {
			w, err := r.Window(r.ctx, id, as)
			if err != nil {
				t.Errorf("as %s: %v", as, err)
				continue
			}
			same(t, "as "+as, string(w.Request), `{"messages":5,"model":"`+want+`","system":"Be brief."}`)
		}
		for _, as := range []string{"nobody", "nobody/x", "scripted/none", "../x"} {
			_, err := r.Window(r.ctx, id, as)
			isKind(t, as, err, wire.NotFound)
		}
		r.View.Encode = nil
		_, err := r.Window(r.ctx, id, "model")
		isKind(t, "without an encoder", err, wire.Unsupported)
		_, err = r.Window(r.ctx, "nobody", "")
		isKind(t, "no session", err, wire.NotFound)
	})
}
