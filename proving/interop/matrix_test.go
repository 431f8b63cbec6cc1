package interop

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// homeserver speaks Matrix's client-server API as strictly as a real homeserver: rooms are seen
// by their members, a sync returns the latest events of a room only, and a transaction is sent
// once.
type homeserver struct {
	t   *testing.T
	url string
	mu  sync.Mutex
	// events are the events of all rooms; a token is s and a number of events. changed wakes
	// syncs.
	events  []matrixEvent
	changed chan struct{}
	// sent has the event of each transaction by its path; puts counts the requests.
	sent map[string]string
	puts map[string]int
	// before answers the next messages if it returns true; after is called before the response
	// to a message.
	before   func(w http.ResponseWriter) bool
	after    func()
	messages chan matrixEvent
	receipts chan string
}

// matrixEvent is an event of a room.
type matrixEvent struct {
	Room     string         `json:"-"`
	Type     string         `json:"type"`
	ID       string         `json:"event_id"`
	Sender   string         `json:"sender"`
	Time     int            `json:"origin_server_ts"`
	StateKey *string        `json:"state_key,omitempty"`
	Content  map[string]any `json:"content"`
	Unsigned map[string]any `json:"unsigned,omitempty"`
}

// The bot, and the largest number of events that this homeserver returns at once.
const (
	matrixBot   = "@firn:h"
	matrixLimit = 3
)

