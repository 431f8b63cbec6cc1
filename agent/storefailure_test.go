package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store/memstore"
	"firn.dev/tool"
)

// errDisk is the error of a failing store.
var errDisk = fmt.Errorf("the disk is full: %w", firn.ErrNotSaved)

// failing is a store whose nth operation of one kind fails.
type failing struct {
	*memstore.Store
	// op is the kind of operation, and at the number of the one that fails; zero means none.
	op string
	at int
	// forever makes all following operations fail too; written performs the operation but
	// reports a failure.
	forever, written bool

	mu sync.Mutex
	// done lists the operations of that kind so far.
	done []string
}

// fails counts an operation and reports whether it should fail.
func (f *failing) fails(op, what string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if op != f.op {
		return false
	}
	f.done = append(f.done, what)
	n := len(f.done)
	return f.at > 0 && (n == f.at || f.forever && n > f.at)
}

// heal makes the store work from now on.
func (f *failing) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = 0
}

// failAppends makes every append fail from now on.
func (f *failing) failAppends() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.op, f.at, f.forever, f.done = "Append", 1, true, nil
}

// hit returns the nth operation, or "" if the turn had fewer.
func (f *failing) hit(n int) string {
	if n > len(f.done) {
		return ""
	}
	return f.done[n-1]
}

func (f *failing) Append(ctx context.Context, id firn.ID, expect firn.Pos, entries ...firn.Entry) (firn.Pos, error) {
	return f.write(ctx, "Append", id, expect, entries)
}

func (f *failing) AppendDeferred(ctx context.Context, id firn.ID, expect firn.Pos, entries ...firn.Entry) (firn.Pos, error) {
	return f.write(ctx, "AppendDeferred", id, expect, entries)
}

func (f *failing) write(ctx context.Context, op string, id firn.ID, expect firn.Pos, entries []firn.Entry) (firn.Pos, error) {
	if !f.fails(op, contents(entries)) {
		return f.Store.Append(ctx, id, expect, entries...)
	}
	if f.written {
		_, _ = f.Store.Append(ctx, id, expect, entries...)
	}
	return 0, errDisk
}

