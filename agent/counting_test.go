package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/tool"
)

// readCounted returns the usage of the session and checks that a full count gives the same.
func readCounted(t *testing.T, b *workbench) agent.Counters {
	t.Helper()
	b.Wait()
	c, err := agent.Count(t.Context(), b.Store, b.id)
	if err != nil {
		t.Fatal(err)
	}
	var whole agent.Counters
	for _, e := range b.entries() {
		whole.Add(e)
	}
	if whole != c {
		t.Errorf("the counters are %+v, recomputed %+v", c, whole)
	}
	return c
}

// counters reports whether the session ends with a counters record.
func counters(b *workbench) bool {
	all := b.entries()
	c, ok := all[len(all)-1].Body.(*firn.Custom)
	return ok && c.Type == "firn.counters"
}

// priced makes the answer of a step cost something.
func priced(s scripted.Step) scripted.Step {
	s.Usage = &firn.Usage{Input: 100, Output: 10, CacheRead: 1, CacheWrite: 2, Total: 113, Cost: firn.Cost{Total: 0.25}}
	return s
}

// TestEverythingCounts checks that model calls outside the turn (title, notes, summary) are
// counted.
func TestEverythingCounts(t *testing.T) {
	b := playOn(t, small(8000, shortly))
	asked := map[provider.Purpose]int{}
	b.Model = pricing{b.model, asked}
	b.Tools = []tool.Tool{echo("remember")}
	b.NoTitles = false
	b.runText("Hello.")
	b.Wait()
	seed(t, b, 12)
	before := maps.Clone(asked)
	out := b.runText("go")
	c := readCounted(t, b)
	total, meanwhile := 0, 0
	for _, purpose := range []provider.Purpose{provider.ForTurn, provider.ForTitle, provider.ForFlush, provider.ForSummary} {
		if asked[purpose] == 0 {
			t.Errorf("the model was never called for %q", purpose)
		}
		total += asked[purpose]
		meanwhile += asked[purpose] - before[purpose]
	}
	if out.Usage.Input != 100*int64(meanwhile) {
		t.Errorf("after %d answers the turn used %+v", meanwhile, out.Usage)
	}
	n, answers := int64(total), total-asked[provider.ForSummary]+1 // those of a compaction count as one
	wanted := agent.Counters{Input: 100 * n, Output: 10 * n, CacheRead: n, CacheWrite: 2 * n, Cost: 0.25 * float64(n), Answers: answers, Turns: 14, Compactions: 1, Window: 113,
		Messages: 28, Active: c.Active, Last: c.Last} // the duration is not compared
	if c != wanted {
		t.Errorf("counters: %+v, want %+v", c, wanted)
	}
}

// pricing is a model whose answers all have the same cost.
type pricing struct {
	provider.Model
	asked map[provider.Purpose]int
}

