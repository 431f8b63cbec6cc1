package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
)

// looked fills a session with n calls whose results are 2,000 tokens each, as reported by a
// model.
func looked(t *testing.T, b *workbench, n int, at time.Time) {
	t.Helper()
	var entries []firn.Entry
	for i := range n {
		id := fmt.Sprint("c", i)
		used := int64(2100 * (i + 1))
		entries = append(entries, firn.UserText("look"),
			firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopToolUse, Time: at,
				Parts: []firn.Part{firn.ToolCall{ID: id, Name: "echo", Arguments: []byte("{}")}}}),
			firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Time: at,
				Parts: []firn.Part{firn.ToolResult{CallID: id, Name: "echo", Content: []firn.Part{firn.Text{Text: strings.Repeat(id, 4000)}}}}}),
			firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopEnd, Time: at, Parts: []firn.Part{firn.Text{Text: "ok"}},
				Usage: &firn.Usage{Input: used, Output: 10, Total: used + 10}}))
	}
	if _, err := b.Store.Append(t.Context(), b.id, store.Any, entries...); err != nil {
		t.Fatal(err)
	}
}

// pruning makes an agent that prunes, with a window of 20,000 tokens of which
// 18,000 may be used, and a clock of its own.
func pruning(t *testing.T) (b *workbench, now *time.Time) {
	clock := time.Now()
	b = playOn(t, small(20_000, func(provider.Request) scripted.Step { return scripted.Reply("Fine.") }))
	b.Clock = func() time.Time { return clock }
	b.Pruning.After = 5 * time.Minute
	b.Compaction.Reserve, b.Compaction.ReserveFloor = 2000, -1
	return b, &clock
}

// TestPruningMakesRoom checks that a session that fits after pruning is not compacted.
func TestPruningMakesRoom(t *testing.T) {
	for _, old := range []bool{true, false} {
		t.Run(fmt.Sprint("forgotten: ", old), func(t *testing.T) {
			b, now := pruning(t)
			looked(t, b, 8, *now)
			if old {
				*now = now.Add(6 * time.Minute)
			}
			b.runText(strings.Repeat("word ", 1400))
			if n := compactions(b); (n == 0) != old {
				t.Errorf("there were %d compactions", n)
			}
			requests := b.model.Requests()
			if tokens := requests[len(requests)-1].Window.Tokens; old && (tokens.Reported != 0 || tokens.Total != tokens.Items || tokens.Total > 12_000) {
				t.Errorf("the estimate is %+v", tokens)
			}
			b.accepted()
		})
	}
}

// TestPruningIsNotEnough checks that a session that is too large even after pruning is
// compacted, and that the request fits then.
func TestPruningIsNotEnough(t *testing.T) {
	b, now := pruning(t)
	looked(t, b, 8, *now)
	seed(t, b, 30)
	*now = now.Add(6 * time.Minute)
	b.runText("go")
	if n := compactions(b); n != 1 {
		t.Errorf("there were %d compactions", n)
	}
	requests := b.model.Requests()
	if tokens := requests[len(requests)-1].Window.Tokens; tokens.Total > 18_000 {
		t.Errorf("%+v are sent", tokens)
	}
	b.accepted()
}

// TestPruningIsMeasured checks that the size reported after pruning is that of the request,
// and that the next turn uses the new report.
func TestPruningIsMeasured(t *testing.T) {
	b, now := pruning(t)
	looked(t, b, 8, *now)
	*now = now.Add(6 * time.Minute)
	for range 2 {
		events, err := b.run(t.Context(), agent.TextInput("go"))
		if err != nil {
			t.Fatal(err)
		}
		requests := b.model.Requests()
		sent := requests[len(requests)-1].Window.Tokens.Items
		got := events[len(events)-2].(agent.WindowUsage)
		if got.Tokens < sent || got.Tokens > sent+10 {
			t.Errorf("the usage is %+v, %d were sent", got, sent)
		}
	}
}

// TestPruningAndUndo compacts a pruned session and undoes it: the request is the same as
// before, pruned.
func TestPruningAndUndo(t *testing.T) {
	b, now := pruning(t)
	b.Compaction.KeepRecent = 3000
	looked(t, b, 8, *now)
	*now = now.Add(6 * time.Minute)
	b.runText("go")
	pruned := b.sent(0)
	if !strings.Contains(pruned, "tool result") && len(pruned) > 40_000 {
		t.Fatalf("%d bytes are sent, so the test checks nothing", len(pruned))
	}
	if _, err := b.Compact(t.Context(), b.id, ""); err != nil {
		t.Fatal(err)
	}
	b.runText("and now?")
	requests := b.model.Requests()
	if after := b.sent(len(requests) - 1); len(after) > len(pruned)/2 {
		t.Errorf("compacted, %d bytes became %d", len(pruned), len(after))
	}
	if _, err := compact.Undo(t.Context(), b.Store, b.id, ""); err != nil {
		t.Fatal(err)
	}
	b.runText("and then?")
	requests = b.model.Requests()
	if again := b.sent(len(requests) - 1); !strings.HasPrefix(again, pruned) {
		t.Errorf("undone, %d bytes became %d", len(pruned), len(again))
	}
	b.accepted()
}
