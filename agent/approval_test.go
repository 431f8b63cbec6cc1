package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/approve"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/tool"
	"firn.dev/window"
)

// fakeApprover is an approver that asks about the tool "act" and answers with a function.
type fakeApprover struct {
	answer func(ctx context.Context, q agent.Question) (agent.Answer, error)
	asked  atomic.Int32
}

func (k *fakeApprover) Decide(_ context.Context, _ agent.Run, call firn.ToolCall) agent.Ruling {
	switch call.Name {
	case "act":
		return agent.Ruling{Ask: true, Rule: "act"}
	case "never":
		return agent.Ruling{Refuse: "the mode is read-only"}
	}
	return agent.Ruling{}
}

func (k *fakeApprover) Ask(ctx context.Context, _ agent.Run, q agent.Question) (agent.Answer, error) {
	k.asked.Add(1)
	return k.answer(ctx, q)
}

func replying(allow bool, reason string) func(context.Context, agent.Question) (agent.Answer, error) {
	return func(_ context.Context, q agent.Question) (agent.Answer, error) {
		return agent.Answer{Call: q.Call, Digest: q.Digest, Allow: allow, Reason: reason}, nil
	}
}

func suspends(context.Context, agent.Question) (agent.Answer, error) {
	return agent.Answer{}, agent.ErrSuspended
}

// acting returns the tools act, never and look, and the number of times act has run.
func acting() ([]tool.Tool, *atomic.Int32) {
	ran := new(atomic.Int32)
	return []tool.Tool{
		tool.New("act", "", func(_ context.Context, a struct {
			Text string `json:"text"`
		}) (tool.Result, error) {
			ran.Add(1)
			return tool.TextResult("acted " + a.Text), nil
		}),
		echo("look"), echo("never"),
	}, ran
}

