package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store/filestore"
	"firn.dev/tool"
)

// named returns an input with an ID.
func named(id firn.EntryID, text string) agent.Input {
	in := agent.TextInput(text)
	in.ID = id
	return in
}

// onDisk puts the workbench on a file store, which knows only the IDs of the latest entries,
// so that the agent itself must prevent duplicates.
func (b *workbench) onDisk() *workbench {
	b.t.Helper()
	st, err := filestore.Open(b.t.TempDir(), filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := errors.Join(b.Close(), st.Close()); err != nil {
			b.t.Error(err)
		}
	})
	b.Store = st
	return b
}

// times counts the entries of a name.
func (b *workbench) times(id firn.EntryID) (n int) {
	b.t.Helper()
	for _, e := range b.entries() {
		if e.ID == id {
			n++
		}
	}
	return n
}

// refuses checks that an answered message is not answered again: the error is a conflict, and
// nothing is written.
func (b *workbench) refuses(in agent.Input) {
	b.t.Helper()
	before, asked := len(b.entries()), len(b.model.Requests())
	if events, err := b.run(b.t.Context(), in); !errors.Is(err, firn.ErrConflict) {
		b.t.Errorf("answering %s again gave %s, %v", in.ID, kinds(events), err)
	}
	if n := len(b.entries()) - before; n != 0 {
		b.t.Errorf("%d entries were written", n)
	}
	if n := len(b.model.Requests()) - asked; n != 0 {
		b.t.Errorf("the model was called %d times", n)
	}
	if n := b.times(in.ID); n != 1 {
		b.t.Errorf("%s is stored %d times", in.ID, n)
	}
}

// names are the kinds of IDs that a message may have: a native one, one of a client whose
// clock is ahead, and a foreign one.
func names(t *testing.T) map[string]firn.EntryID {
	return map[string]firn.EntryID{"ours": firn.NewEntryID(), "of a clock that is ahead": ahead(t, 4*time.Minute), "foreign": "user-1"}
}

// ahead returns an ID as made by a clock that is ahead: the milliseconds and twenty more bits,
// in base 32.
func ahead(t *testing.T, by time.Duration) firn.EntryID {
	t.Helper()
	const letters = "0123456789abcdefghjkmnpqrstvwxyz"
	made := time.Now().Add(by).Truncate(time.Millisecond)
	var id []byte
	for n := uint64(made.UnixMilli())<<20 | 1; len(id) < 13; n >>= 5 {
		id = append(id, letters[n&31])
	}
	slices.Reverse(id)
	if got, ok := firn.EntryID(id).Time(); !ok || !got.Equal(made) {
		t.Fatalf("%s was made at %v, not %v", id, got, made)
	}
	return firn.EntryID(id)
}

