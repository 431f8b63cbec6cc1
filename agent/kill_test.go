package agent_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
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
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/tool"
	"firn.dev/window"
	"firn.dev/window/windowtest"
)

// The tests of this file start this program again and kill it with SIGKILL at every step of
// three turns: before and after every append, before the model answers, in the middle of an
// answer, while a tool runs, and during a flush, naming and compaction. The child takes a
// step only on command, so the parent knows its state; it uses fake time, so that the slow
// model costs none.

const (
	childHome    = "FIRN_AGENT_CHILD"
	childSession = "01890000-0000-7000-8000-000000000001"
	// childTurns is the number of turns it runs; childMark starts the lines that report its
	// state.
	childTurns = 3
	childMark  = "step: "
)

// TestKilledChild is the child process. It does nothing unless started as one.
func TestKilledChild(t *testing.T) {
	if home := os.Getenv(childHome); home != "" {
		synctest.Test(t, func(t *testing.T) { child(t, home) })
	}
}

// stepper reports the state of the child and waits for the command to continue.
type stepper struct {
	mu sync.Mutex
	in *bufio.Reader
}

func (s *stepper) step(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Printf(childMark+format+"\n", args...)
	if _, err := s.in.ReadByte(); err != nil {
		select {} // the parent kills us soon
	}
}

// says returns the input of a turn of the child.
func says(turn int) agent.Input {
	return named(firn.EntryID(fmt.Sprintf("user-%d", turn)), fmt.Sprint("turn ", turn, strings.Repeat(" word", 800)))
}

// child runs its turns: with tools, with an answer that is cut off once, with
// a title, notes and a compaction.
func child(t *testing.T, home string) {
	s := &stepper{in: bufio.NewReader(os.Stdin)}
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	a := killable(steppingStore{st, s}, s.step)
	defer a.Close()
	for i := range childTurns {
		s.step("turn %d", i)
		for e, err := range a.Run(context.Background(), childSession, says(i)) {
			if err != nil {
				t.Fatal(err)
			}
			switch e := e.(type) {
			case agent.Appended:
				s.step("acked %s", e.Entry.ID)
			case agent.Delta:
				s.step("delta")
			}
		}
		a.Wait() // for the title
	}
}

// killable returns the agent that is killed: its window is small, its first answer is cut off,
// each turn calls two tools, and it streams slowly.
func killable(st store.Store, step func(string, ...any)) *agent.Agent {
	info := scripted.Info()
	info.Window = 4000
	cut, turn := true, 0
	type text struct {
		Text string `json:"text"`
	}
	var m *scripted.Model
	m = scripted.Func(info, func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		step("asked for %q", req.Purpose)
		last := req.Window.Items[len(req.Window.Items)-1].Message
		play := func(s scripted.Step) iter.Seq2[provider.Event, error] {
			s.Delay = 200 * time.Millisecond
			return m.Play(ctx, req, s)
		}
		switch {
		case req.Purpose == provider.ForSummary:
			return play(scripted.Reply("## Goal\nTo be killed.\n## Progress\nSome words were said."))
		case req.Purpose == provider.ForTitle:
			return play(scripted.Reply("Killed in action"))
		case req.Purpose == provider.ForFlush && last.Role == firn.RoleUser:
			return play(scripted.Call("n", "remember", arg("a fact")))
		case req.Purpose == provider.ForFlush:
			return play(scripted.Reply(agent.NoReply))
		case last.Role == firn.RoleToolResult:
			return play(scripted.Reply("It is all done and well, as you can see."))
		case cut:
			cut = false
			return play(scripted.Cut(3, scripted.Reply("This sentence will never be finished because of the network")))
		}
		// One of the calls takes longer than the other, alternately.
		slow := []string{arg("at once"), arg("at length")}
		if turn++; turn%2 == 0 {
			slices.Reverse(slow)
		}
		return play(scripted.Join(scripted.Reply("I shall look."), scripted.Call("a", "look", slow[0]), scripted.Call("b", "look", slow[1])))
	})
	look := tool.New("look", "", func(_ context.Context, a text) (tool.Result, error) {
		if a.Text == "at length" {
			<-time.After(time.Second)
		}
		step("looking %s", a.Text)
		return tool.TextResult(strings.Repeat("seen ", 200)), nil
	})
	note := tool.New("remember", "", func(_ context.Context, a text) (tool.Result, error) {
		step("writing down %s", a.Text)
		return tool.TextResult("noted"), nil
	})
	a := &agent.Agent{Store: st, Model: m, Tools: []tool.Tool{look, note}, Backoff: quick}
	a.Flush.Soft = 500
	return a
}