// customs lists the approval entries of the session.
func (b *workbench) customs() string {
	var lines []string
	for _, e := range b.entries() {
		if c, ok := e.Body.(*firn.Custom); ok && strings.HasPrefix(c.Type, "firn.approval.") {
			var d struct {
				Call  string
				Allow bool
			}
			_ = json.Unmarshal(c.Data, &d)
			line := strings.TrimPrefix(c.Type, "firn.approval.") + " " + d.Call
			if d.Allow {
				line += " yes"
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// TestApproved checks that an approved call runs after the answer is stored, and that the wait
// for the approval does not count toward its duration.
func TestApproved(t *testing.T) { synctest.Test(t, testApproved) }

func testApproved(t *testing.T) {
	b := play(t, scripted.Call("1", "act", `{"text":"x"}`), scripted.Reply("Done."))
	var ran *atomic.Int32
	b.Tools, ran = acting()
	stored := false
	b.Approver = &fakeApprover{answer: func(_ context.Context, q agent.Question) (agent.Answer, error) {
		if got := b.customs(); got != "asked 1" || ran.Load() != 0 {
			t.Errorf("when approval is requested the log has %q, and it ran %d times", got, ran.Load())
		}
		time.Sleep(time.Minute) // of the test's own clock
		return agent.Answer{Call: q.Call, Digest: q.Digest, Allow: true, Stored: func(err error) {
			stored = err == nil && b.customs() == "asked 1\nanswered 1 yes"
		}}, nil
	}}
	b.runText("go")
	want(t, b.log(), "user: go", `assistant: act{"text":"x"}`, "toolResult: =acted x", "assistant: Done.")
	if !stored || ran.Load() != 1 {
		t.Errorf("stored: %v, ran %d times", stored, ran.Load())
	}
	for _, e := range b.entries() {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleToolResult {
			if details := m.Parts[0].(firn.ToolResult).Details; !strings.Contains(string(details), `"ms":0`) {
				t.Errorf("the wait for the answer is part of the duration: %s", details)
			}
		}
	}
	b.accepted()
}

func TestRefused(t *testing.T) {
	b := play(t, scripted.Call("1", "act", `{"text":"x"}`), scripted.Call("2", "never", `{"text":"x"}`), scripted.Call("3", "look", `{"text":"y"}`), scripted.Reply("Done."))
	var ran *atomic.Int32
	b.Tools, ran = acting()
	b.Approver = &fakeApprover{answer: replying(false, "use the other file")}
	b.runText("go")
	want(t, b.log(), "user: go", `assistant: act{"text":"x"}`, "toolResult: !the call was not allowed: the user denied it: use the other file",
		`assistant: never{"text":"x"}`, "toolResult: !the call was not allowed: the mode is read-only",
		`assistant: look{"text":"y"}`, "toolResult: =y", "assistant: Done.")
	want(t, b.customs(), "asked 1", "answered 1")
	if ran.Load() != 0 {
		t.Error("a refused call ran")
	}
	b.accepted()
}

// outsideApprover asks about every call, with a path outside of the workspace.
type outsideApprover struct {
	fakeApprover
	path string
}

func (o *outsideApprover) Decide(context.Context, agent.Run, firn.ToolCall) agent.Ruling {
	return agent.Ruling{Ask: true, Outside: o.path}
}

// TestRefusedOutside checks that the contents of a file outside of the workspace are in the
// question, but not in the log before the user has agreed.
func TestRefusedOutside(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "credentials")
	if err := os.WriteFile(path, []byte("the secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := tool.OpenWorkspace(t.TempDir(), tool.WorkspaceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	arguments, _ := json.Marshal(map[string]string{"path": path, "content": "other"})
	b := play(t, scripted.Call("1", "write_file", string(arguments)), scripted.Reply("Done."))
	b.Tools = w.Tools()
	diff := ""
	b.Approver = &outsideApprover{path: path, fakeApprover: fakeApprover{answer: func(_ context.Context, q agent.Question) (agent.Answer, error) {
		diff = q.Diff
		return agent.Answer{Call: q.Call, Digest: q.Digest}, nil
	}}}
	b.runText("go")
	want(t, b.customs(), "asked 1", "answered 1")
	if !strings.Contains(diff, "-the secret") {
		t.Errorf("the question has the diff %q", diff)
	}
	for _, e := range b.entries() {
		if c, ok := e.Body.(*firn.Custom); ok && strings.Contains(string(c.Data), "the secret") {
			t.Errorf("the log has %s %s", c.Type, c.Data)
		}
	}
}

// TestAnswerForAnotherCall checks that an answer counts only for the call it was given for.
func TestAnswerForAnotherCall(t *testing.T) {
	for name, forge := range map[string]func(*agent.Answer){
		"another call":     func(a *agent.Answer) { a.Call = "2" },
		"other arguments":  func(a *agent.Answer) { a.Digest = approve.Digest("act", json.RawMessage(`{"text":"y"}`)) },
		"another tool":     func(a *agent.Answer) { a.Digest = approve.Digest("look", json.RawMessage(`{"text":"x"}`)) },
		"without a digest": func(a *agent.Answer) { a.Digest = "" },
	} {
		t.Run(name, func(t *testing.T) {
			b := play(t, scripted.Call("1", "act", `{"text":"x"}`), scripted.Reply("Done."))
			var ran *atomic.Int32
			b.Tools, ran = acting()
			var answerErr error
			b.Approver = &fakeApprover{answer: func(_ context.Context, q agent.Question) (agent.Answer, error) {
				a := agent.Answer{Call: q.Call, Digest: q.Digest, Allow: true, Stored: func(err error) { answerErr = err }}
				forge(&a)
				return a, nil
			}}
			b.runText("go")
			if ran.Load() != 0 || !errors.Is(answerErr, firn.ErrConflict) {
				t.Errorf("ran %d times, %v", ran.Load(), answerErr)
			}
			want(t, b.customs(), "asked 1")
		})
	}
}

// TestAskedAgain ends a turn while it waits for an approval. The next turn asks the same
// question again, without calling the model, and runs the call once.
func TestAskedAgain(t *testing.T) {
	b := play(t, scripted.Call("1", "act", `{"text":"x"}`), scripted.Reply("Done."))
	var ran *atomic.Int32
	b.Tools, ran = acting()
	b.Approver = &fakeApprover{answer: suspends}
	for _, in := range []agent.Input{agent.TextInput("go"), {}, {}} {
		if _, err := b.run(t.Context(), in); !errors.Is(err, agent.ErrSuspended) {
			t.Fatalf("the turn ended with %v", err)
		}
		want(t, b.log(), "user: go", `assistant: act{"text":"x"}`)
		want(t, b.customs(), "asked 1")
	}
	path, err := window.Collect(b.Store.ReadBack(t.Context(), b.id, store.End))
	if err != nil || !agent.Unfinished(path) {
		t.Fatalf("the session is not unfinished, %v", err)
	}
	if p := agent.PendingApprovals(path); len(p) != 1 || p[0].Call != "1" || string(p[0].Arguments) != `{"text":"x"}` || p[0].Rule != "act" {
		t.Fatalf("pending: %+v", p)
	}
	b.Approver = &fakeApprover{answer: replying(true, "")}
	if _, err := b.run(t.Context(), agent.Input{}); err != nil {
		t.Fatal(err)
	}
	want(t, b.log(), "user: go", `assistant: act{"text":"x"}`, "toolResult: =acted x", "assistant: Done.")
	want(t, b.customs(), "asked 1", "answered 1 yes")
	if ran.Load() != 1 || len(b.model.Requests()) != 2 {
		t.Errorf("ran %d times with %d requests", ran.Load(), len(b.model.Requests()))
	}
	b.accepted()
}

// TestPendingApprovalAskedAgainWithNewMessage checks that a new message does not skip the
// question.
func TestPendingApprovalAskedAgainWithNewMessage(t *testing.T) {
	b := play(t, scripted.Call("1", "act", `{"text":"x"}`), scripted.Reply("Done."))
	var ran *atomic.Int32
	b.Tools, ran = acting()
	b.Approver = &fakeApprover{answer: suspends}
	if _, err := b.run(t.Context(), agent.TextInput("go")); !errors.Is(err, agent.ErrSuspended) {
		t.Fatal(err)
	}
	b.Approver = &fakeApprover{answer: replying(false, "")}
	b.runText("and now?")
	if ran.Load() != 0 {
		t.Error("it ran")
	}
	want(t, b.customs(), "asked 1", "answered 1")
	b.accepted()
}

// TestAnsweredIsNotRunAgain checks that a call whose answer is in the log is not run after a
// crash: it may have run.
func TestAnsweredIsNotRunAgain(t *testing.T) {
	b := play(t, scripted.Call("1", "act", `{"text":"x"}`), scripted.Reply("Done."))
	var ran *atomic.Int32
	b.Tools, ran = acting()
	b.Approver = &fakeApprover{answer: suspends}
	if _, err := b.run(t.Context(), agent.TextInput("go")); !errors.Is(err, agent.ErrSuspended) {
		t.Fatal(err)
	}
	digest := approve.Digest("act", json.RawMessage(`{"text":"x"}`))
	answered := firn.NewEntry(&firn.Custom{Type: agent.AnsweredType, Data: json.RawMessage(`{"call":"1","digest":"` + digest + `","allow":true}`)})
	if _, err := b.Store.Append(t.Context(), b.id, store.Any, answered); err != nil {
		t.Fatal(err)
	}
	k := &fakeApprover{answer: replying(true, "")}
	b.Approver = k
	if _, err := b.run(t.Context(), agent.Input{}); err != nil {
		t.Fatal(err)
	}
	if ran.Load() != 0 || k.asked.Load() != 0 {
		t.Errorf("ran %d times, asked %d times", ran.Load(), k.asked.Load())
	}
	b.accepted()
}

// TestOneOfSeveralWaits suspends one of two parallel calls: the other has its result, and
// only the first is continued.
func TestOneOfSeveralWaits(t *testing.T) {
	both := scripted.Call("1", "act", `{"text":"x"}`)
	both.Parts = append(both.Parts, firn.ToolCall{ID: "2", Name: "look", Arguments: json.RawMessage(`{"text":"y"}`)})
	b := play(t, both, scripted.Reply("Done."))
	var ran *atomic.Int32
	b.Tools, ran = acting()
	b.Approver = &fakeApprover{answer: suspends}
	if _, err := b.run(t.Context(), agent.TextInput("go")); !errors.Is(err, agent.ErrSuspended) {
		t.Fatal(err)
	}
	want(t, b.log(), "user: go", `assistant: act{"text":"x"} look{"text":"y"}`, "toolResult: =y")
	b.Approver = &fakeApprover{answer: replying(true, "")}
	if _, err := b.run(t.Context(), agent.Input{}); err != nil {
		t.Fatal(err)
	}
	want(t, b.log(), "user: go", `assistant: act{"text":"x"} look{"text":"y"}`, "toolResult: =y", "toolResult: =acted x", "assistant: Done.")
	if ran.Load() != 1 {
		t.Errorf("ran %d times", ran.Load())
	}
	b.accepted()
}

// TestStoppedWhileAsking checks that a stop ends a pending call with a result.
func TestStoppedWhileAsking(t *testing.T) {
	b := play(t, scripted.Call("1", "act", `{"text":"x"}`), scripted.Reply("Fine."))
	b.Tools, _ = acting()
	ctx, cancel := context.WithCancel(t.Context())
	b.Approver = &fakeApprover{answer: func(ctx context.Context, _ agent.Question) (agent.Answer, error) {
		cancel()
		<-ctx.Done()
		return agent.Answer{}, context.Cause(ctx)
	}}
	if _, err := b.run(ctx, agent.TextInput("go")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	path, err := window.Collect(b.Store.ReadBack(t.Context(), b.id, store.End))
	if p := agent.PendingApprovals(path); err != nil || len(p) != 0 {
		t.Errorf("pending: %+v, %v", p, err)
	}
	b.Approver = nil
	b.runText("never mind")
	b.accepted()
}

// FuzzPendingApprovals checks that arbitrary approval entries never panic and never make a
// call pending that was not asked with its own digest.
func FuzzPendingApprovals(f *testing.F) {
	f.Add(`{"call":"1","name":"act","digest":"`+approve.Digest("act", json.RawMessage(`{"text":"x"}`))+`"}`, `{"call":"1"}`, false)
	f.Add(`{"call":"1","name":"look","arguments":{"text":"z"}}`, `null`, true)
	f.Fuzz(func(t *testing.T, asked, answered string, hasAnswer bool) {
		if !json.Valid([]byte(asked)) || !json.Valid([]byte(answered)) {
			return
		}
		call := firn.ToolCall{ID: "1", Name: "act", Arguments: json.RawMessage(`{"text":"x"}`)}
		p := window.Path{Entries: []firn.Entry{
			firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{call}}),
			firn.NewEntry(&firn.Custom{Type: agent.AskedType, Data: json.RawMessage(asked)}),
		}}
		if hasAnswer {
			p.Entries = append(p.Entries, firn.NewEntry(&firn.Custom{Type: agent.AnsweredType, Data: json.RawMessage(answered)}))
		}
		for _, q := range agent.PendingApprovals(p) {
			if q.Call != "1" || q.Name != "act" || q.Digest != approve.Digest(q.Name, q.Arguments) {
				t.Fatalf("pending: %+v", q)
			}
		}
	})
}
