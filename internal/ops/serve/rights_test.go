package serve

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// The authorization matrix with an agent in between: a turn has the rights of its caller,
// through every protocol. Sessions and notes of all kinds contain secret words. The model
// searches for all of them with all its tools and repeats everything it finds.

// planted is a secret word and a word by which it can be found.
type planted struct{ find, canary string }

// The words by location.
var (
	inKeyless = planted{"quokka", "vermilion17"}
	inTitle   = planted{"heron", "cobalt23"}
	inPrivate = planted{"tapir", "umber31"}
	inNote    = planted{"okapi", "fuchsia41"}
	inName    = planted{"narwhal", "indigo53"}
	inProject = planted{"lemur", "teal67"}
	inWork    = planted{"gibbon", "mauve71"}
	inWorkers = planted{"dingo", "ochre83"}
	inAnn     = planted{"puffin", "sepia97"}
	inAnns    = planted{"egret", "lilac13"}
	inShop    = planted{"marmot", "jade19"}
	inShopX   = planted{"vole", "rust29"}
	inKey     = planted{"ibis", "ibisamber37"}

	everyWord = []planted{inKeyless, inTitle, inPrivate, inNote, inName, inProject, inWork, inWorkers, inAnn, inAnns, inShop, inShopX, inKey}
)

// mains are the words of the main agent, except those in project notes.
var mains = []planted{inKeyless, inTitle, inPrivate, inNote, inName, inShop, inShopX}

// withheld is a house that contains the words.
type withheld struct {
	t *testing.T
	listening
	model *speaker
	dir   string
	// sessions are the sessions with words.
	sessions []firn.ID
	words    []planted
	// notes are the names of the notes with words.
	notes []string
	made  map[string]wire.Created
	// began receives slow requests of the model, which wait for gate.
	began    chan string
	gate     chan struct{}
	once     *sync.Once
	settings string
}

const hookSecret = "a secret of the hook"

func withhold(t *testing.T) *withheld {
	t.Helper()
	return withholdIn(t, "")
}

// withholdIn is withhold with additional settings.
func withholdIn(t *testing.T, more string) *withheld {
	t.Helper()
	return withholdAt(t, more, nil)
}

// withholdAt is withholdIn with a clock.
func withholdAt(t *testing.T, more string, clock func() time.Time) *withheld {
	t.Helper()
	w := &withheld{t: t, dir: t.TempDir(), made: make(map[string]wire.Created), began: make(chan string, 100), gate: make(chan struct{}), once: new(sync.Once)}
	w.model = speak(t, w.answer)
	w.settings = w.model.settings("failures = 200\n[agents.main]\ndescription = \"the first\"\n[agents.work]\ndescription = \"the second\"\n[session]\ndm_scope = \"per-channel-peer\"\n[hooks.call]\ntoken = \"hook\"\n[hooks.signed]\nsecret_env = \"HOOK_SECRET\"\n[hooks.keyed]\ntoken = \"hook\"\nkey = \"agent:main:main\"\n"+
		"[[cron]]\nid = \"report\"\nschedule = \"@yearly\"\nmessage = \"probe of the job\"\n") + more
	w.listening = listenIn(t, Options{Settings: load(t, w.settings), Env: env("HOOK_SECRET", hookSecret), Clock: clock})
	t.Cleanup(w.release)
	w.plant()
	return w
}

// release unblocks slow requests of the model.
func (w *withheld) release() { w.once.Do(func() { close(w.gate) }) }

// plant creates the sessions and notes with the words.
func (w *withheld) plant() {
	say := func(p planted) string { return fmt.Sprintf("The %s is %s.", p.find, p.canary) }
	put := func(n wire.NewSession, p planted) firn.ID {
		s := newSessionWith(w.t, w.own, n, say(p))
		w.sessions, w.words = append(w.sessions, s.ID), append(w.words, p)
		return s.ID
	}
	keyless := put(wire.NewSession{Agent: "main", CWD: w.dir}, inKeyless)
	title := "About the " + inTitle.find + " of " + inTitle.canary
	_, err := w.own.Patch(w.t.Context(), keyless, wire.Patch{Title: &title})
	w.must(err)
	put(wire.NewSession{Key: "agent:main:" + inKey.canary}, inPrivate)
	put(wire.NewSession{Agent: "work"}, inWork)
	put(wire.NewSession{Key: "agent:main:telegram:direct:ann"}, inAnn)
	put(wire.NewSession{Key: "agent:main:shop:old"}, inShop)
	put(wire.NewSession{Key: "agent:main:shopx"}, inShopX)
	for _, n := range []struct {
		at   wire.MemoryPlace
		name string
		text planted
	}{
		{wire.MemoryPlace{Agent: "main"}, "", inNote},
		{wire.MemoryPlace{Agent: "main"}, inName.canary, inName},
		{wire.MemoryPlace{Agent: "main", Project: w.dir, Scope: wire.MemoryOfProject}, "", inProject},
		{wire.MemoryPlace{Agent: "work"}, "", inWorkers},
		{wire.MemoryPlace{Key: "agent:main:telegram:direct:ann", Scope: wire.MemoryOfUser}, "", inAnns},
	} {
		kept, err := w.own.Memory.Remember(w.t.Context(), n.at, wire.NewNote{Text: say(n.text), Name: n.name})
		w.must(err)
		w.notes = append(w.notes, append(kept.Refs, strings.Replace(say(n.text), n.text.canary, "WORD", 1))...)
	}
}

