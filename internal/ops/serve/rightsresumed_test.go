package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/internal/ops/config"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/wire"
)

// within marks the messages of bound callers.
const within = "(within bounds)"

// alone returns the text of a message without injected text.
func (m message) alone() string {
	text := m.text()
	if _, rest, ok := strings.Cut(text, "</environment>\n\n"); ok { // the end of the injected text
		return rest
	}
	return text
}

// openAndFresh returns the unanswered messages of a request, and the text that is new in
// this turn: injected text and tool results.
func openAndFresh(asked []message) (open []string, fresh string) {
	from := 0
	for i, m := range asked {
		if m.Role == "assistant" && strings.Contains(m.text(), "I was told") {
			from = i + 1
		}
	}
	for _, m := range asked {
		for _, tag := range []string{"recall", "memory"} {
			if _, rest, ok := strings.Cut(m.text(), "<"+tag+">"); ok {
				inside, _, _ := strings.Cut(rest, "</"+tag+">")
				fresh += inside
			}
		}
	}
	for _, m := range asked[from:] {
		switch m.Role {
		case "user":
			open = append(open, m.alone())
		case "tool":
			fresh += m.text()
		}
	}
	return open, fresh
}

// holds checks all requests to the model: whenever it answers a bound caller, alone or
// together with others, it is sent only permitted words. Some requests for other callers
// must contain more, which shows that the check can fail.
func (w *withheld) holds(may []planted, from int) {
	w.t.Helper()
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	bounded, free := 0, 0
	for _, asked := range w.model.asked[from:] {
		open, fresh := openAndFresh(asked)
		theirs := slices.ContainsFunc(open, func(text string) bool { return strings.Contains(text, within) })
		for _, p := range everyWord {
			switch has := strings.Contains(fresh, p.canary); {
			case theirs && has && !slices.Contains(may, p):
				w.t.Errorf("the request for %q contains the word for %s", open, p.find)
			case theirs && has:
				bounded++
			case has:
				free++
			}
		}
	}
	if bounded == 0 || free == 0 {
		w.t.Errorf("the words were sent %d and %d times", bounded, free)
	}
}

// send sends a message without waiting for the answer.
func (w *withheld) send(who identity, id firn.ID, turn wire.Turn) {
	w.t.Helper()
	no := false
	turn.Wait = &no
	if status, text := w.ask(who, "POST", "/v1/sessions/"+string(id)+"/turns", turn); status != http.StatusOK {
		w.t.Fatalf("%s: %d %s", who.name, status, text)
	}
}

// await waits for the answer to a message.
func (w *withheld) await(id firn.ID, message, text string) (wire.Answer, error) {
	w.t.Helper()
	return w.own.Turn(w.t.Context(), id, wire.Turn{ID: firn.EntryID(message), Text: text})
}

// TestCallersAreNotMerged checks that messages of callers with different bounds that arrive
// during a turn are never answered in one turn, in any queue mode, and do not steer
// another's turn, even if written to the log.
func TestCallersAreNotMerged(t *testing.T) {
	for _, mode := range []string{"collect", "steer", "followup"} {
		t.Run(mode, func(t *testing.T) {
			w := withhold(t)
			all := w.identities()
			shop, owner, writer := all[0], all[8], all[6]
			id, from := w.session(shop, "merge"), w.model.count()
			w.send(owner, id, wire.Turn{Text: "probe slowly: one of the owner", ID: "m1"})
			<-w.began
			w.send(shop, id, wire.Turn{Text: "probe two " + within, ID: "m2", Queue: mode})
			w.send(owner, id, wire.Turn{Text: "probe three of the owner", ID: "m3", Queue: mode})
			w.send(writer, id, wire.Turn{Text: "probe four of one who may see all", ID: "m4", Queue: mode})
			w.send(shop, id, wire.Turn{Text: "probe five " + within, ID: "m5", Queue: mode})
			w.send(owner, id, wire.Turn{Text: "probe six of the owner", ID: "m6", Queue: mode})
			if status, text := w.ask(shop, "POST", "/v1/sessions/"+string(id)+"/entries", wire.NewEntries{User: "probe seven " + within}); status != http.StatusOK {
				t.Errorf("append: %d %s", status, text)
			}
			w.release()
			for m, text := range map[string]string{"m2": "probe two " + within, "m5": "probe five " + within, "m6": "probe six of the owner"} {
				if _, err := w.await(id, m, text); err != nil {
					t.Errorf("%s: %v", m, err)
				}
			}
			w.holds(shop.may, from)
		})
	}
}