// steppingStore stops before and after every append.
type steppingStore struct {
	*filestore.Store
	s *stepper
}

func (st steppingStore) Append(ctx context.Context, id firn.ID, expect firn.Pos, entries ...firn.Entry) (firn.Pos, error) {
	st.s.step("appending %s", contents(entries))
	end, err := st.Store.Append(ctx, id, expect, entries...)
	st.s.step("appended")
	return end, err
}

func (st steppingStore) AppendDeferred(ctx context.Context, id firn.ID, expect firn.Pos, entries ...firn.Entry) (firn.Pos, error) {
	st.s.step("noting %s", contents(entries))
	end, err := st.Store.AppendDeferred(ctx, id, expect, entries...)
	st.s.step("noted")
	return end, err
}

// killed is how far a child got.
type killed struct {
	steps int
	// last is where it was, turn the turn it was in.
	last string
	turn int
	// acked are the entries it had acknowledged.
	acked []firn.EntryID
	// noting is set while a draft of an answer is being saved, drafted if a draft of an
	// incomplete answer is saved.
	noting, drafted bool
}

// TestKillAtEveryStep kills the child at its first step, its second, and so
// on.
func TestKillAtEveryStep(t *testing.T) {
	whole := killAt(t, t.TempDir(), -1)
	checkKilled(t, t.TempDir(), killed{}, window.Profiles()[0]) // before its first step
	stride := 1
	if testing.Short() {
		stride = 11
	}
	var mu sync.Mutex
	where := map[string]int{}
	t.Run("steps", func(t *testing.T) {
		profiles := window.Profiles()
		for n := 0; n < whole.steps; n += stride {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				home := t.TempDir()
				k := killAt(t, home, n)
				mu.Lock()
				where[k.last]++
				mu.Unlock()
				checkKilled(t, home, k, profiles[n%len(profiles)])
			})
		}
	})
	t.Logf("killed at %v", where)
	for _, place := range []string{
		"appending compaction", "appending toolResult", "appending assistant", "appending firn.usage,firn.usage,firn.memory-flush", "appending firn.usage,session_info",
		"noting firn.draft", "noting firn.counters", "looking at once", "looking at length", "appending toolResult,toolResult", "delta", "writing down a fact",
		`asked for ""`, `asked for "summary"`, `asked for "flush"`, `asked for "title"`,
	} {
		if where[place] == 0 && stride == 1 {
			t.Errorf("never killed at %q", place)
		}
	}
}

// killAt starts a child, lets it take n steps and kills it; with n < 0 it runs
// to its end.
func killAt(t *testing.T, home string, n int) (k killed) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledChild$")
	cmd.Env = append(os.Environ(), childHome+"="+home)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		step, ok := strings.CutPrefix(lines.Text(), childMark)
		if !ok {
			continue
		}
		k.at(step)
		if k.steps > n && n >= 0 {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return k
		}
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil || n >= 0 {
		t.Fatalf("the child ended after %d steps: %v", k.steps, err)
	}
	return k
}