func (p pricing) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	p.asked[req.Purpose]++
	return func(yield func(provider.Event, error) bool) {
		for e, err := range p.Model.Stream(ctx, req) {
			if done, ok := e.(provider.Done); ok {
				done.Message.Usage = priced(scripted.Step{}).Usage
				e = done
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestStoppedFlushCounts checks that the calls of a stopped flush are counted.
func TestStoppedFlushCounts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := full(t)
	b.Tools = []tool.Tool{tool.Func("remember", "", nil, func(context.Context, json.RawMessage) (tool.Result, error) {
		cancel()
		return tool.TextResult("noted"), nil
	})}
	if _, err := b.run(ctx, agent.TextInput("go")); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if c := readCounted(t, b); c.Answers != 1 || c.Output == 0 {
		t.Errorf("counters: %+v", c)
	}
	if n := len(b.model.Requests()); n != 1 {
		t.Errorf("the model was called %d times", n)
	}
}

// TestBrokenAnswersDoNotCount interrupts an answer: its usage is unknown, and the next one
// counts once.
func TestBrokenAnswersDoNotCount(t *testing.T) {
	hello := priced(scripted.Reply("Hello, who are you and what do you want?"))
	b := play(t, scripted.Cut(2, hello), hello, scripted.Hang(2, hello), hello)
	b.runText("one")
	stop := errors.New("stop")
	if _, err := stopAt(b, 2, stop, func() {}); !errors.Is(err, stop) { // in the middle of the answer
		t.Errorf("the error is %v", err)
	}
	b.runText("three")
	if c := readCounted(t, b); c.Answers != 2 || c.Input != 200 || c.Turns != 3 {
		t.Errorf("counters: %+v", c)
	}
	if !counters(b) {
		t.Error("the session does not end with its usage")
	}
}

// TestOldSessionIsCounted runs a turn in a long session that was never counted: the turn does
// not wait for the count, and after the background count the next turn does not count again.
func TestOldSessionIsCounted(t *testing.T) {
	b := playOn(t, small(200_000, shortly))
	b.old()
	b.Turns = 5
	b.runText("one")
	b.Wait()
	if !counters(b) {
		t.Error("the session does not end with its usage")
	}
	if c := readCounted(t, b); c.Turns != 1501 || c.Answers != 1501 {
		t.Errorf("counters: %+v", c)
	}
	reads := &counting{Store: b.mem()}
	if c, err := agent.Count(t.Context(), reads, b.id); err != nil || c.Turns != 1501 || reads.records > 10 {
		t.Errorf("after %d records, %+v, %v", reads.records, c, err)
	}
}

// old fills the session with 1,500 uncounted turns.
func (b *workbench) old() {
	b.t.Helper()
	for range 6 {
		var entries []firn.Entry
		for i := range 250 {
			text := firn.AssistantText("yes")
			text.Body.(*firn.Message).Usage = &firn.Usage{Input: 2, Output: 1, Total: 3}
			entries = append(entries, firn.UserText(fmt.Sprint("asked ", i)), text)
		}
		if _, err := b.Store.Append(b.t.Context(), b.id, store.Any, entries...); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestTurnsWhileCounting runs turns while a long session is being counted: it is read
// completely only once, and the new turns are counted.
func TestTurnsWhileCounting(t *testing.T) {
	b := playOn(t, small(200_000, shortly))
	b.old()
	b.Turns = 5
	slow := &slowly{Store: b.mem(), released: make(chan struct{})}
	b.Store = slow
	for _, text := range []string{"one", "two", "three"} {
		b.runText(text)
	}
	close(slow.released)
	b.Wait()
	b.Store = slow.Store
	if n := slow.whole.Load(); n != 1 || !counters(b) {
		t.Errorf("the session was read %d times, want once; it ends with what it used: %v", n, counters(b))
	}
	if c := readCounted(t, b); c.Turns != 1503 || c.Answers != 1503 {
		t.Errorf("counters: %+v", c)
	}
}

// slowly is a store that blocks the first record until it is released.
type slowly struct {
	*memstore.Store
	released chan struct{}
	whole    atomic.Int32
}

func (s *slowly) Read(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[firn.Record, error] {
	if after == store.Start {
		s.whole.Add(1)
		<-s.released
	}
	return s.Store.Read(ctx, id, after)
}

// TestCountersAfterConcurrentAppend checks the counts if another writer appends before a turn
// is counted.
func TestCountersAfterConcurrentAppend(t *testing.T) {
	b := play(t, scripted.Forever(priced(scripted.Reply("Fine."))))
	b.Store = &butting{Store: b.mem(), in: b, custom: "firn.counters", text: "and more"}
	b.runText("one")
	if c := readCounted(t, b); c.Turns != 2 || c.Answers != 1 {
		t.Errorf("counters: %+v", c)
	}
	if strings.Count(b.log(), "and more") != 1 || counters(b) {
		t.Errorf("no message was added during the turn:\n%s", b.log())
	}
	b.runText("two")
	if c := readCounted(t, b); c.Turns != 3 || c.Answers != 2 || !counters(b) {
		t.Errorf("counters: %+v", c)
	}
}

// counting is a store that counts the records that are read.
type counting struct {
	*memstore.Store
	records int
}

func (c *counting) ReadBack(ctx context.Context, id firn.ID, before firn.Pos) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		for rec, err := range c.Store.ReadBack(ctx, id, before) {
			if c.records++; !yield(rec, err) {
				return
			}
		}
	}
}