func (f *failing) Read(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[firn.Record, error] {
	return f.read("Read", f.Store.Read(ctx, id, after))
}

func (f *failing) ReadBack(ctx context.Context, id firn.ID, before firn.Pos) iter.Seq2[firn.Record, error] {
	return f.read("ReadBack", f.Store.ReadBack(ctx, id, before))
}

func (f *failing) read(op string, records iter.Seq2[firn.Record, error]) iter.Seq2[firn.Record, error] {
	if !f.fails(op, "records") {
		return records
	}
	return func(yield func(firn.Record, error) bool) { yield(firn.Record{}, errDisk) }
}

// contents lists the roles and types of entries.
func contents(entries []firn.Entry) string {
	var names []string
	for _, e := range entries {
		switch b := e.Body.(type) {
		case *firn.Message:
			names = append(names, string(b.Role))
		case *firn.Custom:
			names = append(names, b.Type)
		default:
			names = append(names, string(b.Kind()))
		}
	}
	return strings.Join(names, ",")
}

// busy returns an agent whose next turn does everything that a turn can do: it saves notes,
// compacts, calls tools, and streams so slowly that drafts are saved.
func busy(t *testing.T) (*workbench, *failing) {
	slowly := func(s scripted.Step) scripted.Step { s.Delay = 300 * time.Millisecond; return s }
	b := playOn(t, small(4000, func(req provider.Request) scripted.Step {
		last := req.Window.Items[len(req.Window.Items)-1].Message
		switch {
		case req.Purpose == provider.ForFlush && last.Role == firn.RoleUser:
			return scripted.Call("n", "remember", arg("a note"))
		case req.Purpose == provider.ForFlush:
			return scripted.Reply(agent.NoReply)
		case last.Role == firn.RoleUser && strings.HasSuffix(last.Text(), "go"):
			return slowly(scripted.Join(scripted.Reply("Let me see what there is to be done."), scripted.Call("1", "echo", arg("a")), scripted.Call("2", "echo", arg("b"))))
		}
		return slowly(scripted.Reply("All done here and that is that."))
	}))
	b.Tools = []tool.Tool{echo("echo"), echo("remember")}
	b.Flush.Soft = 100
	seed(t, b, 7)
	f := &failing{Store: b.Store.(*memstore.Store)}
	b.Store = f
	return b, f
}

// TestFailingStore makes each operation of a turn fail: once, permanently, or after it was
// performed. The caller gets the error, acknowledged entries are stored once, and when the
// store works again the same message is answered, stored once, and the session continues.
func TestFailingStore(t *testing.T) {
	for _, op := range []string{"Append", "AppendDeferred", "Read", "ReadBack"} {
		for _, way := range []string{"once", "always", "after writing"} {
			if way == "after writing" && strings.HasPrefix(op, "Read") {
				continue
			}
			t.Run(op+" "+way, func(t *testing.T) {
				n := 1
				for failAt(t, op, way, n) {
					n++
				}
				if n < 3 {
					t.Errorf("a turn has only %d operations of the kind %s", n-1, op)
				}
			})
		}
	}
}

// failAt runs a turn whose nth operation of a kind fails and checks the result. It returns
// false if there is no such operation.
func failAt(t *testing.T, op, way string, n int) (there bool) {
	synctest.Test(t, func(t *testing.T) {
		b, f := busy(t)
		f.op, f.at, f.forever, f.written = op, n, way == "always", way == "after writing"
		in := agent.TextInput("go")
		in.ID = "user-1"
		events, err := b.run(t.Context(), in)
		f.heal()
		what, last := f.hit(n), n == len(f.done)
		there = what != ""
		// The counters are written last, and can be recomputed.
		counting := what == "firn.counters" || op == "ReadBack" && last
		if there && !counting && !reported(events, err) {
			t.Errorf("%s %d, %s: the error is %v", op, n, what, err)
		}
		onceEach(t, b, events)
		if _, err := b.run(t.Context(), in); err != nil && !errors.Is(err, firn.ErrConflict) {
			t.Errorf("%s %d, %s: sending the message again failed: %v", op, n, what, err)
		}
		b.runText("and now?")
		if c := strings.Count(b.log(), "user: go"); c != 1 {
			t.Errorf("%s %d, %s: the message is stored %d times:\n%s", op, n, what, c, b.log())
		}
		if !strings.Contains(b.log(), "All done here") {
			t.Errorf("%s %d, %s: the message is not answered:\n%s", op, n, what, b.log())
		}
		b.accepted()
	})
	return there
}

// reported reports whether the caller was informed of the failure, by the turn or by a
// failed compaction.
func reported(events []agent.Event, err error) bool {
	return errors.Is(err, firn.ErrNotSaved) || slices.ContainsFunc(events, func(e agent.Event) bool {
		c, ok := e.(agent.CompactionDone)
		return ok && errors.Is(c.Err, firn.ErrNotSaved)
	})
}

// onceEach checks that every acknowledged entry is in the log exactly once.
func onceEach(t *testing.T, b *workbench, events []agent.Event) {
	t.Helper()
	times := map[firn.EntryID]int{}
	for _, e := range b.entries() {
		times[e.ID]++
	}
	for _, e := range events {
		var id firn.EntryID
		switch e := e.(type) {
		case agent.Started:
			id = e.Entry
		case agent.Appended:
			id = e.Entry.ID
		default:
			continue
		}
		if times[id] != 1 {
			t.Errorf("%T %s is stored %d times", e, id, times[id])
		}
	}
}

// TestNotSavedWhileStopping stops a turn at each of its events while the disk is full: the
// caller gets both errors.
func TestNotSavedWhileStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := busy(t)
		whole, err := b.run(t.Context(), agent.TextInput("go"))
		if err != nil {
			t.Fatal(err)
		}
		stop := errors.New("stop")
		for n := range lastResult(whole) {
			b, f := busy(t)
			events, err := stopAt(b, n, stop, f.failAppends)
			if !errors.Is(err, stop) || !errors.Is(err, firn.ErrNotSaved) {
				t.Errorf("stopped at event %d, %T: the error is %v", n, whole[n], err)
			}
			f.heal()
			onceEach(t, b, events)
			b.runText("and now?")
			b.accepted()
		}
	})
}

// stopAt runs a turn and cancels it at its nth event, after calling first.
func stopAt(b *workbench, n int, why error, first func()) (events []agent.Event, err error) {
	ctx, cancel := context.WithCancelCause(b.t.Context())
	defer cancel(nil)
	for e, failure := range b.Run(ctx, b.id, agent.TextInput("go")) {
		if err = failure; err != nil {
			continue
		}
		if len(events) == n {
			first()
			cancel(why)
		}
		events = append(events, e)
	}
	return events, err
}

// lastResult returns the index of the last tool result. A turn that is stopped before the
// model is called again has no answer.
func lastResult(events []agent.Event) int {
	for i, e := range slices.Backward(events) {
		if _, ok := e.(agent.ToolDone); ok {
			return i
		}
	}
	return 0
}