func (w *withheld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// tries returns all tool calls that the model attempts.
func (w *withheld) tries() (names []string, arguments []any) {
	add := func(name string, a map[string]any) { names, arguments = append(names, name), append(arguments, a) }
	for _, p := range everyWord {
		add("search_sessions", map[string]any{"query": p.find, "limit": 20, "before": 5, "after": 5})
		add("recall", map[string]any{"query": p.find, "limit": 20})
	}
	add("search_sessions", map[string]any{"query": "role:user", "limit": 20})
	for _, id := range append(slices.Clone(w.sessions), nowhere) {
		add("read_window", map[string]any{"session": id, "entry": "#1"})
		add("search_sessions", map[string]any{"query": "session:" + string(id), "limit": 20})
	}
	return names, arguments
}

// answer implements the model: it makes all calls together and then repeats the results.
func (w *withheld) answer(out http.ResponseWriter, asked []message) {
	reported := 0
	for _, m := range slices.Backward(asked) {
		if m.Role == "user" {
			break
		}
		reported++
	}
	last := asked[len(asked)-reported-1].alone()
	if strings.Contains(last, "slowly") && reported == 0 {
		w.began <- last
		<-w.gate
	}
	switch {
	case strings.Contains(last, "will soon be shortened") && reported == 0:
		calls(out, "m", "remember", quotedJSON(map[string]string{"text": flushedNote}))
	case !strings.Contains(last, "probe"):
		says(out, "NONE")
	case strings.Contains(last, "remember this") && reported == 0:
		calls(out, "r", "remember", quotedJSON(map[string]string{"text": last[strings.Index(last, "remember this")+13:]}))
	case strings.Contains(last, "forget all") && reported == 0:
		var all []call
		for i, ref := range w.notes {
			for j, scope := range []string{"", "agent/", "project/", "user/"} {
				all = append(all, call{fmt.Sprintf("f%d-%d", i, j), "forget", quotedJSON(map[string]string{"what": scope + strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(ref, "agent/"), "user/"), "project/")})})
			}
		}
		callAll(out, all)
	case reported == 0 && strings.Contains(last, "probe the sessions"):
		callAll(out, w.delegating())
	case reported == 0:
		names, arguments := w.tries()
		all := make([]call, len(names))
		for i, name := range names {
			all[i] = call{fmt.Sprint("c", i), name, quotedJSON(arguments[i])}
		}
		callAll(out, all)
	default:
		all, found := quotedJSON(asked), []string{}
		for _, p := range everyWord {
			if strings.Contains(all, p.canary) {
				found = append(found, p.canary)
			}
		}
		says(out, "I was told: "+strings.Join(found, " "))
	}
}

func quotedJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// call is one of several tool calls.
type call struct{ id, name, arguments string }

// callAll answers with several tool calls.
func callAll(w http.ResponseWriter, all []call) {
	list := make([]any, len(all))
	for i, c := range all {
		list[i] = map[string]any{"index": i, "id": c.id, "type": "function", "function": map[string]string{"name": c.name, "arguments": c.arguments}}
	}
	chunk(w, map[string]any{"tool_calls": list}, "tool_calls")
}

// listenIn is listen with the environment of the options.
func listenIn(t *testing.T, o Options) listening {
	t.Helper()
	h, err := newHouse(o)
	if err != nil {
		t.Fatal(err)
	}
	return listenAs(t, h)
}

// token creates a token, once per name.
func (w *withheld) token(n wire.NewToken) wire.Created {
	w.t.Helper()
	if made, ok := w.made[n.Name]; ok {
		return made
	}
	made, err := w.own.Access.CreateToken(w.t.Context(), n)
	w.must(err)
	w.made[n.Name] = made
	return made
}

