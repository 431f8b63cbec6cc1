package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/tool"
	"firn.dev/window"
	"firn.dev/window/windowtest"
)

// randomWindow is the window of the model in the random test.
const randomWindow = 4000

// life is a session to which random operations are applied.
type life struct {
	t    *rapid.T
	st   *filestore.Store
	a    *agent.Agent
	id   firn.ID
	file string
	// before is the content of the file at the last check.
	before []byte
	// dice is the random source of the model, which runs in its own goroutine, where
	// rapid's must not be used. It is renewed for each action. Faults are the errors found
	// by the model.
	dice   *rand.Rand
	faults []string
	// now is the agent's time, which passes between turns.
	now time.Time
}

// TestRandomTurns applies random operations to a session: turns, compactions and their undo,
// moves, hiding and showing, with flushes, naming, pruning and concurrent user messages. In
// any order, the file only grows, every request is valid and fits its window, undoing a
// compaction restores the previous window, a successful turn leaves nothing unanswered, and
// the counts match a full count.
func TestRandomTurns(t *testing.T) {
	home := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(home, fmt.Sprint(n))
		st, err := filestore.Open(dir, filestore.Options{Sync: filestore.SyncNever})
		if err != nil {
			rt.Fatal(err)
		}
		defer st.Close()
		l := &life{t: rt, st: st, id: firn.NewID(), dice: rand.New(rand.NewPCG(1, 2)), now: time.Now()}
		l.file = filepath.Join(dir, "agents", "main", "sessions", string(l.id)+".jsonl")
		l.a = l.agent()
		defer l.a.Close()
		l.turn()
		do := func(f func()) func(*rapid.T) {
			return func(*rapid.T) {
				l.dice = rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "dice"), 0))
				f()
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"turn": do(l.turn), "compact": do(l.compact), "undo": do(l.undo), "move": do(l.move), "hide": do(l.hide),
			"": func(*rapid.T) { l.checkFile() },
		})
	})
}

// agent makes an agent with all its habits, as far as the dice want them.
func (l *life) agent() *agent.Agent {
	a := &agent.Agent{Store: l.st, Model: l.model(), Tools: []tool.Tool{echo("echo"), echo("remember")}, System: "Be good.", Backoff: quick}
	a.Clock = func() time.Time { return l.now }
	a.Compaction.Mode = rapid.SampledFrom([]compact.Mode{compact.Auto, compact.Suggest, compact.Off}).Draw(l.t, "mode")
	a.NoTitles = rapid.Bool().Draw(l.t, "no titles")
	a.Flush = agent.Flush{Off: rapid.Bool().Draw(l.t, "no flush"), Soft: 500}
	if rapid.Bool().Draw(l.t, "prunes") {
		a.Pruning.After = 5 * time.Minute
		a.Pruning.Pruning = window.Pruning{
			KeepLastAssistants: 1, SoftTrimRatio: 0.1, HardClearRatio: 0.3, MinPrunableChars: 500,
			SoftTrim: window.SoftTrim{MaxChars: 300, HeadChars: 100, TailChars: 100},
		}
	}
	return a
}

// model answers at random: text long and short, calls, failures.
func (l *life) model() *scripted.Model {
	info := scripted.Info()
	info.Window = randomWindow
	info.Profile = rapid.SampledFrom(window.Profiles()).Draw(l.t, "profile")
	var m *scripted.Model
	m = scripted.Func(info, func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		l.check(req, info)
		switch req.Purpose {
		case provider.ForSummary:
			return m.Play(ctx, req, l.summary())
		case provider.ForFlush:
			return m.Play(ctx, req, l.notes(len(req.Window.Items)))
		case provider.ForTitle:
			return m.Play(ctx, req, scripted.Reply("A random life"))
		}
		l.interrupt()
		return m.Play(ctx, req, l.answer(len(req.Window.Items)))
	})
	return m
}

// check checks that the provider accepts a request.
func (l *life) check(req provider.Request, info provider.Info) {
	if err := windowtest.Check(info.Profile, req.Window); err != nil {
		l.faults = append(l.faults, fmt.Sprintf("refused: %v", err))
	}
	if tokens := req.Window.Tokens.System + req.Window.Tokens.Items; tokens > info.Window {
		l.faults = append(l.faults, fmt.Sprintf("%d tokens are sent to a window of %d", tokens, info.Window))
	}
}

// interrupt occasionally adds a user message while the model answers.
func (l *life) interrupt() {
	if l.dice.IntN(8) > 0 {
		return
	}
	if _, err := l.st.Append(context.Background(), l.id, store.Any, firn.UserText("by the way")); err != nil {
		l.faults = append(l.faults, err.Error())
	}
}

// notes answers in a flush.
func (l *life) notes(n int) scripted.Step {
	steps := []scripted.Step{
		scripted.Reply(agent.NoReply), scripted.Call(fmt.Sprint("n", n), "remember", arg("a fact")), scripted.Call(fmt.Sprint("n", n), "echo", arg("no")),
		scripted.Fail(&provider.Error{Kind: provider.Auth}),
	}
	return steps[l.dice.IntN(len(steps))]
}

func (l *life) summary() scripted.Step {
	summaries := []scripted.Step{
		scripted.Reply("## Goal\nTo live.\n## Progress\nSome things happened.\n## Next Steps\nMore was planned."),
		scripted.Reply(""),
		scripted.Reply(strings.Repeat("far too long ", 2000)),
		scripted.Call("1", "echo", arg("no")),
		scripted.Fail(&provider.Error{Kind: provider.BadRequest}),
	}
	return summaries[l.dice.IntN(len(summaries))]
}