func newHomeserver(t *testing.T) *homeserver {
	f := &homeserver{
		t: t, changed: make(chan struct{}), sent: make(map[string]string), puts: make(map[string]int),
		messages: make(chan matrixEvent, 100), receipts: make(chan string, 100),
	}
	mux := http.NewServeMux()
	const v3 = "/_matrix/client/v3/"
	handle := func(pattern string, do func(w http.ResponseWriter, r *http.Request)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+v3+path, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer syt_1" {
				matrixError(w, http.StatusUnauthorized, "M_UNKNOWN_TOKEN")
				return
			}
			do(w, r)
		})
	}
	handle("GET account/whoami", func(w http.ResponseWriter, _ *http.Request) {
		matrixAnswer(w, map[string]any{"user_id": matrixBot, "device_id": "D"})
	})
	handle("GET sync", f.sync)
	handle("POST rooms/{room}/join", f.join)
	handle("GET rooms/{room}/messages", f.inRoom(f.list))
	handle("GET rooms/{room}/joined_members", f.inRoom(f.members))
	handle("GET rooms/{room}/state/m.room.name", f.inRoom(f.name))
	handle("PUT rooms/{room}/send/{type}/{txn}", f.inRoom(f.send))
	handle("POST rooms/{room}/receipt/m.read/{event}", f.inRoom(f.receipt))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		f.t.Errorf("%s %s is not in the API", r.Method, r.URL.Path)
		matrixError(w, http.StatusNotFound, "M_UNRECOGNIZED")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func matrixAnswer(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func matrixError(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"errcode":%q,"error":"refused"}`, code)
}

// add adds an event.
func (f *homeserver) add(e matrixEvent) matrixEvent {
	e.ID, e.Time = fmt.Sprintf("$event%d/x", len(f.events)), 1700000000000+len(f.events)
	f.events = append(f.events, e)
	close(f.changed)
	f.changed = make(chan struct{})
	return e
}

// write adds a message of a user with more content.
func (f *homeserver) write(room, user, text string, more map[string]any) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	content := map[string]any{"msgtype": "m.text", "body": text}
	for name, value := range more {
		content[name] = value
	}
	return f.add(matrixEvent{Room: room, Type: "m.room.message", Sender: user, Content: content}).ID
}

// member changes the membership of a user.
func (f *homeserver) member(room, sender, user, membership string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addMember(room, sender, user, membership)
}

func (f *homeserver) addMember(room, sender, user, membership string) {
	e := matrixEvent{Room: room, Type: "m.room.member", Sender: sender, StateKey: &user, Content: map[string]any{"membership": membership, "displayname": strings.Trim(user, "@:h")}}
	if before := f.membership(room, user, len(f.events)); before != "" {
		e.Unsigned = map[string]any{"prev_content": map[string]any{"membership": before}}
	}
	f.add(e)
}

// membership returns the membership of a user after a number of events.
func (f *homeserver) membership(room, user string, at int) string {
	for _, e := range slices.Backward(f.events[:at]) {
		if e.Room == room && e.StateKey != nil && *e.StateKey == user && e.Type == "m.room.member" {
			return e.Content["membership"].(string)
		}
	}
	return ""
}

// position returns the number of events at a token.
func position(token string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(token, "s"))
	return n, err == nil && strings.HasPrefix(token, "s")
}

// sync answers when there are events after a token.
func (f *homeserver) sync(w http.ResponseWriter, r *http.Request) {
	since, ok := position(r.FormValue("since"))
	if r.FormValue("since") != "" && !ok || !json.Valid([]byte(r.FormValue("filter"))) {
		matrixError(w, http.StatusBadRequest, "M_INVALID_PARAM")
		return
	}
	timeout, _ := strconv.Atoi(r.FormValue("timeout"))
	end := time.After(time.Duration(timeout) * time.Millisecond)
	for {
		f.mu.Lock()
		join, invite := f.since(since)
		changed, now := f.changed, len(f.events)
		f.mu.Unlock()
		if len(join)+len(invite) == 0 && r.FormValue("since") != "" {
			select {
			case <-changed:
				continue
			case <-r.Context().Done():
				return
			case <-end:
			}
		}
		matrixAnswer(w, map[string]any{"next_batch": fmt.Sprintf("s%d", now), "rooms": map[string]any{"join": join, "invite": invite}})
		return
	}
}

// since returns the rooms with events after a position, as a sync has them.
func (f *homeserver) since(since int) (join, invite map[string]any) {
	join, invite = make(map[string]any), make(map[string]any)
	for _, e := range f.events[since:] {
		switch f.membership(e.Room, matrixBot, len(f.events)) {
		case "join":
			from := since
			if f.membership(e.Room, matrixBot, since) != "join" {
				from = 0 // the bot has just joined, and sees what was before
			}
			events, at := f.latest(e.Room, from, len(f.events))
			join[e.Room] = map[string]any{"timeline": map[string]any{"events": events, "limited": at > from, "prev_batch": fmt.Sprintf("s%d", at)}}
		case "invite":
			if *f.lastMember(e.Room).StateKey == matrixBot && f.membership(e.Room, matrixBot, since) != "invite" {
				invite[e.Room] = map[string]any{"invite_state": map[string]any{"events": []matrixEvent{f.lastMember(e.Room)}}}
			}
		}
	}
	return join, invite
}

// lastMember returns the latest change of a membership in a room.
func (f *homeserver) lastMember(room string) (last matrixEvent) {
	for _, e := range f.events {
		if e.Room == room && e.Type == "m.room.member" {
			last = e
		}
	}
	return last
}

// latest returns the latest events of a room between two positions, oldest first, and the
// position before them, which is from if there are no more.
func (f *homeserver) latest(room string, from, to int) (events []matrixEvent, at int) {
	for at = to; at > from; at-- {
		if e := f.events[at-1]; e.Room == room {
			if len(events) == matrixLimit {
				return events, at
			}
			events = slices.Insert(events, 0, e)
		}
	}
	return events, from
}

// inRoom answers a request only if the bot is in the room.
func (f *homeserver) inRoom(do func(w http.ResponseWriter, r *http.Request, room string)) func(w http.ResponseWriter, r *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		room := r.PathValue("room")
		f.mu.Lock()
		member := f.membership(room, matrixBot, len(f.events)) == "join"
		f.mu.Unlock()
		if !member {
			matrixError(w, http.StatusForbidden, "M_FORBIDDEN")
			return
		}
		do(w, r, room)
	}
}

// join accepts an invitation.
func (f *homeserver) join(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	room := r.PathValue("room")
	if f.membership(room, matrixBot, len(f.events)) != "invite" {
		matrixError(w, http.StatusForbidden, "M_FORBIDDEN")
		return
	}
	f.addMember(room, matrixBot, matrixBot, "join")
	matrixAnswer(w, map[string]any{"room_id": room})
}

// list answers with older messages, newest first.
func (f *homeserver) list(w http.ResponseWriter, r *http.Request, room string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	from, ok := position(r.FormValue("from"))
	to, okTo := position(r.FormValue("to"))
	if !ok || !okTo || r.FormValue("dir") != "b" {
		matrixError(w, http.StatusBadRequest, "M_INVALID_PARAM")
		return
	}
	events, at := f.latest(room, to, from)
	slices.Reverse(events)
	answer := map[string]any{"chunk": events, "start": r.FormValue("from")}
	if at > to {
		answer["end"] = fmt.Sprintf("s%d", at)
	}
	matrixAnswer(w, answer)
}

// members lists the users in a room. One has no name.
func (f *homeserver) members(w http.ResponseWriter, _ *http.Request, room string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	joined := make(map[string]any)
	for _, e := range f.events {
		if e.Room != room || e.StateKey == nil || f.membership(room, *e.StateKey, len(f.events)) != "join" {
			continue
		}
		joined[*e.StateKey] = map[string]any{}
		if *e.StateKey == "@ann:h" {
			joined[*e.StateKey] = map[string]any{"display_name": "Ann Lee"}
		}
	}
	matrixAnswer(w, map[string]any{"joined": joined})
}

// name answers with the name of a room; only the one of the team has one.
func (f *homeserver) name(w http.ResponseWriter, _ *http.Request, room string) {
	if room != "!team:h" {
		matrixError(w, http.StatusNotFound, "M_NOT_FOUND")
		return
	}
	matrixAnswer(w, map[string]any{"name": "Team"})
}

// send adds a message of the bot, once for each transaction.
func (f *homeserver) send(w http.ResponseWriter, r *http.Request, room string) {
	var c struct {
		Kind    string `json:"msgtype"`
		Body    string `json:"body"`
		Relates struct {
			Kind string `json:"rel_type"`
			ID   string `json:"event_id"`
		} `json:"m.relates_to"`
	}
	data := new(strings.Builder)
	content := make(map[string]any)
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 65_000)).Decode(&content)
	_ = json.NewEncoder(data).Encode(content)
	_ = json.Unmarshal([]byte(data.String()), &c)
	f.mu.Lock()
	f.puts[r.PathValue("txn")]++
	before, after := f.before, f.after
	f.mu.Unlock()
	if before != nil && before(w) {
		return
	}
	switch {
	case err != nil && strings.Contains(err.Error(), "too large"):
		matrixError(w, http.StatusRequestEntityTooLarge, "M_TOO_LARGE")
		return
	case err != nil || r.Header.Get("Content-Type") != "application/json":
		matrixError(w, http.StatusBadRequest, "M_NOT_JSON")
		return
	case c.Kind == "" || c.Body == "" || r.PathValue("type") != "m.room.message" || c.Relates.Kind == "m.thread" && !f.has(room, c.Relates.ID):
		matrixError(w, http.StatusBadRequest, "M_BAD_JSON")
		return
	}
	f.mu.Lock()
	id := f.sent[r.URL.Path]
	if id == "" {
		e := f.add(matrixEvent{Room: room, Type: "m.room.message", Sender: matrixBot, Content: content})
		f.sent[r.URL.Path], id = e.ID, e.ID
		f.messages <- e
	}
	f.mu.Unlock()
	if after != nil {
		after()
	}
	matrixAnswer(w, map[string]any{"event_id": id})
}

// has reports whether a room has an event.
func (f *homeserver) has(room, id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.events, func(e matrixEvent) bool { return e.Room == room && e.ID == id })
}

// receipt marks an event as read.
func (f *homeserver) receipt(w http.ResponseWriter, r *http.Request, room string) {
	var body struct {
		Thread string `json:"thread_id"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || !f.has(room, r.PathValue("event")) {
		matrixError(w, http.StatusBadRequest, "M_INVALID_PARAM")
		return
	}
	f.receipts <- r.PathValue("event") + " " + body.Thread
	matrixAnswer(w, map[string]any{})
}