// identity is a caller: its credentials and the session it uses.
type identity struct {
	name string
	// show adds the credentials to a request; nil means the owner in this process.
	show func(*http.Request)
	// key is the key of the session; may lists the words the caller may see.
	key string
	may []planted
}

// bearing sends a token.
func bearing(secret string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) }
}

// ask sends a request and returns the status and body.
func (w *withheld) ask(who identity, method, path string, body any, head ...string) (int, string) {
	w.t.Helper()
	data, err := json.Marshal(body)
	w.must(err)
	if raw, ok := body.(string); ok {
		data = []byte(raw)
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, bytes.NewReader(data))
	w.must(err)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	do := http.DefaultTransport.RoundTrip
	if who.show == nil {
		local := client.InProcess(w.house.Own())
		defer local.Close()
		do = local.RoundTrip
	} else {
		who.show(r)
	}
	response, err := do(r)
	w.must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	w.must(err)
	return response.StatusCode, string(text)
}

// browser returns the credentials of a browser logged in with a token.
func (w *withheld) browser(secret string) func(*http.Request) {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	w.must(err)
	front := &balancer{}
	front.Server = w.server
	if status, text := front.browse(w.t, &http.Client{Jar: jar}, "POST", "/v1/login", wire.Login{Code: w.order(secret)}); status != http.StatusOK {
		w.t.Fatalf("log in: %d %s", status, text)
	}
	return func(r *http.Request) {
		for _, c := range jar.Cookies(r.URL) {
			r.AddCookie(c)
		}
		r.Header.Set("X-Firn", "web")
		r.Header.Set("Origin", w.url)
	}
}

// identities returns all callers that may start turns.
func (w *withheld) identities() []identity {
	shop := wire.NewToken{Name: "shop", Scope: wire.ScopeWrite, Keys: []string{"agent:main:shop"}}
	only := wire.NewToken{Name: "only", Scope: wire.ScopeWrite, Agents: []string{"main"}, Keys: []string{"agent:main:shop", "agent:work:shop"}}
	return []identity{
		{"a token bound to a key", bearing(w.token(shop).Secret), "agent:main:shop:b", []planted{inShop}},
		{"a token bound to an agent and keys", bearing(w.token(only).Secret), "agent:main:shop:c", []planted{inShop}},
		{"a browser of a bound token", w.browser(w.token(shop).Secret), "agent:main:shop:d", []planted{inShop}},
		{"a token bound to another key", bearing(w.token(wire.NewToken{Name: "desk", Scope: wire.ScopeWrite, Keys: []string{"agent:main:desk"}}).Secret), "agent:main:desk:a", nil},
		{"a token bound to an agent", bearing(w.token(wire.NewToken{Name: "main", Scope: wire.ScopeWrite, Agents: []string{"main"}}).Secret), "agent:main:agents", mains},
		{"a token bound to another agent", bearing(w.token(wire.NewToken{Name: "work", Scope: wire.ScopeWrite, Agents: []string{"work"}}).Secret), "agent:work:agents", []planted{inWork, inWorkers}},
		{"a token that writes", bearing(w.token(wire.NewToken{Name: "write", Scope: wire.ScopeWrite}).Secret), "agent:main:write", append(slices.Clone(mains), inProject)},
		{"an admin", bearing(w.token(wire.NewToken{Name: "admin", Scope: wire.ScopeAdmin}).Secret), "agent:main:admin", append(slices.Clone(mains), inProject)},
		{"the owner", nil, "agent:main:owner", append(slices.Clone(mains), inProject)},
	}
}

// session creates a session in the project directory, under a new key below that of the
// caller.
func (w *withheld) session(who identity, door string) firn.ID {
	w.t.Helper()
	s, err := w.own.NewSession(w.t.Context(), wire.NewSession{Key: who.key + ":" + door, CWD: w.dir})
	w.must(err)
	return s.ID
}