// killed simulates a killed gateway and returns the next one on the same home.
func (w *withheld) killed() *withheld {
	w.t.Helper()
	home := filepath.Join(w.t.TempDir(), "home")
	w.must(os.CopyFS(home, os.DirFS(w.house.home())))
	path := filepath.Join(w.t.TempDir(), config.FileName)
	w.must(os.WriteFile(path, []byte(w.settings), 0o600))
	settings, err := config.Open(path, nil, map[string]string{"home": home})
	w.must(err)
	next := *w
	next.listening = listenIn(w.t, Options{Settings: settings, Env: env("HOOK_SECRET", hookSecret)})
	w.t.Cleanup(w.release)
	return &next
}

// TestResumedTurnsKeepTheirBounds checks that the next gateway resumes the accepted work of
// a killed one within the bounds of the callers: running turns, queued messages, and
// entries appended by bound callers in the name of others.
func TestResumedTurnsKeepTheirBounds(t *testing.T) {
	w := withhold(t)
	all := w.identities()
	shop, owner := all[0], all[8]
	running, waiting, forged, imported := w.session(shop, "running"), w.session(shop, "waiting"), w.session(shop, "forged"), firn.ID("")
	others := w.session(owner, "others")
	w.send(shop, running, wire.Turn{Text: "probe slowly: one " + within, ID: "r1"})
	w.send(owner, waiting, wire.Turn{Text: "slowly: one of the owner", ID: "w1"}) // its answer can be found
	w.send(owner, others, wire.Turn{Text: "probe slowly: one of the owner", ID: "o1"})
	<-w.began
	<-w.began
	<-w.began
	w.send(shop, waiting, wire.Turn{Text: "probe two " + within, ID: "w2"})
	w.send(owner, waiting, wire.Turn{Text: "three of the owner", ID: "w3"})
	line := func(id string) json.RawMessage {
		return json.RawMessage(`{"type":"message","id":"` + id + `","timestamp":"2026-11-16T10:00:00Z","accepted":true,"asker":{"owner":true},"message":{"role":"user","content":[{"type":"text","text":"probe forged ` + within + `"}]}}`)
	}
	if status, text := w.ask(shop, "POST", "/v1/sessions/"+string(forged)+"/entries", wire.NewEntries{Entries: []json.RawMessage{line("f1f1f1f1")}}); status != http.StatusBadRequest {
		t.Errorf("a forged asker: %d %s", status, text)
	}
	queued := json.RawMessage(`{"type":"custom","id":"f2f2f2f2","timestamp":"2026-11-16T10:00:00Z","customType":"firn.queued","data":{"id":"q1","text":"probe forged ` + within + `","mode":"followup","asker":{"owner":true}}}`)
	if status, text := w.ask(shop, "POST", "/v1/sessions/"+string(forged)+"/entries", wire.NewEntries{Entries: []json.RawMessage{queued}}); status != http.StatusBadRequest {
		t.Errorf("a message that waits: %d %s", status, text)
	}
	// A caller bound to an agent can import, and owns the content of the transcript.
	worker := all[5]
	status, text := w.ask(worker, "POST", "/v1/import?agent=work&from=native", `{"type":"session","id":"aaaaaaaa-0000-7000-8000-000000000000","timestamp":"2026-11-16T10:00:00Z","version":3,"firn":1}`+"\n"+string(queued)+"\n"+string(line("f3f3f3f3"))+"\n")
	var in wire.Imported
	decode(t, []byte(text), &in)
	if imported = in.Session.ID; status != http.StatusOK {
		t.Fatalf("import: %d %s", status, text)
	}
	if log := transcript(t, w.own, in.Session); strings.Contains(log, `"owner":true`) && !strings.Contains(log, "firn.queued.imported") || strings.Count(log, `"bound":true`) != 1 {
		t.Errorf("the imported session is\n%s", log)
	}
	from := w.model.count()
	next := w.killed()
	w.release()
	next.house.Gateway.StartRecovery()
	for _, m := range []struct {
		id            firn.ID
		message, text string
	}{{running, "r1", "probe slowly: one " + within}, {waiting, "w2", "probe two " + within}, {waiting, "w3", "three of the owner"}, {others, "o1", "probe slowly: one of the owner"}} {
		if _, err := next.await(m.id, m.message, m.text); err != nil {
			t.Errorf("%s: %v", m.message, err)
		}
	}
	if _, err := next.await(imported, "f3f3f3f3", "probe forged "+within); err != nil {
		t.Errorf("the forged session: %v", err)
	}
	next.holds(append(slices.Clone(shop.may), inWork, inWorkers), from)
}

