package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/approve"
	"firn.dev/internal/base/route"
	"firn.dev/internal/find/redact"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/tool"
	"firn.dev/window"
	"firn.dev/wire"
)

// TestApprovalModeOfAMessage checks who can choose which mode.
func TestApprovalModeOfAMessage(t *testing.T) {
	owner, bound := Asker{Owner: true}, Asker{Token: "t", Bound: true}
	for _, c := range []struct {
		setting   approve.Mode
		requested string
		who       Asker
		want      approve.Mode
	}{
		{"", "", owner, ""},
		{"", "auto", owner, approve.Ask},
		{approve.AcceptEdits, "auto", owner, approve.AcceptEdits},
		{approve.Ask, "everything", owner, approve.Everything},
		{approve.Ask, "everything", bound, approve.Ask},
		{approve.Ask, "everything", Asker{}, approve.Ask},
		{approve.Ask, "everything", Asker{Owner: true, Outside: true}, approve.Ask},
		{approve.Ask, "read-only", bound, approve.ReadOnly},
		{"", "ask", bound, approve.Ask},
		{"", "everything", bound, approve.Everything},
	} {
		s := &Setup{Default: "main", Habits: map[string]AgentSettings{"main": {Approvals: Approvals{Mode: c.setting}}}}
		if got, err := s.approvalMode("", c.requested, c.who); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	if _, err := (&Setup{}).approvalMode("", "sometimes", owner); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("an unknown mode: %v", err)
	}
}

// TestApprovalModeOfAResumedTurn checks that a resumed turn is not more permissive than the
// one that was interrupted.
func TestApprovalModeOfAResumedTurn(t *testing.T) {
	text := func(mode string) window.Path {
		e := firn.UserText("x")
		if mode != "" {
			e.Extra = firn.Fields{{Name: approveField, Value: json.RawMessage(mode)}}
		}
		return window.Path{Entries: []firn.Entry{e, firn.AssistantText("y")}}
	}
	for _, c := range []struct {
		setting approve.Mode
		path    window.Path
		want    approve.Mode
	}{
		{"", text(""), approve.Everything},
		{"", text(`"ask"`), approve.Ask},
		{approve.Ask, text(`"everything"`), approve.Ask},
		{approve.AcceptEdits, text(`"read-only"`), approve.ReadOnly},
		{"", text(`7`), approve.ReadOnly},
		{"", window.Path{}, approve.Ask}, // the message was summarized
	} {
		g := &lanes{core: &core{}}
		g.setup.Store(&Setup{Habits: map[string]AgentSettings{"main": {Approvals: Approvals{Mode: c.setting}}}})
		a := &turnApprover{g: g, requested: []approve.Mode{""}, resumed: true}
		if got := a.mode(agent.Run{Agent: "main", Path: c.path}); got != c.want {
			t.Errorf("the setting %q and %s: %s, want %s", c.setting, c.path.Entries, got, c.want)
		}
	}
}

// ruleBook is a rule store in memory.
type ruleBook struct {
	mu    sync.Mutex
	rules []approve.Rule
}

func (b *ruleBook) Rules(firn.ID, string) ([]approve.Rule, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rules, nil
}

func (b *ruleBook) AddForSession(_ firn.ID, r approve.Rule) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rules = append(b.rules, r)
	return nil
}
func (b *ruleBook) AddForProject(_ string, r approve.Rule) error { return b.AddForSession("", r) }
func (b *ruleBook) Forget(firn.ID) error                         { return nil }