// probe makes a caller request everything through a protocol and checks that the requests
// to the model, the answer and the log contain only permitted words.
func (w *withheld) probe(who identity, door string, through func() (answer string, session firn.ID)) {
	w.t.Helper()
	before := w.model.count()
	answer, id := through()
	w.model.mu.Lock()
	sent, err := json.Marshal(w.model.asked[before:])
	w.model.mu.Unlock()
	w.must(err)
	log := transcript(w.t, w.own, wire.Session{ID: id})
	if !strings.Contains(log, "I was told") {
		w.t.Errorf("%s, %s: the agent did not answer: %.300s", who.name, door, answer)
	}
	for _, p := range everyWord {
		may := slices.Contains(who.may, p)
		for what, text := range map[string]string{"the model is sent": string(sent), "the answer": answer, "the log": log} {
			if !may && strings.Contains(text, p.canary) {
				at := strings.Index(text, p.canary)
				w.t.Errorf("%s, %s: %s contains the word for %s: …%s…", who.name, door, what, p.find, text[max(0, at-300):min(len(text), at+80)])
			}
		}
		if may && !strings.Contains(string(sent), p.canary) {
			w.t.Errorf("%s, %s: the word for %s was not found, though it may be", who.name, door, p.find)
		}
	}
	w.alike(who, door, id)
}

// nowhere is the ID of a session that does not exist.
const nowhere = "00000000-0000-7000-8000-000000000000"

// alike checks that a session out of bounds looks the same as a missing one.
func (w *withheld) alike(who identity, door string, id firn.ID) {
	w.t.Helper()
	names, _ := w.tries()
	known := make(map[string]string)
	for e, err := range w.own.Entries(w.t.Context(), id, client.EntryQuery{}) {
		w.must(err)
		var line struct {
			Message struct {
				Call    string `json:"toolCallId"`
				Content []struct{ Text string }
				IsError bool
			}
		}
		if json.Unmarshal(e.Line, &line) == nil && line.Message.Call != "" {
			known[line.Message.Call] = fmt.Sprint(line.Message.IsError, line.Message.Content)
		}
	}
	if len(known) < len(names) {
		w.t.Errorf("%s, %s: %d of %d calls were answered", who.name, door, len(known), len(names))
		return
	}
	blank := func(text string, id firn.ID) string { return strings.ReplaceAll(text, string(id), "X") }
	for i, session := range w.sessions {
		if session == id { // the caller's own session
			continue
		}
		seen := slices.Contains(who.may, w.words[i])
		for j := range 2 {
			at := len(names) - 2*(len(w.sessions)+1) + 2*i + j
			got, none := blank(known[fmt.Sprint("c", at)], session), blank(known[fmt.Sprint("c", len(names)-2+j)], nowhere)
			if (got == none) == seen {
				w.t.Errorf("%s, %s: %s of the session of %s returns %q, of a missing session %q", who.name, door, names[at], w.words[i].find, got, none)
			}
		}
	}
}

// TestTurnsSeeOnlyWhatTheCallerMaySee tests the matrix of callers and protocols.
func TestTurnsSeeOnlyWhatTheCallerMaySee(t *testing.T) {
	w := withhold(t)
	for _, who := range w.identities() {
		w.probe(who, "turn", func() (string, firn.ID) {
			id := w.session(who, "turn")
			_, text := w.ask(who, "POST", "/v1/sessions/"+string(id)+"/turns", wire.Turn{Text: "probe"})
			return text, id
		})
		w.probe(who, "stream", func() (string, firn.ID) {
			id := w.session(who, "stream")
			_, text := w.ask(who, "POST", "/v1/sessions/"+string(id)+"/turns", wire.Turn{Text: "probe"}, "Accept", "text/event-stream", "Idempotency-Key", "once-"+string(id))
			return text, id
		})
		w.probe(who, "said before, then gone on with", func() (string, firn.ID) {
			id := w.session(who, "onward")
			if status, text := w.ask(who, "POST", "/v1/sessions/"+string(id)+"/entries", wire.NewEntries{User: "probe"}); status != http.StatusOK {
				t.Errorf("append: %d %s", status, text)
			}
			_, text := w.ask(who, "POST", "/v1/sessions/"+string(id)+"/turns", wire.Turn{})
			return text, id
		})
		if strings.Contains(who.key, ":work:") {
			continue // protocols of the default agent
		}
		w.probe(who, "chat completions", func() (string, firn.ID) {
			id := w.session(who, "openai")
			_, text := w.ask(who, "POST", "/v1/chat/completions", map[string]any{"model": "main", "messages": []any{map[string]string{"role": "user", "content": "probe"}}}, "X-Firn-Session", string(id))
			return text, id
		})
		w.probe(who, "MCP", func() (string, firn.ID) {
			id := w.session(who, "mcp")
			_, text := w.ask(who, "POST", "/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
				"params": map[string]any{"name": "send_message", "arguments": map[string]string{"session": string(id), "text": "probe"}}}, "Accept", "application/json, text/event-stream")
			return text, id
		})
	}
}