// TestRepeatedLater repeats an answered message: immediately, and after a hundred turns and
// many compactions, in files and after reading them again.
func TestRepeatedLater(t *testing.T) {
	for kind, id := range names(t) {
		t.Run(kind, func(t *testing.T) {
			b := playOn(t, small(8000, longReply)).onDisk()
			in := named(id, "go")
			if _, err := b.run(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			b.refuses(in)
			for i := range 100 {
				b.runText(fmt.Sprint("more ", i))
			}
			if compactions(b) < 3 {
				t.Fatal("it is still in the live part, so the test checks nothing")
			}
			b.refuses(in)
		})
	}
}

// TestRepeatedAfterCompaction fails a turn after compactions have moved the message out of the
// live part. A repetition is not stored again, and the turn continues.
func TestRepeatedAfterCompaction(t *testing.T) {
	for kind, id := range names(t) {
		t.Run(kind, func(t *testing.T) {
			rounds := 0
			b := playOn(t, small(8000, func(req provider.Request) scripted.Step {
				if rounds++; rounds == 25 {
					return scripted.Fail(&provider.Error{Kind: provider.Auth})
				}
				if rounds > 25 {
					return scripted.Reply("Done.")
				}
				return scripted.Join(scripted.Reply(strings.Repeat("I look around. ", 100)),
					scripted.Call(fmt.Sprint(rounds), "echo", arg(fmt.Sprint(rounds, strings.Repeat(" word", 300)))))
			})).onDisk()
			b.Tools = []tool.Tool{echo("echo")}
			in := named(id, "do the great task")
			if _, err := b.run(t.Context(), in); provider.KindOf(err) != provider.Auth || compactions(b) < 3 {
				t.Fatalf("%d compactions, %v", compactions(b), err)
			}
			events, err := b.run(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			if s := events[0].(agent.Started); !s.Repeated || s.Entry != id || b.times(id) != 1 {
				t.Errorf("it is stored %d times, and the events are %+v", b.times(id), s)
			}
			b.refuses(in)
			b.accepted()
		})
	}
}

// TestRepeatedOlder repeats a message that was answered while a later one was
// not: the later one is not answered in its name.
func TestRepeatedOlder(t *testing.T) {
	b := play(t, scripted.Reply("Yes."), scripted.Fail(&provider.Error{Kind: provider.Auth}))
	if _, err := b.run(t.Context(), named("a", "Is it?")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.run(t.Context(), named("b", "And that?")); provider.KindOf(err) != provider.Auth {
		t.Fatal(err)
	}
	b.refuses(named("a", "Is it?"))
}

// TestRepeatedMidTool repeats a message whose turn was stopped during a tool call, and one
// whose turn was killed there: the turn continues from the call.
func TestRepeatedMidTool(t *testing.T) {
	for name, breaks := range map[string]func(*workbench, agent.Input){
		"stopped": func(b *workbench, in agent.Input) {
			ctx, cancel := context.WithCancel(b.t.Context())
			b.Tools = []tool.Tool{tool.Func("echo", "", nil, func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
				cancel()
				return tool.Result{}, ctx.Err()
			})}
			_, _ = b.run(ctx, in)
		},
		"killed": func(b *workbench, in agent.Input) {
			f := &failing{Store: b.mem(), op: "Append", at: 3, forever: true}
			b.Store = f
			_, _ = b.run(b.t.Context(), in)
			b.Store = f.Store
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := play(t, scripted.Call("1", "echo", arg("x")), scripted.Reply("Done."))
			b.Tools = []tool.Tool{echo("echo")}
			breaks(b, named("user-1", "go"))
			if !strings.Contains(b.log(), "assistant: echo") || strings.Contains(b.log(), "toolResult: =") {
				t.Fatalf("that is no broken turn:\n%s", b.log())
			}
			if _, err := b.run(t.Context(), named("user-1", "go")); err != nil {
				t.Fatal(err)
			}
			if b.times("user-1") != 1 || !strings.HasSuffix(b.log(), "assistant: Done.") {
				t.Errorf("it is stored %d times:\n%s", b.times("user-1"), b.log())
			}
			b.refuses(named("user-1", "go"))
			b.accepted()
		})
	}
}

// TestRepeatedWithHistory repeats a message with a history of the caller's: it
// is stored once, and sent once.
func TestRepeatedWithHistory(t *testing.T) {
	b := play(t, scripted.Reply("One."), scripted.Fail(&provider.Error{Kind: provider.Auth}), scripted.Reply("Hello."))
	b.runText("in the session")
	in := named("user-1", "now")
	in.History = []firn.Message{
		{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "elsewhere"}}},
		{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Text{Text: "yes"}}, StopReason: firn.StopEnd},
	}
	if _, err := b.run(t.Context(), in); provider.KindOf(err) != provider.Auth {
		t.Fatal(err)
	}
	if _, err := b.run(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	want(t, b.sent(2), "user: elsewhere", "assistant: yes", "user: now")
	b.refuses(in)
}

// TestRepeatedAtOnce sends the same message many times concurrently to a new session: it is
// stored once.
func TestRepeatedAtOnce(t *testing.T) {
	for name, b := range map[string]*workbench{"memory": play(t), "files": play(t).onDisk()} {
		t.Run(name, func(t *testing.T) {
			b.Model = scripted.New(scripted.Info(), scripted.Forever(scripted.Reply("Fine.")))
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if _, err := b.run(context.Background(), named("user-1", "go")); err != nil && !errors.Is(err, firn.ErrConflict) {
						t.Errorf("the error is %v", err)
					}
				})
			}
			all.Wait()
			if n := b.times("user-1"); n != 1 {
				t.Errorf("it is stored %d times", n)
			}
			if !strings.Contains(b.log(), "Fine.") {
				t.Errorf("it is not answered:\n%s", b.log())
			}
		})
	}
}

// TestManyAtOnce sends many messages concurrently to a new session: each is stored once,
// and the session continues.
func TestManyAtOnce(t *testing.T) {
	b := playOn(t, small(100_000, func(provider.Request) scripted.Step { return scripted.Reply("Fine.") })).onDisk()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := b.run(context.Background(), named(firn.EntryID(fmt.Sprint("user-", i)), "go")); err != nil && !errors.Is(err, firn.ErrConflict) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	all.Wait()
	for i := range 8 {
		if n := b.times(firn.EntryID(fmt.Sprint("user-", i))); n != 1 {
			t.Errorf("message %d is stored %d times", i, n)
		}
	}
	b.runText("and now?")
	b.accepted()
}