func (l *life) answer(n int) scripted.Step {
	words := strings.Repeat("lorem ", 1+l.dice.IntN(500))
	switch l.dice.IntN(10) {
	case 0, 1, 2:
		return scripted.Join(scripted.Call(fmt.Sprint("a", n), "echo", arg(words)), scripted.Call(fmt.Sprint("b", n), "echo", arg("fail")))
	case 3:
		return scripted.Fail(&provider.Error{Kind: provider.Auth})
	case 4:
		return scripted.Cut(1, scripted.Reply(words))
	case 5:
		return scripted.Fail(&provider.Error{Kind: provider.Overflow})
	}
	return scripted.Reply(words)
}

// turn runs a turn, which may fail as models fail. If it succeeds, everything is answered.
func (l *life) turn() {
	l.now = l.now.Add(time.Duration(l.dice.IntN(10)) * time.Minute)
	text := strings.Repeat("ipsum ", 1+l.dice.IntN(500))
	failure := l.run(agent.TextInput(text))
	l.a.Wait() // for the title
	var loop *agent.Loop
	var big *compact.TooBig
	if failure == nil {
		if err := l.run(agent.Input{}); !errors.Is(err, firn.ErrInvalid) {
			l.t.Errorf("something is left to answer: %v", err)
		}
	} else if provider.KindOf(failure) == "" && !errors.As(failure, &loop) && !errors.As(failure, &big) {
		l.t.Errorf("a turn failed with %v", failure)
	}
}

func (l *life) run(in agent.Input) (failure error) {
	for _, err := range l.a.Run(context.Background(), l.id, in) {
		failure = err
	}
	return failure
}

// compact compacts, undoes it and redoes it, and checks the window each time.
func (l *life) compact() {
	before := l.window()
	_, err := l.a.Compact(context.Background(), l.id, "")
	var big *compact.TooBig
	if errors.Is(err, compact.ErrNothing) || errors.As(err, &big) {
		return
	}
	if err != nil {
		l.t.Fatal(err)
	}
	after := l.window()
	if _, err := compact.Undo(context.Background(), l.st, l.id, ""); err != nil {
		l.t.Fatal(err)
	}
	same(l.t, "undoing", l.window(), before)
	if rapid.Bool().Draw(l.t, "redo") {
		if _, err := compact.Redo(context.Background(), l.st, l.id, ""); err != nil {
			l.t.Fatal(err)
		}
		same(l.t, "redoing", l.window(), after)
	}
}

// same compares windows. The diff is slow and computed only if they differ.
func same(t *rapid.T, what string, got, want window.Window) {
	if slices.EqualFunc(got.Items, want.Items, func(a, b window.Item) bool {
		return reflect.DeepEqual(a.Message, b.Message) && slices.Equal(a.From, b.From)
	}) {
		return
	}
	if diff := cmp.Diff(want.Items, got.Items, cmpopts.IgnoreUnexported(window.Item{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s gives another window:\n%s", what, diff)
	}
}

func (l *life) undo() {
	if _, err := compact.Undo(context.Background(), l.st, l.id, ""); err != nil && !errors.Is(err, compact.ErrNothing) {
		l.t.Fatal(err)
	}
}

// move moves the head to any entry.
func (l *life) move() {
	to := l.any()
	if _, err := l.a.Move(context.Background(), l.id, to, rapid.Bool().Draw(l.t, "summarize")); err != nil {
		l.t.Fatal(err)
	}
}

// hide hides any entry there is.
func (l *life) hide() {
	if _, err := l.st.Append(context.Background(), l.id, store.Any, firn.Hide(l.any())); err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) any() firn.EntryID {
	var ids []firn.EntryID
	for rec, err := range l.st.Read(context.Background(), l.id, store.Start) {
		if err != nil {
			l.t.Fatal(err)
		}
		if rec.Glance.ID != "" {
			ids = append(ids, rec.Glance.ID)
		}
	}
	return rapid.SampledFrom(ids).Draw(l.t, "entry")
}

func (l *life) window() window.Window {
	path, err := window.Collect(l.st.ReadBack(context.Background(), l.id, store.End))
	if err != nil {
		l.t.Fatal(err)
	}
	return window.Build(path, window.Options{Profile: l.a.Model.Info().Profile})
}

// checkFile checks that the old content of the file is unchanged, that the model found no
// faults, and the counts.
func (l *life) checkFile() {
	for _, fault := range l.faults {
		l.t.Error(fault)
	}
	l.faults = nil
	now, err := os.ReadFile(l.file)
	if err != nil {
		l.t.Fatal(err)
	}
	if !bytes.HasPrefix(now, l.before) {
		l.t.Error("history was rewritten")
	}
	l.before = now
	l.count()
}

// count compares the counts with a full count.
func (l *life) count() {
	got, err := agent.Count(context.Background(), l.st, l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	var whole agent.Counters
	for rec, err := range l.st.Read(context.Background(), l.id, store.Start) {
		if err != nil {
			l.t.Fatal(err)
		}
		entry, err := rec.Entry()
		if err != nil {
			l.t.Fatal(err)
		}
		whole.Add(entry)
	}
	if got != whole {
		l.t.Errorf("the counters are %+v, recomputed %+v", got, whole)
	}
}