// finish waits for the end of a turn started by a request that does not wait.
func (w *withheld) finish(begin func() (answer string, session firn.ID)) (string, firn.ID) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	over, ready := make(chan firn.ID, 100), make(chan struct{})
	go func() {
		first := true
		for e, err := range w.own.AllEvents(ctx) {
			if first {
				close(ready)
				first = false
			}
			if err != nil {
				return
			}
			if e.Name == wire.TurnCompleted || e.Name == wire.TurnFailed {
				over <- e.Session
			}
		}
	}()
	s, err := w.own.NewSession(ctx, wire.NewSession{Agent: "work"}) // its event shows that the listener is connected
	w.must(err)
	for listening := false; !listening; {
		select {
		case <-ready:
			listening = true
		default:
			name := firn.NewEntryID()
			_, err := w.own.Patch(ctx, s.ID, wire.Patch{Title: new(string(name))})
			w.must(err)
		}
	}
	answer, id := begin()
	for done := range over {
		if done == id {
			break
		}
	}
	return answer, id
}

// TestOutsidersSeeTheirConversation tests external senders, hooks and jobs.
func TestOutsidersSeeTheirConversation(t *testing.T) {
	w := withhold(t)
	owner := identity{name: "the owner"}
	write := identity{name: "a bridge", show: bearing(w.token(wire.NewToken{Name: "bridge", Scope: wire.ScopeWrite}).Secret)}
	bound := identity{name: "a bound bridge", show: bearing(w.token(wire.NewToken{Name: "telegram", Scope: wire.ScopeWrite, Keys: []string{"agent:main:telegram"}}).Secret)}
	hook := identity{name: "a hook's token", show: bearing(w.token(wire.NewToken{Name: "hook", Scope: wire.ScopeHook}).Secret)}
	nobody := identity{name: "a signer", show: func(*http.Request) {}}
	cron := identity{name: "a token bound to the job", show: bearing(w.token(wire.NewToken{Name: "cron", Scope: wire.ScopeWrite, Keys: []string{"agent:main:cron:report"}}).Secret)}
	routed := func(status int, text string) (string, firn.ID) {
		t.Helper()
		var out wire.Routed
		decode(t, []byte(text), &out)
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		return text, out.Session
	}
	inbound := func(who identity, kind, peer string) func() (string, firn.ID) {
		return func() (string, firn.ID) {
			return routed(w.ask(who, "POST", "/v1/inbound", wire.Inbound{Channel: "telegram", PeerKind: kind, PeerID: peer, Sender: peer, Text: "probe", Wait: true}))
		}
	}
	for _, by := range []identity{owner, write, bound} {
		for peer, may := range map[string][]planted{"ann": {inAnn, inAnns}, "eve-" + strings.ReplaceAll(by.name, " ", ""): nil} {
			by.may = may
			w.probe(by, "a person, "+peer, inbound(by, "direct", peer))
		}
		by.may = nil
		w.probe(by, "a group", inbound(by, "group", "g-"+strings.ReplaceAll(by.name, " ", "")))
	}
	mac := hmac.New(sha256.New, []byte(hookSecret))
	body := `{"text":"probe"}`
	mac.Write([]byte(body))
	sum := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	w.probe(hook, "hook", func() (string, firn.ID) {
		return w.finish(func() (string, firn.ID) { return routed(w.ask(hook, "POST", "/v1/hooks/call", body)) })
	})
	w.probe(hook, "hook of a key", func() (string, firn.ID) {
		return w.finish(func() (string, firn.ID) { return routed(w.ask(hook, "POST", "/v1/hooks/keyed", body)) })
	})
	w.probe(nobody, "signed hook", func() (string, firn.ID) {
		return w.finish(func() (string, firn.ID) {
			return routed(w.ask(nobody, "POST", "/v1/hooks/signed", body, "X-Hub-Signature-256", sum))
		})
	})
	owner.may = mains
	w.probe(owner, "hook of the owner", func() (string, firn.ID) {
		return w.finish(func() (string, firn.ID) { return routed(w.ask(owner, "POST", "/v1/hooks/call", body)) })
	})
	w.probe(cron, "job", func() (string, firn.ID) {
		return w.finish(func() (string, firn.ID) { return routed(w.ask(cron, "POST", "/v1/jobs/report/run", struct{}{})) })
	})
	w.probe(owner, "job of the owner", func() (string, firn.ID) {
		return w.finish(func() (string, firn.ID) { return routed(w.ask(owner, "POST", "/v1/jobs/report/run", struct{}{})) })
	})
}