// at records a step.
func (k *killed) at(step string) {
	k.steps++
	k.last = step
	if id, ok := strings.CutPrefix(step, "acked "); ok {
		k.acked, k.last = append(k.acked, firn.EntryID(id)), "acked"
	}
	if _, err := fmt.Sscanf(step, "turn %d", &k.turn); err == nil {
		k.last = "turn"
	}
	switch step {
	case "noting firn.draft":
		k.noting = true
	case "noted":
		k.drafted, k.noting = k.drafted || k.noting, false
	case "appended":
		k.drafted = false
	}
}

// checkKilled checks the state that a killed child left: all acknowledged entries are
// stored once. Then the same message is sent again: it is answered and stored once, and the
// partial answer is marked. The next turns work, with requests that every provider accepts.
func checkKilled(t *testing.T, home string, k killed, first window.Profile) {
	t.Helper()
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	times := timesOf(t, st)
	for _, id := range k.acked {
		if times[id] != 1 {
			t.Errorf("killed at %s: entry %s is stored %d times", k.last, id, times[id])
		}
	}
	if err := goOn(t, st, first, says(k.turn)); err != nil && !errors.Is(err, firn.ErrConflict) {
		t.Errorf("killed at %s: sent again: %v", k.last, err)
	}
	if err := goOn(t, st, first, agent.Input{}); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("killed at %s: something is left to answer: %v", k.last, err)
	}
	for _, profile := range window.Profiles() {
		if err := goOn(t, st, profile, agent.TextInput("are you there?")); err != nil {
			t.Errorf("killed at %s: continuing %s: %v", k.last, profile.Name, err)
		}
	}
	if marked := cutOff(t, st); marked != k.drafted {
		t.Errorf("killed at %s: an answer is marked as cut off: %t", k.last, marked)
	}
	times = timesOf(t, st)
	for i := range k.turn + 1 {
		if id := says(i).ID; times[id] != 1 {
			t.Errorf("killed at %s: message %s is stored %d times", k.last, id, times[id])
		}
	}
}

// timesOf counts the entries of the child's session by their names.
func timesOf(t *testing.T, st store.Store) map[firn.EntryID]int {
	t.Helper()
	times := map[firn.EntryID]int{}
	for rec, err := range st.Read(t.Context(), childSession, store.Start) {
		if errors.Is(err, firn.ErrNotFound) {
			break
		}
		if err != nil || rec.Gap != nil {
			t.Fatalf("%v %v", err, rec.Gap)
		}
		times[rec.Glance.ID]++
	}
	return times
}

// cutOff reports whether the session has an answer that is marked as cut off
// by a crash.
func cutOff(t *testing.T, st store.Store) bool {
	t.Helper()
	for rec, err := range st.Read(t.Context(), childSession, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		if e, err := rec.Entry(); err != nil {
			t.Fatal(err)
		} else if m, ok := e.Body.(*firn.Message); ok && m.StopReason == firn.StopAborted {
			return len(m.Parts) > 0
		}
	}
	return false
}

// goOn runs a turn after a kill, on a model that rejects the same requests as the real
// provider.
func goOn(t *testing.T, st store.Store, profile window.Profile, in agent.Input) (err error) {
	t.Helper()
	info := scripted.Info()
	info.Profile, info.Window, info.API, info.Name = profile, 4000, profile.Name, profile.Name
	var m *scripted.Model
	m = scripted.Func(info, func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		if err := windowtest.Check(profile, req.Window); err != nil {
			t.Errorf("%s rejects: %v", profile.Name, err)
		}
		if req.Purpose == provider.ForSummary {
			return m.Play(ctx, req, scripted.Reply("## Goal\nTo go on.\n## Progress\nIt was killed."))
		}
		return m.Play(ctx, req, scripted.Reply("Here I am again."))
	})
	a := &agent.Agent{Store: st, Model: m, NoTitles: true, Backoff: quick}
	defer a.Close()
	for _, failure := range a.Run(t.Context(), childSession, in) {
		if failure != nil {
			err = failure
		}
	}
	return err
}