// hook sets the functions around messages.
func (f *homeserver) hook(before func(w http.ResponseWriter) bool, after func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

// expect returns the next message of the bot, which must be in a room and contain a text.
func (f *homeserver) expect(room, text string) matrixEvent {
	f.t.Helper()
	m := next(f.t, f.messages, "answer")
	if body, _ := m.Content["body"].(string); m.Room != room || m.Content["msgtype"] != "m.notice" || !strings.Contains(body, text) {
		f.t.Errorf("the answer is %+v, want one in %s with %s", m, room, text)
	}
	return m
}

// relation returns what a message relates to, as JSON.
func relation(e matrixEvent) string {
	data, _ := json.Marshal(e.Content["m.relates_to"])
	return string(data)
}

// TestMatrixBridge talks by Matrix: in a room with one user, in a group and its threads, after
// errors of the homeserver, and after more messages than a sync returns. The bridge is killed
// before and after it has sent an answer; no answer is lost or sent twice.
func TestMatrixBridge(t *testing.T) {
	f := newHomeserver(t)
	state := t.TempDir()
	b := buildBridge(t, "../../examples/matrix", "matrix", "MATRIX_SERVER="+f.url, "MATRIX_TOKEN=syt_1", "MATRIX_USERS=@ann:h", "MATRIX_STATE="+state)
	f.member("!dm:h", "@ann:h", "@ann:h", "join")
	f.write("!dm:h", "@ann:h", "what is 5*5?", nil) // before the invitation
	kill := b.start()
	f.member("!eve:h", "@eve:h", "@eve:h", "join")
	f.member("!eve:h", "@eve:h", matrixBot, "invite") // may not talk to the agent
	f.member("!dm:h", "@ann:h", matrixBot, "invite")
	first := f.write("!dm:h", "@ann:h", "what is 6*7?", nil)
	if m := f.expect("!dm:h", "42"); relation(m) != "null" {
		t.Errorf("the answer relates to %s", relation(m))
	}
	if receipt := next(t, f.receipts, "receipt"); receipt != first+" main" {
		t.Errorf("the receipt is for %s", receipt)
	}

	f.talkInGroup()

	f.hook(func(w http.ResponseWriter) bool {
		f.hook(f.notBefore(time.Now().Add(1100*time.Millisecond)), nil)
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"errcode":"M_LIMIT_EXCEEDED","error":"Too many requests","retry_after_ms":1100}`))
		return true
	}, nil)
	f.write("!dm:h", "@ann:h", "what is 4*4?", nil)
	f.expect("!dm:h", "16")

	f.killBefore(kill)
	kill = b.start()
	f.expect("!dm:h", "64")
	f.killAfter(kill)
	var last string
	for n := range 8 { // more than a sync returns
		last = fmt.Sprintf("what is %d*11?", n+1)
		f.write("!dm:h", "@ann:h", last, nil)
	}
	b.start()
	var answers []string
	for range 8 {
		body, _ := next(t, f.messages, "answer").Content["body"].(string)
		answers = append(answers, body)
	}
	for n := range 8 {
		if !slices.ContainsFunc(answers, func(s string) bool { return strings.Contains(s, strconv.Itoa((n+1)*11)) }) {
			t.Errorf("%d*11 is not answered: %q", n+1, answers)
		}
	}
	f.checkSent()

	direct := b.firn("cat", "@agent:main:matrix:direct:@ann:h")
	if strings.Count(direct, "what is 8*8?") != 1 || !strings.Contains(direct, last) || strings.Contains(direct, "5*5") {
		t.Errorf("the conversation is\n%s", direct)
	}
	if out := b.fails("MATRIX_TOKEN=syt_2"); !strings.Contains(out, "401 M_UNKNOWN_TOKEN") {
		t.Errorf("with a wrong token it ends with %s", out)
	}
}

// notBefore returns a hook that fails the test if a message is sent before a time.
func (f *homeserver) notBefore(until time.Time) func(w http.ResponseWriter) bool {
	return func(http.ResponseWriter) bool {
		if time.Now().Before(until) {
			f.t.Error("the bridge does not wait as long as the homeserver asks for")
		}
		return false
	}
}

// talkInGroup talks in a room with several users, where the bot must be mentioned, in a thread
// of it, and in an encrypted room.
func (f *homeserver) talkInGroup() {
	t, mention := f.t, map[string]any{"m.mentions": map[string]any{"user_ids": []string{matrixBot}}}
	for _, user := range []string{"@ann:h", "@eve:h"} {
		f.member("!team:h", user, user, "join")
	}
	f.member("!team:h", "@ann:h", matrixBot, "invite")
	f.write("!team:h", "@ann:h", "what is 1*1?", map[string]any{"m.mentions": map[string]any{}}) // not for the bot
	f.write("!team:h", "@eve:h", "what is 1*2?", mention)                                        // may not talk to it
	asked := f.write("!team:h", "@ann:h", "what is 2*3?", mention)
	if m := f.expect("!team:h", "6"); relation(m) != fmt.Sprintf(`{"m.in_reply_to":{"event_id":%q}}`, asked) {
		t.Errorf("the answer in a group relates to %s", relation(m))
	}
	next(t, f.receipts, "receipt")
	inThread := map[string]any{"m.mentions": mention["m.mentions"], "m.relates_to": map[string]any{"rel_type": "m.thread", "event_id": asked, "is_falling_back": true, "m.in_reply_to": map[string]any{"event_id": asked}}}
	threaded := f.write("!team:h", "@ann:h", "what is 3*3?", inThread)
	if m := f.expect("!team:h", "9"); relation(m) != fmt.Sprintf(`{"event_id":%q,"is_falling_back":true,"m.in_reply_to":{"event_id":%q},"rel_type":"m.thread"}`, asked, threaded) {
		t.Errorf("the answer in a thread relates to %s", relation(m))
	}
	if receipt := next(t, f.receipts, "receipt"); receipt != threaded+" "+asked {
		t.Errorf("the receipt in a thread is for %s", receipt)
	}
	f.mu.Lock()
	for range 2 {
		f.add(matrixEvent{Room: "!dm:h", Type: "m.room.encrypted", Sender: "@ann:h", Content: map[string]any{"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AwgA"}})
	}
	f.mu.Unlock()
	f.expect("!dm:h", "encrypted") // once: the next answers follow
}

// killBefore asks a question, and kills the bridge after the homeserver has refused to send the
// answer.
func (f *homeserver) killBefore(kill func()) {
	asked := make(chan struct{})
	first := sync.OnceFunc(func() { close(asked) })
	f.hook(func(w http.ResponseWriter) bool {
		first()
		matrixError(w, http.StatusBadGateway, "M_UNKNOWN")
		return true
	}, nil)
	f.write("!dm:h", "@ann:h", "what is 8*8?", nil)
	next(f.t, asked, "attempt to send")
	kill()
	f.hook(nil, nil)
}

// killAfter asks a question, and kills the bridge after the homeserver has sent the answer and
// before the bridge knows that.
func (f *homeserver) killAfter(kill func()) {
	f.hook(nil, kill)
	f.write("!dm:h", "@ann:h", "what is 7*7?", nil)
	f.expect("!dm:h", "49")
	kill()
	f.hook(nil, nil)
}

// checkSent checks that a transaction was repeated, by the bridge that was killed, and that no
// answer was sent twice.
func (f *homeserver) checkSent() {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	texts, repeated := make(map[string]bool), 0
	for _, e := range f.events {
		body, _ := e.Content["body"].(string)
		if e.Sender == matrixBot && body != "" {
			if texts[body] {
				f.t.Errorf("sent twice: %s", body)
			}
			texts[body] = true
		}
	}
	for _, n := range f.puts {
		if n > 1 {
			repeated++
		}
	}
	if repeated < 3 { // after the rate limit and both kills
		f.t.Errorf("the transactions are %v", f.puts)
	}
}