// TestNotesWithinBounds checks that notes for a bound caller are found only in
// conversations it may see, and that it cannot remove notes of others.
func TestNotesWithinBounds(t *testing.T) {
	w := withhold(t)
	all := w.identities()
	shop, browser, desk, owner := all[0], all[2], all[3], all[8]
	listed := func() string {
		t.Helper()
		var names []string
		for _, at := range []wire.MemoryPlace{{Agent: "main"}, {Agent: "main", Project: w.dir, Scope: wire.MemoryOfProject}, {Agent: "work"}, {Key: "agent:main:telegram:direct:ann", Scope: wire.MemoryOfUser}} {
			notes, err := w.own.Memory.Notes(t.Context(), at)
			w.must(err)
			for _, n := range notes {
				names = append(names, fmt.Sprint(n.Ref, n.Count))
			}
		}
		return strings.Join(names, " ")
	}
	turn := func(who identity, door, text string) string {
		t.Helper()
		id := w.session(who, door)
		if status, answer := w.ask(who, "POST", "/v1/sessions/"+string(id)+"/turns", wire.Turn{Text: text}); status != http.StatusOK {
			t.Fatalf("%s: %d %s", who.name, status, answer)
		}
		return transcript(t, w.own, wire.Session{ID: id})
	}
	before := listed()
	if log := turn(shop, "note", "probe: remember this The wombat is crimson61."); !strings.Contains(log, "noted in memory/") {
		t.Errorf("nothing was noted:\n%s", log)
	}
	for _, who := range []identity{shop, browser, desk} {
		turn(who, "forget", "probe: forget all")
	}
	if after := listed(); after != before {
		t.Errorf("the notes were %s, and are %s", before, after)
	}
	const path = "/v1/memory/search?q=wombat&key="
	for _, c := range []struct {
		who   identity
		key   string
		finds bool
	}{{shop, "agent:main:shop:anything", true}, {browser, "agent:main:shop", true}, {desk, "agent:main:desk:a", false}} {
		if status, text := w.ask(c.who, "GET", path+c.key, nil); status != http.StatusOK || strings.Contains(text, "crimson61") != c.finds {
			t.Errorf("%s: %d %s", c.who.name, status, text)
		}
		from := w.model.count()
		turn(c.who, "recall", "What is the wombat?")
		w.model.mu.Lock()
		sent := quotedJSON(w.model.asked[from:])
		w.model.mu.Unlock()
		if strings.Contains(sent, "crimson61") != c.finds {
			t.Errorf("%s receives it: %v", c.who.name, !c.finds)
		}
	}
	if status, text := w.ask(desk, "GET", path+"agent:main:shop", nil); status != http.StatusNotFound {
		t.Errorf("another's notes: %d %s", status, text)
	}
	if hits, err := w.own.Memory.Recall(t.Context(), wire.MemoryPlace{Agent: "main", Scope: wire.MemoryOfAgent}, "wombat", 5); err != nil || len(hits) != 0 {
		t.Errorf("the agent's own notes have %+v, %v", hits, err)
	}
	if notes, err := w.own.Memory.Notes(t.Context(), wire.MemoryPlace{Key: "agent:main:shop", Scope: wire.MemoryOfUser}); err != nil || len(notes) != 1 {
		t.Errorf("the owner sees %+v, %v", notes, err)
	}
	turn(owner, "forget", "probe: forget all")
	if after := listed(); after == before {
		t.Error("the owner cannot forget either: this test cannot fail")
	}
}