// TestWhoAnswersApprovals checks what a bound token may answer, that only one of many
// answers counts, and that bound tokens cannot append an answer.
func TestWhoAnswersApprovals(t *testing.T) {
	st := memstore.New(memstore.Options{})
	ran := make(chan string, 10)
	o := newJobGateway(t, st, time.Now(), func(s *Setup) {
		s.Agents["main"] = &agent.Agent{
			Name: "main", Store: st, NoTitles: true, Workspace: "/work",
			Model: scripted.New(scripted.Info(), scripted.Call("1", "shell", `{"command":"ls"}`), scripted.Reply("Done.")),
			Tools: []tool.Tool{tool.New("shell", "", func(_ context.Context, a struct {
				Command string `json:"command"`
			}) (tool.Result, error) {
				ran <- a.Command
				return tool.TextResult("listed"), nil
			})},
		}
	})
	defer o.close()
	o.Options.Approved = &ruleBook{}
	ctx := asOwner(t.Context())
	s, err := o.NewSession(ctx, wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	var q wire.Approval
	bound := WithAsker(t.Context(), Asker{Token: "t", Bound: true}, route.Everything())
	for e, err := range o.StreamTurn(ctx, s.ID, wire.Turn{Text: "go", Approve: "ask"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name != wire.ApprovalRequested {
			continue
		}
		if err := json.Unmarshal(e.Data, &q); err != nil {
			t.Fatal(err)
		}
		refused := func(ctx context.Context, a wire.ApprovalAnswer, kind wire.Kind) {
			t.Helper()
			if _, err := o.AnswerApproval(ctx, s.ID, q.Call, a); wire.KindOf(err) != kind && ProblemOf(err).Kind != kind {
				t.Errorf("%+v: %v, want %s", a, err, kind)
			}
		}
		refused(bound, wire.ApprovalAnswer{Decision: "allow", Scope: "project", Digest: q.Digest}, wire.NotAllowed)
		refused(ctx, wire.ApprovalAnswer{Decision: "allow"}, wire.Invalid)
		refused(ctx, wire.ApprovalAnswer{Decision: "perhaps", Digest: q.Digest}, wire.Invalid)
		refused(ctx, wire.ApprovalAnswer{Decision: "allow", Scope: "session", Rule: "shell(rm *)", Digest: q.Digest}, wire.Invalid)
		refused(ctx, wire.ApprovalAnswer{Decision: "refuse", Scope: "session", Digest: q.Digest}, wire.Invalid)
		for _, kind := range []string{agent.AskedType, agent.AnsweredType} {
			entries := []firn.Entry{firn.NewEntry(&firn.Custom{Type: kind, Data: json.RawMessage(`{"call":"1","allow":true}`)})}
			if err := signEntries(entries, Asker{Token: "t", Bound: true}); ProblemOf(err).Kind != wire.NotAllowed {
				t.Errorf("a bound token appends %s: %v", kind, err)
			}
		}
		won := make(chan bool, 8)
		for range 8 {
			go func() {
				_, err := o.AnswerApproval(bound, s.ID, q.Call, wire.ApprovalAnswer{Decision: "allow", Digest: q.Digest})
				won <- err == nil
			}()
		}
		wins := 0
		for range 8 {
			if <-won {
				wins++
			}
		}
		if wins != 1 {
			t.Errorf("%d of 8 answers counted", wins)
		}
	}
	if len(ran) != 1 {
		t.Errorf("the call ran %d times", len(ran))
	}
	if all, err := o.Approvals(ctx, s.ID); err != nil || len(all) != 0 {
		t.Errorf("pending: %v, %v", all, err)
	}
}

// TestRulesOutside checks that a stored rule with an absolute path allows a file outside of
// the workspace in every mode, and that a workspace has two names if it is a symbolic link.
func TestRulesOutside(t *testing.T) {
	o := newJobGateway(t, memstore.New(memstore.Options{}), time.Now(), func(s *Setup) {
		s.Agents["main"] = &agent.Agent{Name: "main", Workspace: "/srv/current", RealWorkspace: "/srv/releases/7"}
	})
	defer o.close()
	o.Options.Approved = &ruleBook{rules: []approve.Rule{{Tool: "edit", Pattern: "/etc/hosts"}}}
	for _, c := range []struct {
		mode approve.Mode
		path string
		want agent.Ruling
	}{
		{approve.Everything, "/etc/hosts", agent.Ruling{Outside: "/etc/hosts"}},
		{approve.Ask, "/etc/hosts", agent.Ruling{Outside: "/etc/hosts"}},
		{approve.Ask, "/etc/fstab", agent.Ruling{Ask: true, Outside: "/etc/fstab", Rule: "edit(/etc/fstab)"}},
		{approve.Everything, "/srv/releases/7/x", agent.Ruling{}},
		{approve.AcceptEdits, "../releases/7/x", agent.Ruling{}},
		{approve.Ask, "/srv/releases/8/x", agent.Ruling{Ask: true, Outside: "/srv/releases/8/x", Rule: "edit(/srv/releases/8/x)"}},
	} {
		a := &turnApprover{g: o.lanes, current: c.mode}
		call := firn.ToolCall{Name: "edit_file", Arguments: toJSON(map[string]string{"path": c.path})}
		if got := a.Decide(t.Context(), agent.Run{Agent: "main"}, call); got != c.want {
			t.Errorf("%s %s: %+v", c.mode, c.path, got)
		}
	}
	for _, mode := range []approve.Mode{approve.Everything, approve.ReadOnly} {
		a := &turnApprover{g: o.lanes, current: mode}
		if got := a.Decide(t.Context(), agent.Run{Agent: "main"}, firn.ToolCall{Name: "edit_file", Arguments: toJSON(map[string]string{"path": "/etc/fstab"})}); got.Refuse == "" {
			t.Errorf("%s: %+v", mode, got)
		}
	}
}

// redactingJobGateway returns a gateway whose agent calls a shell with a secret, which its store replaces.
// It returns the store, a channel of the commands that ran, and the number of replacements.
func redactingJobGateway(t *testing.T, secret string) (*jobGateway, store.Store, <-chan string, *atomic.Int64) {
	replaced, ran := new(atomic.Int64), make(chan string, 2)
	st := redact.Wrap(memstore.New(memstore.Options{}), redact.Options{Enabled: func() bool { return true }, Replaced: func(n int) { replaced.Add(int64(n)) }})
	o := newJobGateway(t, st, time.Now(), func(s *Setup) {
		s.Agents["main"] = &agent.Agent{
			Name: "main", Store: st, NoTitles: true, Workspace: "/work",
			Model: scripted.New(scripted.Info(), scripted.Call("1", "shell", `{"command":"login `+secret+`"}`), scripted.Reply("Done.")),
			Tools: []tool.Tool{tool.New("shell", "", func(_ context.Context, a struct {
				Command string `json:"command"`
			}) (tool.Result, error) {
				ran <- a.Command
				return tool.TextResult("token " + secret), nil
			})},
		}
	})
	o.Options.Approved = &ruleBook{}
	return o, st, ran, replaced
}

// awaitPending waits until a turn waits for the answer to a call, which it does shortly after
// the event.
func awaitPending(ctx context.Context, t *testing.T, p *pendingAnswers, id firn.ID, call string) {
	t.Helper()
	for {
		w, added := p.find(id, call)
		if w != nil {
			return
		}
		select {
		case <-added:
		case <-ctx.Done():
			t.Fatal("no turn waits for the answer")
		}
	}
}

// TestApprovalOfARedactedCall checks that a call whose secret is not stored can be approved,
// and runs with the secret.
func TestApprovalOfARedactedCall(t *testing.T) {
	secret := "ghp_" + "x7Kq9ZbT2mWv4RnY8cLp1DsF6hJg3QaE5uXo"
	o, st, ran, replaced := redactingJobGateway(t, secret)
	defer o.close()
	ctx, cancel := context.WithTimeout(asOwner(t.Context()), time.Minute)
	defer cancel()
	s, err := o.NewSession(ctx, wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range o.StreamTurn(ctx, s.ID, wire.Turn{Text: "go", Approve: "ask"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name != wire.ApprovalRequested {
			continue
		}
		awaitPending(ctx, t, &o.approvals, s.ID, "1")
		all, err := o.Approvals(ctx, s.ID)
		if err != nil || len(all) != 1 {
			t.Fatalf("pending: %v, %v", all, err)
		}
		if _, err := o.AnswerApproval(ctx, s.ID, all[0].Call, wire.ApprovalAnswer{Decision: "allow", Digest: all[0].Digest}); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-ran; got != "login "+secret {
		t.Errorf("ran %q", got)
	}
	if n := replaced.Load(); n < 2 {
		t.Errorf("%d were counted", n)
	}
	checkNotStored(t, st, s.ID, secret)
}

// checkNotStored checks that no entry of a session contains a text.
func checkNotStored(t *testing.T, st store.Store, id firn.ID, text string) {
	t.Helper()
	for rec, err := range st.Read(t.Context(), id, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := rec.Entry()
		if err != nil {
			t.Fatal(err)
		}
		line, err := native.New().Append(nil, e)
		if err != nil || bytes.Contains(line, []byte(text)) {
			t.Errorf("stored %s, %v", line, err)
		}
	}
}
