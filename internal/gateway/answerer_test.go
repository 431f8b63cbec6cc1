package gateway

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/window"
	"firn.dev/wire"
)

// pair is a gateway with the agents main and coder that records their requests.
type pair struct {
	*jobGateway
	mu   sync.Mutex
	sent map[string][]string
	// begun receives the name of each agent that is called.
	begun chan string
}

func twoAgents(t *testing.T, st store.Store) *pair {
	t.Helper()
	p := &pair{sent: make(map[string][]string), begun: make(chan string, 100)}
	p.jobGateway = newJobGateway(t, st, time.Now(), func(s *Setup) {
		for _, name := range []string{"main", "coder"} {
			s.Agents[name] = &agent.Agent{Name: name, Store: st, Model: p.model(name), NoTitles: true, System: "You are " + name}
		}
	})
	return p
}

// model answers with the name of its agent.
func (p *pair) model(name string) provider.Model {
	var model *scripted.Model
	model = scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		var texts []string
		for _, item := range req.Window.Items {
			texts = append(texts, string(item.Message.Role)+": "+item.Message.Text())
		}
		p.mu.Lock()
		p.sent[name] = append(p.sent[name], strings.Join(texts, "\n"))
		p.mu.Unlock()
		p.begun <- name
		s := scripted.Reply("I am " + name)
		s.Before = func(ctx context.Context) error {
			p.jobGateway.mu.Lock()
			hold := p.hold
			p.jobGateway.mu.Unlock()
			if hold == nil {
				return nil
			}
			select {
			case <-hold:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return model.Play(ctx, req, s)
	})
	return model
}

// last returns the last request to an agent.
func (p *pair) last(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.sent[name]); n > 0 {
		return p.sent[name][n-1]
	}
	return ""
}

// turn runs a turn as the owner.
func (p *pair) turn(id firn.ID, t wire.Turn) wire.Answer {
	p.t.Helper()
	a, err := p.Turn(asOwner(p.t.Context()), id, t)
	if err != nil {
		p.t.Fatal(err)
	}
	return a
}

// answers returns the answers of a session, each with the agent in its entry.
func (p *pair) answers(id firn.ID) []string {
	p.t.Helper()
	path, err := window.Collect(p.st.ReadBack(p.t.Context(), id, store.End))
	if err != nil {
		p.t.Fatal(err)
	}
	var all []string
	for _, e := range path.Entries {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleAssistant {
			all = append(all, window.AnsweringAgent(&e)+"="+m.Text())
		}
	}
	return all
}

func (p *pair) newSession(n wire.NewSession) firn.ID {
	p.t.Helper()
	s, err := p.NewSession(asOwner(p.t.Context()), n)
	if err != nil {
		p.t.Fatal(err)
	}
	return s.ID
}

// TestTurnNamesAgent checks that two agents can answer in one session: entries name their
// agent once there are two, each agent sees which answers are the other's, and the stored
// texts are unchanged.
func TestTurnNamesAgent(t *testing.T) {
	p := twoAgents(t, memstore.New(memstore.Options{}))
	defer p.close()
	id := p.newSession(wire.NewSession{Key: "agent:main:main"})
	if a := p.turn(id, wire.Turn{Text: "one"}); a.Text != "I am main" || a.Agent != "main" {
		t.Errorf("without an agent %q answers: %q", a.Agent, a.Text)
	}
	if strings.Contains(p.last("main"), "from") {
		t.Errorf("alone, main is sent names:\n%s", p.last("main"))
	}
	if a := p.turn(id, wire.Turn{Text: "two", Agent: "coder"}); a.Text != "I am coder" || a.Agent != "coder" {
		t.Errorf("%q answers instead of coder: %q", a.Agent, a.Text)
	}
	if sent := p.last("coder"); !strings.Contains(sent, "assistant: [from main]\nI am main") || !strings.Contains(sent, "you are coder") {
		t.Errorf("coder is sent\n%s", sent)
	}
	if a := p.turn(id, wire.Turn{Text: "three", Agent: "main"}); a.Agent != "main" {
		t.Errorf("%q answers instead of main", a.Agent)
	}
	if sent := p.last("main"); !strings.Contains(sent, "assistant: [from coder]\nI am coder") || !strings.Contains(sent, "assistant: I am main") {
		t.Errorf("main is sent\n%s", sent)
	}
	if got, want := strings.Join(p.answers(id), " "), "=I am main coder=I am coder main=I am main"; got != want {
		t.Errorf("the entries say %s, want %s", got, want)
	}
}

