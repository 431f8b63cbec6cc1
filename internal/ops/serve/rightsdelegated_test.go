package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// delegating returns the calls with which the model tries to reach other sessions and
// agents: it reads and messages all of them, and starts sub-agents that search for
// everything.
func (w *withheld) delegating() (all []call) {
	add := func(name string, a map[string]any) {
		all = append(all, call{fmt.Sprint("d", len(all)), name, quotedJSON(a)})
	}
	add("sessions_list", map[string]any{"limit": 50})
	for _, id := range append(slices.Clone(w.sessions), nowhere) {
		add("sessions_history", map[string]any{"session": id})
		add("sessions_send", map[string]any{"session": id, "message": "probe in another session"})
	}
	add("sessions_history", map[string]any{"session": "agent:main:telegram:direct:ann"})
	add("sessions_spawn", map[string]any{"task": "probe as a sub-agent"})
	add("sessions_spawn", map[string]any{"task": "probe as a sub-agent of another agent", "agent": "work"})
	add("sessions_spawn", map[string]any{"task": "probe as a sub-agent of the first agent", "agent": "main"})
	return all
}

// delegated makes a caller request everything by way of other sessions and agents. Requests
// to the model, answers and logs must contain only words in may, and all words in must.
func (w *withheld) delegated(who identity, may, must []planted, through func() (string, firn.ID)) {
	w.t.Helper()
	before := w.model.count()
	answer, id := through()
	w.model.mu.Lock()
	sent, err := json.Marshal(w.model.asked[before:])
	w.model.mu.Unlock()
	w.must(err)
	log := transcript(w.t, w.own, wire.Session{ID: id})
	if !strings.Contains(log, "I was told") || !strings.Contains(log, "session 0") {
		w.t.Errorf("%s: the agent did not delegate: %.300s", who.name, answer)
	}
	for _, p := range everyWord {
		for what, text := range map[string]string{"the model is sent": string(sent), "the answer": answer, "the log": log} {
			if at := strings.Index(text, p.canary); at >= 0 && !slices.Contains(may, p) {
				w.t.Errorf("%s: %s contains the word for %s: …%s…", who.name, what, p.find, text[max(0, at-300):min(len(text), at+80)])
			}
		}
		if slices.Contains(must, p) && !strings.Contains(string(sent), p.canary) {
			w.t.Errorf("%s: the word for %s was not found, though it may be", who.name, p.find)
		}
	}
	w.unreached(who, id, may)
}

// unreached checks that sessions out of bounds received no message, and that they look the
// same as missing ones.
func (w *withheld) unreached(who identity, id firn.ID, may []planted) {
	w.t.Helper()
	known := make(map[string]string)
	for e, err := range w.own.Entries(w.t.Context(), id, client.EntryQuery{}) {
		w.must(err)
		var line struct {
			Message struct {
				Call    string `json:"toolCallId"`
				Content []struct{ Text string }
			}
		}
		if json.Unmarshal(e.Line, &line) == nil && line.Message.Call != "" {
			known[line.Message.Call] = fmt.Sprint(line.Message.Content)
		}
	}
	none := 1 + 2*len(w.sessions)
	for i, session := range w.sessions {
		if slices.Contains(may, w.words[i]) {
			continue
		}
		for j := range 2 {
			got := strings.ReplaceAll(known[fmt.Sprint("d", 1+2*i+j)], string(session), "X")
			want := strings.ReplaceAll(known[fmt.Sprint("d", none+j)], nowhere, "X")
			if got != want || want == "" {
				w.t.Errorf("%s: for the session of %s it receives %q, for a missing session %q", who.name, w.words[i].find, got, want)
			}
		}
	}
}

// TestDelegatedTurnsSeeOnlyWhatTheCallerMaySee checks that turns of other sessions and
// sub-agents have the bounds of the original caller.
func TestDelegatedTurnsSeeOnlyWhatTheCallerMaySee(t *testing.T) {
	ofMain := append(slices.Clone(mains), inAnn, inAnns, inKey)
	for i, one := range []struct{ may, must []planted }{
		0: {[]planted{inShop}, []planted{inShop}},                                      // a token bound to a key
		3: {nil, nil},                                                                  // to another key
		4: {ofMain, []planted{inPrivate, inNote, inAnn}},                               // to an agent
		5: {[]planted{inWork, inWorkers}, []planted{inWork, inWorkers}},                // to another agent
		6: {everyWord, []planted{inPrivate, inNote, inAnn, inWork, inWorkers}},         // a token with write scope
		8: {everyWord, []planted{inPrivate, inNote, inAnn, inAnns, inWork, inWorkers}}, // the owner
	} {
		if one.may == nil && i != 3 {
			continue
		}
		w := withhold(t) // a new house, since answers are stored in the sessions
		who := w.identities()[i]
		w.delegated(who, one.may, one.must, func() (string, firn.ID) {
			id := w.session(who, "delegate")
			_, text := w.ask(who, "POST", "/v1/sessions/"+string(id)+"/turns", wire.Turn{Text: "probe the sessions"})
			return text, id
		})
	}
}

// TestDelegatedTurnsOfOutsiders checks that external senders reach only their conversation
// and no other agent, even through sub-agents and even if the owner writes there.
func TestDelegatedTurnsOfOutsiders(t *testing.T) {
	for _, kind := range []string{"direct", "group"} {
		w := withhold(t)
		eve := identity{name: "a person in a " + kind}
		var id firn.ID
		w.delegated(eve, nil, nil, func() (string, firn.ID) {
			status, text := w.ask(eve, "POST", "/v1/inbound", wire.Inbound{Channel: "telegram", PeerKind: kind, PeerID: "eve", Sender: "eve", Text: "probe the sessions", Wait: true})
			var out wire.Routed
			decode(t, []byte(text), &out)
			if status != http.StatusOK {
				t.Fatalf("%d %s", status, text)
			}
			id = out.Session
			return text, id
		})
		kids, err := w.own.Children(t.Context(), id)
		w.must(err)
		for _, kid := range kids {
			if log := transcript(t, w.own, kid); kid.Agent != "main" || !strings.Contains(log, `"outside":true`) {
				t.Errorf("%s: a sub-agent of agent %s: %s", eve.name, kid.Agent, log)
			}
		}
		if len(kids) == 0 {
			t.Errorf("%s: there are no sub-agents", eve.name)
		}
	}
}
