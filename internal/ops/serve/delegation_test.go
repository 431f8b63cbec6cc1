package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// delegates is a house with two agents. Their model calls a tool on "call NAME ARGS" and
// echoes everything else.
type delegates struct {
	listening
	model *speaker
	// gate blocks slow requests.
	began chan string
	gate  chan struct{}
}

const twoAgents = "[agents.main]\ndescription = \"talks with people\"\n[agents.coder]\ndescription = \"writes programs\"\n[agents.quiet]\n"

func delegate(t *testing.T, settings string) *delegates {
	t.Helper()
	d := &delegates{began: make(chan string, 10), gate: make(chan struct{})}
	d.model = speak(t, d.answer)
	d.listening = listenIn(t, Options{Settings: load(t, d.model.settings(settings)), Env: env()})
	return d
}

// answer implements the model.
func (d *delegates) answer(w http.ResponseWriter, asked []message) {
	last := asked[len(asked)-1]
	if last.Role == "tool" {
		says(w, "the tool said: "+last.text())
		return
	}
	text := uninjected(last.plain())
	if rest, ok := strings.CutPrefix(text, "call "); ok {
		name, args, _ := strings.Cut(rest, " ")
		calls(w, fmt.Sprintf("c%d", len(asked)), name, args)
		return
	}
	if strings.Contains(text, "slowly") && !strings.Contains(text, "answered") {
		d.began <- text
		<-d.gate
	}
	says(w, "re: "+text)
}

// plain returns the text of a message, with its parts joined.
func (s message) plain() string {
	parts, ok := s.Content.([]any)
	if !ok {
		return s.text()
	}
	var texts []string
	for _, p := range parts {
		if part, ok := p.(map[string]any); ok {
			texts = append(texts, fmt.Sprint(part["text"]))
		}
	}
	return strings.Join(texts, "\n\n")
}

// uninjected returns a message without injected text.
func uninjected(text string) string {
	if strings.HasPrefix(text, "call ") {
		text, _, _ = strings.Cut(text, "\n\n<")
		return text
	}
	if _, rest, ok := strings.Cut(text, "</environment>\n\n"); ok {
		return rest
	}
	return text
}

// turn sends a message as the owner and returns the answer.
func (d *delegates) turn(id firn.ID, text string) string {
	d.t.Helper()
	a, err := d.own.Turn(d.t.Context(), id, wire.Turn{Text: text})
	if err != nil {
		d.t.Fatalf("%s: %v", text, err)
	}
	return a.Text
}

func (d *delegates) newSession(n wire.NewSession) firn.ID {
	d.t.Helper()
	s, err := d.own.NewSession(d.t.Context(), n)
	if err != nil {
		d.t.Fatal(err)
	}
	return s.ID
}