func TestTurnOfUnknownAgent(t *testing.T) {
	p := twoAgents(t, memstore.New(memstore.Options{}))
	defer p.close()
	id := p.newSession(wire.NewSession{Key: "agent:main:main"})
	_, err := p.Turn(asOwner(t.Context()), id, wire.Turn{Text: "x", Agent: "coda"})
	if wire.KindOf(err) != wire.NotFound || !strings.Contains(err.Error(), `unknown agent "coda"; did you mean coder?`) {
		t.Errorf("a missing agent gives %v", err)
	}
	if text := p.answers(id); len(text) != 0 {
		t.Errorf("something was sent: %v", text)
	}
}

// TestTurnAgentWithinBounds checks that a caller without full access to an agent cannot have
// it answer, nor learn whether it exists.
func TestTurnAgentWithinBounds(t *testing.T) {
	p := twoAgents(t, memstore.New(memstore.Options{}))
	defer p.close()
	id := p.newSession(wire.NewSession{Key: "agent:main:main"})
	bounds := map[string]route.Bounds{
		"by agent": route.BoundTo([]string{"main"}, nil),
		"by key":   route.BoundTo(nil, []string{"agent:main:main"}),
		"both":     route.BoundTo([]string{"main", "coder"}, []string{"agent:main:main"}),
	}
	p.Options.Holder = func(_ context.Context, token string) (route.Bounds, bool, error) { return bounds[token], true, nil }
	for token, b := range bounds {
		ctx := WithAsker(t.Context(), Asker{Token: token, Bound: true}, b)
		for _, name := range []string{"coder", "codex"} {
			_, err := p.Turn(ctx, id, wire.Turn{Text: "x", Agent: name})
			if wire.KindOf(err) != wire.NotFound || strings.Contains(err.Error(), "did you mean") {
				t.Errorf("bound %s, %s gives %v", token, name, err)
			}
		}
		if a, err := p.Turn(ctx, id, wire.Turn{Text: "x", Agent: "main"}); err != nil || a.Agent != "main" {
			t.Errorf("bound %s, the agent of the session gives %q, %v", token, a.Agent, err)
		}
	}
	if n := len(p.sent["coder"]); n != 0 {
		t.Errorf("coder was called %d times", n)
	}
}

// TestTurnAgentAfterRestart checks that a message that was queued or unanswered when the
// gateway was killed is answered by the agent it names, unless its asker has lost access to
// that agent.
func TestTurnAgentAfterRestart(t *testing.T) {
	for name, c := range map[string]struct {
		asker Asker
		want  string
	}{
		"the owner":     {Asker{Owner: true}, "coder=I am coder"},
		"a bound token": {Asker{Token: "t", Bound: true}, ""},
	} {
		for _, queued := range []bool{false, true} {
			st := memstore.New(memstore.Options{})
			p := twoAgents(t, st)
			p.Options.Holder = func(context.Context, string) (route.Bounds, bool, error) {
				return route.BoundTo([]string{"main"}, nil), true, nil
			}
			id := p.newSession(wire.NewSession{Key: "agent:main:main"})
			w := waiting{ID: firn.NewEntryID(), Text: "hello", Mode: route.QueueFollowup, Asker: c.asker, Agent: "coder"}
			entry, err := w.entry()
			if !queued {
				entry = firn.NewEntry(&firn.Message{Role: firn.RoleUser, Parts: w.parts()})
				entry.ID, entry.Extra = w.ID, w.extra(nil)
			}
			if err == nil {
				_, err = st.Append(t.Context(), id, store.Any, entry)
			}
			if err == nil {
				_, err = p.Recover(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			p.work.Wait()
			if got := strings.Join(p.answers(id), " "); !strings.HasPrefix(got, c.want) || c.want == "" && strings.Contains(got, "coder") {
				t.Errorf("%s, queued %v: the answers are %q, want %q", name, queued, got, c.want)
			}
			p.close()
		}
	}
}

// TestTurnAgentIsNotSteered checks that a message for another agent gets its own turn and
// is not collected with others.
func TestTurnAgentIsNotSteered(t *testing.T) {
	for _, mode := range []string{"steer", "collect"} {
		p := twoAgents(t, memstore.New(memstore.Options{}))
		id := p.newSession(wire.NewSession{Key: "agent:main:main"})
		release := p.block()
		wait := false
		var all sync.WaitGroup
		all.Go(func() { p.turn(id, wire.Turn{Text: "one"}) })
		<-p.begun
		p.turn(id, wire.Turn{Text: "two", Agent: "coder", Queue: mode, Wait: &wait})
		p.turn(id, wire.Turn{Text: "three", Queue: mode, Wait: &wait})
		release()
		all.Wait()
		p.work.Wait()
		if got, want := strings.Join(p.answers(id), " "), "=I am main coder=I am coder main=I am main"; got != want {
			t.Errorf("%s: the answers are %s, want %s", mode, got, want)
		}
		if sent := p.last("coder"); !strings.Contains(sent, "two") || strings.Contains(sent, "three") {
			t.Errorf("%s: coder is sent\n%s", mode, sent)
		}
		p.close()
	}
}