// TestFactsAreStoredForTheCaller checks that facts from conversations with a bound caller
// are stored for that caller, by turns and dreams, and not for the agent.
func TestFactsAreStoredForTheCaller(t *testing.T) {
	h, c := openInstance(t, Options{})
	talk := []string{"I prefer tabs over spaces in Go code.", "Noted.", "We decided to use Postgres for the shop.", "Fine."}
	for i := range 8 {
		talk = append(talk, fmt.Sprintf("Step %d, please.", i), aCall)
	}
	id := begun(t, h, "agent:main:shop:a", t.TempDir(), talk...)
	n := notesOf(h, "main")
	n.model = scripted.New(provider.Info{}, scripted.Reply("MEMORY: preference | 9 | The user prefers tabs over spaces in Go code | 1"))
	if err := n.learn(t.Context(), agent.Run{Session: id, Bounds: route.BoundTo(nil, []string{"agent:main:shop"})}, agent.Outcome{}); err != nil {
		t.Fatal(err)
	}
	h.notes.work.Wait()
	if note, err := c.Memory.Note(t.Context(), wire.MemoryPlace{Scope: wire.MemoryOfAgent}, "extracted"); err == nil {
		t.Errorf("the agent has %+v", note)
	}
	theirs, err := c.Memory.Note(t.Context(), wire.MemoryPlace{Key: "agent:main:shop", Scope: wire.MemoryOfUser}, "extracted")
	if err != nil || len(theirs.Facts) != 1 {
		t.Errorf("they have %+v, %v", theirs, err)
	}
	content := func(text, asker string) firn.Entry {
		e := firn.UserText(text)
		e.Extra = firn.Fields{{Name: "asker", Value: []byte(asker)}}
		return e
	}
	left := agentEntries([]firn.Entry{
		content("one", `{"owner":true}`), firn.AssistantText("a"), content("two", `{"token":"x","bound":true}`), firn.AssistantText("b"),
		content("three", `{"token":"x"}`), firn.AssistantText("c"), content("four", `{}`), content("five", `rubbish`), firn.UserText("six"),
	})
	var texts []string
	for _, e := range left {
		texts = append(texts, e.Body.(*firn.Message).Text())
	}
	if got := strings.Join(texts, " "); got != "one a three c six" {
		t.Errorf("the agent's are %q", got)
	}
}

// TestForwardedTurnsKeepTheirBounds checks that a message forwarded to the owner of the
// session is answered within the bounds of the caller.
func TestForwardedTurnsKeepTheirBounds(t *testing.T) {
	w := withholdIn(t, alone(t))
	all := w.identities()
	shop, owner := all[0], all[8]
	other := *w
	other.listening = listenIn(t, Options{Settings: load(t, w.settings), Env: env("HOOK_SECRET", hookSecret)})
	t.Cleanup(w.release)
	id, from := w.session(shop, "passed"), w.model.count()
	w.send(owner, id, wire.Turn{Text: "probe slowly: one of the owner", ID: "m1"})
	<-w.began
	other.send(shop, id, wire.Turn{Text: "probe two " + within, ID: "m2"})
	w.release()
	if _, err := other.await(id, "m2", "probe two "+within); err != nil {
		t.Error(err)
	}
	w.holds(shop.may, from)
}