// children returns the sub-agent sessions of a session.
func (d *delegates) children(id firn.ID) []wire.Session {
	d.t.Helper()
	all, err := d.own.Children(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return all
}

// TestDelegationIsOffered checks that agents with peers are offered the session tools and a
// list of peers, in the request and never in the log.
func TestDelegationIsOffered(t *testing.T) {
	d := delegate(t, twoAgents+"[agents.alone]\ndelegation.mode = \"off\"\n[agents.picky]\ndelegation.agents = [\"main\"]\n")
	for agent, want := range map[string]string{"main": "coder", "coder": "main", "quiet": "coder main", "alone": "", "picky": "main"} {
		id := d.newSession(wire.NewSession{Agent: agent})
		d.turn(id, "hello")
		_, received := d.model.last()
		_, list, injected := strings.Cut(received[len(received)-1], "<agents>")
		list, _, _ = strings.Cut(list, "</agents>")
		var named []string
		for _, name := range []string{"coder", "main"} {
			if strings.Contains(list, "- "+name+": ") {
				named = append(named, name)
			}
		}
		if got := strings.Join(named, " "); got != want || injected != (want != "") {
			t.Errorf("agent %s sees %q in %q, want %q", agent, got, list, want)
		}
		if log := transcript(t, d.own, wire.Session{ID: id}); strings.Contains(log, "writes programs") || strings.Contains(log, "talks with people") {
			t.Errorf("the log of agent %s has descriptions: %s", agent, log)
		}
		answer := d.turn(id, `call sessions_list {}`)
		if has := strings.Contains(answer, "this conversation"); has != (want != "") {
			t.Errorf("agent %s calls sessions_list: %s", agent, answer)
		}
	}
}

// TestSubAgent checks that a task runs in a separate session whose key names its parent,
// that the answer is returned, and that the parent can list and read the session.
func TestSubAgent(t *testing.T) {
	d := delegate(t, twoAgents)
	id := d.newSession(wire.NewSession{Key: "agent:main:main"})
	answer := d.turn(id, `call sessions_spawn {"task":"count to three","agent":"coder","label":"Counting"}`)
	if !strings.Contains(answer, "answered:\\nre: count to three") && !strings.Contains(answer, "answered:\nre: count to three") {
		t.Fatalf("the answer is %q", answer)
	}
	kids := d.children(id)
	if len(kids) != 1 || kids[0].Agent != "coder" || kids[0].Title != "Counting" || kids[0].Parent != string(id) {
		t.Fatalf("the children are %+v", kids)
	}
	child := kids[0].ID
	if want := fmt.Sprintf("agent:coder:subagent:%s:%s", id, child); kids[0].Key != want {
		t.Errorf("the key is %s, want %s", kids[0].Key, want)
	}
	if log := transcript(t, d.own, wire.Session{ID: child}); !strings.Contains(log, `"by":"agent:main"`) || !strings.Contains(log, `"owner":true`) {
		t.Errorf("the log does not name the caller: %s", log)
	}
	if got := d.turn(id, `call sessions_history {"session":"`+string(child)+`"}`); !strings.Contains(got, "re: count to three") {
		t.Errorf("the history of the child is %q", got)
	}
	if got := d.turn(id, `call sessions_send {"session":"`+string(child)+`","message":"and to four"}`); !strings.Contains(got, "re: and to four") {
		t.Errorf("the child's answer is %q", got)
	}
	if got := d.turn(id, `call sessions_list {}`); !strings.Contains(got, string(child)) {
		t.Errorf("the list is %q", got)
	}
	if got := d.turn(id, `call sessions_spawn {"task":"x","agent":"quiet"}`); !strings.Contains(got, "unknown agent") {
		t.Errorf("an agent without a description gets a task: %q", got)
	}
	page, err := d.own.SessionsPage(t.Context(), client.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(page.Items, func(s wire.Session) bool { return s.ID == child }); i < 0 || page.Items[i].Parent != string(id) {
		t.Errorf("lists do not contain the parent: %+v", page.Items)
	}
}

// TestSubAgentDepth checks the depth limit of sub-agents.
func TestSubAgentDepth(t *testing.T) {
	for _, depth := range []int{1, 2} {
		d := delegate(t, fmt.Sprintf("[defaults.delegation]\nmode = \"on\"\ndepth = %d\n", depth))
		id := d.newSession(wire.NewSession{})
		task := "the end"
		for range depth + 1 {
			task = "call sessions_spawn " + quotedJSON(map[string]string{"task": task})
		}
		if got := d.turn(id, task); !strings.Contains(got, fmt.Sprintf("at most %d levels deep", depth)) || strings.Contains(got, "re: the end") {
			t.Errorf("depth %d: %q", depth, got)
		}
		nested := 0
		for at := id; ; nested++ {
			kids := d.children(at)
			if len(kids) == 0 {
				break
			}
			at = kids[0].ID
		}
		if nested != depth {
			t.Errorf("there are %d below, want %d", nested, depth)
		}
	}
}

// TestLateAnswer checks that the answer of a sub-agent that was not awaited arrives as a
// message from the agent and is answered.
func TestLateAnswer(t *testing.T) {
	d := delegate(t, twoAgents)
	id := d.newSession(wire.NewSession{Key: "agent:main:main"})
	got := d.turn(id, `call sessions_spawn {"task":"count slowly","agent":"coder","timeout_seconds":0}`)
	if !strings.Contains(got, "accepted: ") || !strings.Contains(got, "will arrive here as a message") {
		t.Fatalf("got %q", got)
	}
	<-d.began
	child := d.children(id)[0].ID
	close(d.gate)
	log := d.eventually(id, "re: session ")
	for _, want := range []string{`"by":"agent:coder"`, "session " + string(child) + " answered:", "re: count slowly"} {
		if !strings.Contains(log, want) {
			t.Errorf("there is no %q in %s", want, log)
		}
	}
	if n := strings.Count(log, `"type":"firn.machine"`) + strings.Count(log, `"customType":"firn.machine"`); n != 1 {
		t.Errorf("it was received %d times: %s", n, log)
	}
}

// eventually follows a session until its log contains a text, and returns the log.
func (d *delegates) eventually(id firn.ID, text string) string {
	d.t.Helper()
	for _, err := range d.own.Events(d.t.Context(), id, 0) {
		if err != nil {
			d.t.Fatal(err)
		}
		if log := transcript(d.t, d.own, wire.Session{ID: id}); strings.Contains(log, text) {
			return log
		}
	}
	d.t.Fatalf("there is no %q", text)
	return ""
}

// TestSubAgentAfterACrash checks that a gateway that resumes a sub-agent after a crash
// delivers its answer to the parent session once.
func TestSubAgentAfterACrash(t *testing.T) {
	d := delegate(t, twoAgents)
	id := d.newSession(wire.NewSession{Key: "agent:main:main"})
	d.turn(id, `call sessions_spawn {"task":"count slowly","agent":"coder","timeout_seconds":0}`)
	<-d.began
	next := d.killed(t)
	close(d.gate)
	log := next.eventually(id, "re: session ")
	if !strings.Contains(log, "re: count slowly") || strings.Count(log, " answered:") != 2 { // the message and the answer that repeats it
		t.Errorf("the log is %s", log)
	}
}

// killed simulates a killed gateway and returns the next one on the same home.
func (d *delegates) killed(t *testing.T) *delegates {
	t.Helper()
	w := withheld{t: t, listening: d.listening, model: d.model, settings: d.model.settings(twoAgents), once: new(sync.Once), gate: make(chan struct{})}
	next := *d
	next.listening = w.killed().listening
	next.house.Gateway.StartRecovery()
	return &next
}

// TestMutualCallsDoNotDeadlock checks that two sessions that call each other do not
// deadlock.
func TestMutualCallsDoNotDeadlock(t *testing.T) {
	d := delegate(t, "[defaults.delegation]\nmode = \"on\"\n")
	a, b := d.newSession(wire.NewSession{}), d.newSession(wire.NewSession{})
	ask := func(to firn.ID, message string) string {
		return `call sessions_send ` + quotedJSON(map[string]any{"session": to, "message": message})
	}
	got := d.turn(a, ask(b, ask(a, "still there?")))
	if !strings.Contains(got, "is waiting for this one") {
		t.Errorf("got %q", got)
	}
}

// TestIdleSubAgentsAreArchived checks that sub-agent sessions are archived after an hour without
// activity by default, and are still listed under their parent.
func TestIdleSubAgentsAreArchived(t *testing.T) {
	c := new(clock)
	m := speak(t, nil)
	d := &delegates{model: m}
	m.answer = d.answer
	d.listening = listenIn(t, Options{Settings: load(t, m.settings(twoAgents)), Env: env(), Clock: c.now})
	id := d.newSession(wire.NewSession{Key: "agent:main:main"})
	d.turn(id, `call sessions_spawn {"task":"count","agent":"coder"}`)
	maintain := func() {
		setup := d.house.o.Settings.Maintenance
		if _, err := d.house.Gateway.Maintain(t.Context(), maintaining(setup), false); err != nil {
			t.Fatal(err)
		}
	}
	maintain()
	if kids := d.children(id); len(kids) != 1 || kids[0].Archived {
		t.Fatalf("the children are %+v", kids)
	}
	c.advance(61 * time.Minute)
	maintain()
	if kids := d.children(id); len(kids) != 1 || !kids[0].Archived {
		t.Errorf("the children are %+v", kids)
	}
	if page, err := d.own.SessionsPage(t.Context(), client.Query{}); err != nil || len(page.Items) != 1 {
		t.Errorf("the list is %+v, %v", page.Items, err)
	}
}
