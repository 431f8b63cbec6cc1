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
	"strings"
	"sync"
	"testing"

	"firn"
	"firn/agent"
	"firn/provider"
	"firn/provider/scripted"
	"firn/store"
	"firn/store/filestore"
	"firn/tool"
	"firn/window"
	"firn/window/windowtest"
)

// The tests of this file start this very program again and kill it with
// SIGKILL at every step of two turns: before and after every append, before
// the model answers, in the middle of an answer, while a tool runs, during a
// compaction. The child takes a step only when it is told to, so the parent
// knows where it is.

const (
	childHome    = "FIRN_AGENT_CHILD"
	childSession = "01890000-0000-7000-8000-000000000001"
)

func TestMain(m *testing.M) {
	if home := os.Getenv(childHome); home != "" {
		if err := child(home); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// stepper says where the child is, and waits to be told to go on.
type stepper struct {
	mu sync.Mutex
	in *bufio.Reader
}

func (s *stepper) step(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Printf(format+"\n", args...)
	if _, err := s.in.ReadByte(); err != nil {
		select {} // the parent kills us soon
	}
}

// child runs two turns: one with tools and an answer that is cut off once, and
// one that needs a compaction.
func child(home string) error {
	s := &stepper{in: bufio.NewReader(os.Stdin)}
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	a := killable(steppingStore{st, s}, s.step)
	for i, text := range []string{"first", "second", "third"} {
		in := agent.Say(text + strings.Repeat(" word", 800))
		in.ID = firn.EntryID(fmt.Sprintf("user-%d", i))
		for e, err := range a.Run(context.Background(), childSession, in) {
			if err != nil {
				return err
			}
			switch e := e.(type) {
			case agent.Appended:
				s.step("acked %s", e.Entry.ID)
			case agent.Delta:
				s.step("delta")
			}
		}
	}
	return a.Close()
}

// killable makes the agent that is killed: its window is small, its first
// answer is cut off, each turn calls two tools.
func killable(st store.Store, step func(string, ...any)) *agent.Agent {
	info := scripted.Info()
	info.Window = 4000
	cut := true
	var m *scripted.Model
	m = scripted.Func(info, func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		step("asked for %q", req.Purpose)
		last := req.Window.Items[len(req.Window.Items)-1].Message
		switch {
		case req.Purpose == provider.ForSummary:
			return m.Play(ctx, req, scripted.Say("## Goal\nTo be killed.\n## Progress\nSome words were said."))
		case req.Purpose == provider.ForTitle:
			return m.Play(ctx, req, scripted.Say("Killed in action"))
		case last.Role == firn.RoleToolResult:
			return m.Play(ctx, req, scripted.Say("It is all done and well, as you can see."))
		case cut:
			cut = false
			return m.Play(ctx, req, scripted.Cut(2, scripted.Say("This sentence will never be finished because of the network")))
		}
		return m.Play(ctx, req, scripted.Join(scripted.Say("I shall look."), scripted.Call("a", "look", `{}`), scripted.Call("b", "look", `{}`)))
	})
	look := tool.New("look", "", func(context.Context, struct{}) (tool.Result, error) {
		step("looking")
		return tool.TextResult(strings.Repeat("seen ", 200)), nil
	})
	return &agent.Agent{Store: st, Model: m, Tools: []tool.Tool{look}, Backoff: quick, NoTitles: true}
}

// steppingStore stops before and after every append.
type steppingStore struct {
	*filestore.Store
	s *stepper
}

func (st steppingStore) Append(ctx context.Context, id firn.ID, expect firn.Pos, entries ...firn.Entry) (firn.Pos, error) {
	st.s.step("appending %T", entries[0].Body)
	end, err := st.Store.Append(ctx, id, expect, entries...)
	st.s.step("appended")
	return end, err
}

// TestKillAtEveryStep kills the child at its first step, its second, and so
// on, until it gets to its end alive.
func TestKillAtEveryStep(t *testing.T) {
	if testing.Short() {
		killEvery(t, 7)
		return
	}
	killEvery(t, 1)
}

func killEvery(t *testing.T, stride int) {
	where := map[string]int{}
	for n := 1; ; n += stride {
		home := t.TempDir()
		acked, last, alive := killAt(t, home, n)
		where[last]++
		checkKilled(t, home, acked, fmt.Sprintf("killed at step %d, %s", n, last))
		if alive {
			break
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("killed at %v", where)
	for _, place := range []string{"appending *firn.Compaction", "looking", "delta", `asked for "summary"`} {
		if where[place] == 0 && stride == 1 {
			t.Errorf("never killed at %q", place)
		}
	}
}

// killAt starts a child, lets it take n steps and kills it. It returns what
// the child acknowledged, where it was, and whether it had ended by itself.
func killAt(t *testing.T, home string, n int) (acked []firn.EntryID, last string, alive bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
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
	lines := bufio.NewScanner(out)
	for taken := 0; lines.Scan(); taken++ {
		last = lines.Text()
		if id, ok := strings.CutPrefix(last, "acked "); ok {
			acked = append(acked, firn.EntryID(id))
			last = "acked"
		}
		if taken == n {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return acked, last, false
		}
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the child failed: %v", err)
	}
	return acked, last, true
}

// checkKilled looks at what a killed child left: all it acknowledged is there,
// once; and the next turn works, with requests that every provider accepts.
func checkKilled(t *testing.T, home string, acked []firn.EntryID, where string) {
	t.Helper()
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	times := map[firn.EntryID]int{}
	for rec, err := range st.Read(t.Context(), childSession, store.Start) {
		if errors.Is(err, firn.ErrNotFound) && len(acked) == 0 {
			break
		}
		if err != nil || rec.Gap != nil {
			t.Fatalf("%s: %v %v", where, err, rec.Gap)
		}
		times[rec.Glance.ID]++
	}
	for _, id := range acked {
		if times[id] != 1 {
			t.Errorf("%s: entry %s is there %d times", where, id, times[id])
		}
	}
	for i := range 3 {
		if id := firn.EntryID(fmt.Sprintf("user-%d", i)); times[id] > 1 {
			t.Errorf("%s: message %s is there %d times", where, id, times[id])
		}
	}
	for _, profile := range window.Profiles() {
		goOn(t, st, profile, where)
	}
}

// goOn runs a turn after a kill, on a model of the given kind that refuses
// what the real one refuses.
func goOn(t *testing.T, st *filestore.Store, profile window.Profile, where string) {
	t.Helper()
	info := scripted.Info()
	info.Profile, info.Window, info.API, info.Name = profile, 4000, profile.Name, profile.Name
	var m *scripted.Model
	m = scripted.Func(info, func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		if err := windowtest.Check(profile, req.Window); err != nil {
			t.Errorf("%s: %s refuses: %v", where, profile.Name, err)
		}
		if req.Purpose == provider.ForSummary {
			return m.Play(ctx, req, scripted.Say("## Goal\nTo go on.\n## Progress\nIt was killed."))
		}
		return m.Play(ctx, req, scripted.Say("Here I am again."))
	})
	a := &agent.Agent{Store: st, Model: m, NoTitles: true, Backoff: quick}
	defer a.Close()
	for _, err := range a.Run(t.Context(), childSession, agent.Say("are you there?")) {
		if err != nil {
			t.Errorf("%s: going on with %s: %v", where, profile.Name, err)
		}
	}
}
