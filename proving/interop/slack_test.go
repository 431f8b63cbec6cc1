package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"golang.org/x/net/websocket"
)

// slackServer speaks Slack's Web API and Socket Mode as strictly as the real server: an address
// for a connection is valid once, an event is delivered until it is acknowledged, methods that
// read do not accept JSON, and messages have the limits of Slack.
type slackServer struct {
	t   *testing.T
	url string
	mu  sync.Mutex
	// tickets are the addresses for connections that were not used yet.
	tickets map[string]bool
	// waiting are the envelopes that are not acknowledged; changed wakes the connection.
	waiting []map[string]any
	changed chan struct{}
	// delivered are the IDs of all envelopes that were sent.
	delivered map[string]bool
	// disconnect ends connections with a reason.
	disconnect chan string
	// messages are the messages of all channels, oldest first.
	messages []slackMessage
	posted   chan slackMessage
	// before answers the next calls of chat.postMessage if it returns true; after is called
	// with the posted message before the response.
	before func(w http.ResponseWriter, channel string) bool
	after  func()
	lastTS int
}

// slackMessage is a message in a channel.
type slackMessage struct {
	Channel  string          `json:"-"`
	TS       string          `json:"ts"`
	Thread   string          `json:"thread_ts,omitempty"`
	User     string          `json:"user"`
	Text     string          `json:"text"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

func newSlackServer(t *testing.T) *slackServer {
	f := &slackServer{
		t: t, tickets: make(map[string]bool), delivered: make(map[string]bool), changed: make(chan struct{}), disconnect: make(chan string),
		posted: make(chan slackMessage, 100), lastTS: 100,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/{method}", f.call)
	mux.Handle("/link/", websocket.Server{Handler: f.connection, Handshake: func(_ *websocket.Config, r *http.Request) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		ticket := r.URL.Query().Get("ticket")
		if !f.tickets[ticket] {
			return fmt.Errorf("the ticket %q is not valid", ticket)
		}
		delete(f.tickets, ticket)
		return nil
	}})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// connection serves one connection of Socket Mode.
func (f *slackServer) connection(conn *websocket.Conn) {
	send := func(v any) { _ = websocket.JSON.Send(conn, v) }
	send(map[string]any{"type": "hello", "num_connections": 1, "connection_info": map[string]any{"app_id": "A1"}, "debug_info": map[string]any{"approximate_connection_time": 18060}})
	closed, delivered := make(chan struct{}), make(map[string]bool)
	go f.acknowledgments(conn, closed)
	for {
		f.mu.Lock()
		waiting, changed := slices.Clone(f.waiting), f.changed
		f.mu.Unlock()
		for _, e := range waiting {
			if id := e["envelope_id"].(string); !delivered[id] {
				delivered[id] = true
				f.mu.Lock()
				f.delivered[id] = true
				f.mu.Unlock()
				send(e)
				f.mu.Lock()
				e["retry_attempt"] = e["retry_attempt"].(int) + 1 // on the next connection
				f.mu.Unlock()
			}
		}
		select {
		case <-changed:
		case <-closed:
			return
		case reason := <-f.disconnect:
			send(map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": "applink"}})
		}
	}
}

// acknowledgments reads the acknowledgments of a connection until it is closed.
func (f *slackServer) acknowledgments(conn *websocket.Conn, closed chan<- struct{}) {
	defer close(closed)
	for {
		var ack struct {
			ID string `json:"envelope_id"`
		}
		if websocket.JSON.Receive(conn, &ack) != nil {
			return
		}
		f.mu.Lock()
		f.waiting = slices.DeleteFunc(f.waiting, func(e map[string]any) bool { return e["envelope_id"] == ack.ID })
		if !f.delivered[ack.ID] { // one that was delivered on two connections is acknowledged twice
			f.t.Errorf("the bridge acknowledges %q, which was not delivered", ack.ID)
		}
		f.mu.Unlock()
	}
}

// deliver queues an event for delivery.
func (f *slackServer) deliver(event map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := fmt.Sprintf("envelope-%d", f.lastTS)
	f.lastTS++
	f.waiting = append(f.waiting, map[string]any{
		"type": "events_api", "envelope_id": id, "accepts_response_payload": false, "retry_attempt": 0, "retry_reason": "",
		"payload": map[string]any{"type": "event_callback", "team_id": "T1", "api_app_id": "A1", "event_id": "Ev" + id, "event_time": 1, "event": event},
	})
	close(f.changed)
	f.changed = make(chan struct{})
}

// write posts a message of a user and delivers its event; it returns the timestamp.
func (f *slackServer) write(kind, channel, thread, user, text string) string {
	f.mu.Lock()
	m := f.add(slackMessage{Channel: channel, Thread: thread, User: user, Text: text})
	f.mu.Unlock()
	event := map[string]any{"type": kind, "channel": channel, "user": user, "text": text, "ts": m.TS, "event_ts": m.TS}
	if thread != "" {
		event["thread_ts"] = thread
	}
	if kind == "message" {
		event["channel_type"] = map[byte]string{'D': "im", 'C': "channel"}[channel[0]]
	}
	f.deliver(event)
	return m.TS
}

// add adds a message to a channel.
func (f *slackServer) add(m slackMessage) slackMessage {
	f.lastTS++
	m.TS = fmt.Sprintf("1700000%03d.000100", f.lastTS)
	f.messages = append(f.messages, m)
	return m
}

// call answers a method of the Web API.
func (f *slackServer) call(w http.ResponseWriter, r *http.Request) {
	method := r.PathValue("method")
	token := map[string]string{"apps.connections.open": "Bearer xapp-1"}[method]
	if token == "" {
		token = "Bearer xoxb-1"
	}
	if r.Header.Get("Authorization") != token {
		slackError(w, "invalid_auth")
		return
	}
	switch method {
	case "apps.connections.open":
		f.mu.Lock()
		f.lastTS++
		ticket := fmt.Sprintf("t%d", f.lastTS)
		f.tickets[ticket] = true
		f.mu.Unlock()
		slackOK(w, map[string]any{"url": "ws" + strings.TrimPrefix(f.url, "http") + "/link/?ticket=" + ticket})
	case "auth.test":
		slackOK(w, map[string]any{"user_id": "UBOT", "team_id": "T1", "bot_id": "B1"})
	case "chat.postMessage":
		f.post(w, r)
	case "users.info", "conversations.history", "conversations.replies":
		if r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || r.ParseForm() != nil {
			slackError(w, "invalid_arguments")
			return
		}
		if method == "users.info" {
			slackOK(w, map[string]any{"user": map[string]any{"id": r.Form.Get("user"), "name": "ann", "profile": map[string]any{"display_name": "Ann Lee"}}})
			return
		}
		f.list(w, r.Form, method == "conversations.replies")
	default:
		slackError(w, "unknown_method")
	}
}

// post answers chat.postMessage, and delivers the message to the bot like one of a user.
func (f *slackServer) post(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Channel  string          `json:"channel"`
		Thread   string          `json:"thread_ts"`
		Markdown string          `json:"markdown_text"`
		Text     string          `json:"text"`
		Metadata json.RawMessage `json:"metadata"`
	}
	f.mu.Lock()
	before, after := f.before, f.after
	f.mu.Unlock()
	err := json.NewDecoder(r.Body).Decode(&q)
	if before != nil && before(w, q.Channel) {
		return
	}
	f.mu.Lock()
	known := func(ts string) bool {
		return ts == "" || slices.ContainsFunc(f.messages, func(m slackMessage) bool { return m.Channel == q.Channel && m.TS == ts })
	}
	switch {
	case err != nil || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		slackError(w, "invalid_json")
	case q.Channel == "CGONE":
		slackError(w, "is_archived")
	case q.Text != "" && q.Markdown != "":
		slackError(w, "markdown_text_conflict")
	case q.Text+q.Markdown == "":
		slackError(w, "no_text")
	case len(utf16.Encode([]rune(q.Markdown))) > 12_000:
		slackError(w, "msg_too_long")
	case !known(q.Thread):
		slackError(w, "thread_not_found")
	default:
		m := f.add(slackMessage{Channel: q.Channel, Thread: q.Thread, User: "UBOT", Text: q.Markdown, Metadata: q.Metadata})
		f.mu.Unlock()
		event := map[string]any{"type": "message", "channel": m.Channel, "channel_type": "im", "user": "UBOT", "bot_id": "B1", "text": m.Text, "ts": m.TS}
		f.deliver(event)
		f.posted <- m
		if after != nil {
			after()
		}
		slackOK(w, map[string]any{"channel": m.Channel, "ts": m.TS})
		return
	}
	f.mu.Unlock()
}

// list answers conversations.history and conversations.replies, one message per page.
func (f *slackServer) list(w http.ResponseWriter, form url.Values, replies bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []slackMessage
	for _, m := range f.messages {
		inThread := m.Thread == form.Get("ts") || m.TS == form.Get("ts")
		if m.Channel != form.Get("channel") || m.TS <= form.Get("oldest") || replies != (inThread && replies) || !replies && m.Thread != "" {
			continue
		}
		if form.Get("include_all_metadata") != "true" {
			m.Metadata = nil
		}
		found = append(found, m)
	}
	if replies && form.Get("ts") == "" {
		slackError(w, "thread_not_found")
		return
	}
	at := 0
	_, _ = fmt.Sscanf(form.Get("cursor"), "page-%d", &at)
	answer := map[string]any{"messages": found[min(at, len(found)):min(at+1, len(found))], "has_more": at+1 < len(found)}
	if at+1 < len(found) {
		answer["response_metadata"] = map[string]any{"next_cursor": fmt.Sprintf("page-%d", at+1)}
	}
	slackOK(w, answer)
}

func slackOK(w http.ResponseWriter, answer map[string]any) {
	answer["ok"] = true
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(answer)
}

// slackError writes an error, which Slack sends with status 200.
func slackError(w http.ResponseWriter, code string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": false, "error": code})
}

// next returns the next value of a channel.
func next[T any](t *testing.T, from <-chan T, what string) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(patience):
		t.Fatalf("no %s", what)
	}
	return value
}

// hook sets the functions around chat.postMessage.
func (f *slackServer) hook(before func(w http.ResponseWriter, channel string) bool, after func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

// bridgeProgram is an example bridge between a network and a gateway of a home.
type bridgeProgram struct {
	t         *testing.T
	program   string
	home, dir string
	env       []string
	// ended receives the output of a bridge that ends.
	ended chan string
}

// buildBridge builds an example and starts a gateway for it.
func buildBridge(t *testing.T, dir, name string, env ...string) *bridgeProgram {
	t.Helper()
	b := &bridgeProgram{t: t, program: filepath.Join(t.TempDir(), name), home: t.TempDir(), dir: t.TempDir(), ended: make(chan string, 10)}
	cmd := exec.Command("go", "build", "-o", b.program, ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	settings := "[session.queue]\nmode = \"followup\"\ndebounce = \"0s\"\n"
	if err := os.WriteFile(filepath.Join(b.home, "firn.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	var token struct{ Secret string }
	askFirn(t, &token, b.home, "token", "create", "bridge", "--scope", "write")
	gateway := serve(t, b.home)
	b.env = append(plainEnv(b.dir), append(env, "FIRN_GATEWAY="+gateway.url, "FIRN_TOKEN="+token.Secret)...)
	return b
}

// start starts the bridge and returns a function that kills it.
func (b *bridgeProgram) start() (kill func()) {
	b.t.Helper()
	cmd := exec.Command(b.program)
	var output strings.Builder
	cmd.Env, cmd.Stderr = b.env, io.MultiWriter(b.t.Output(), &output)
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		b.ended <- output.String()
		close(over)
	}()
	kill = func() {
		_ = cmd.Process.Kill()
		<-over
	}
	b.t.Cleanup(kill)
	return kill
}

// fails runs the bridge with other variables and returns its output; it must end with an error.
func (b *bridgeProgram) fails(env ...string) string {
	b.t.Helper()
	cmd := exec.Command(b.program)
	cmd.Env = append(slices.Clone(b.env), env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		b.t.Errorf("with %q it ends without an error: %s", env, out)
	}
	return string(out)
}

// firn runs a firn command in the home of the gateway.
func (b *bridgeProgram) firn(args ...string) string { return runFirn(b.t, b.home, args...) }

// TestSlackBridge talks by Slack: in a direct conversation, by mentions in a channel and its
// threads, after errors of Slack and while it refreshes the connection. The bridge is killed
// before and after it has posted an answer; no answer is lost or posted twice.
func TestSlackBridge(t *testing.T) {
	f := newSlackServer(t)
	state := t.TempDir()
	b := buildBridge(t, "../../examples/slack", "slack", "SLACK_API="+f.url+"/api", "SLACK_APP_TOKEN=xapp-1", "SLACK_BOT_TOKEN=xoxb-1", "SLACK_USERS=U7", "SLACK_STATE="+state)
	kill := b.start()

	f.write("message", "D1", "", "U8", "what is 5*5?") // may not talk to the agent
	f.write("message", "D1", "", "U7", "what is 6*7 &amp; why?")
	if m := next(t, f.posted, "answer"); m.Channel != "D1" || m.Thread != "" || !strings.Contains(m.Text, "42") {
		t.Errorf("the answer is %+v", m)
	}
	ts := f.write("app_mention", "C1", "", "U7", "<@UBOT> what is 2*3?")
	f.write("message", "C1", "", "U7", "<@UBOT> what is 2*3?") // the same mention as a message
	if m := next(t, f.posted, "answer"); m.Channel != "C1" || m.Thread != ts || !strings.Contains(m.Text, "6") {
		t.Errorf("the answer to a mention is %+v", m)
	}
	f.write("app_mention", "C1", ts, "U7", "<@UBOT> what is 3*3?")
	if m := next(t, f.posted, "answer"); m.Channel != "C1" || m.Thread != ts || !strings.Contains(m.Text, "9") {
		t.Errorf("the answer in a thread is %+v", m)
	}

	f.disconnect <- "refresh_requested"
	f.write("app_mention", "CGONE", "", "U7", "<@UBOT> what is 1*1?") // cannot be answered, and stops nothing
	f.hook(limitOnce(f), nil)
	f.write("message", "D1", "", "U7", "what is 4*4?")
	if m := next(t, f.posted, "answer"); !strings.Contains(m.Text, "16") {
		t.Errorf("the answer after a new connection and a rate limit is %+v", m)
	}

	f.killBefore(kill)
	kill = b.start()
	if m := next(t, f.posted, "answer"); !strings.Contains(m.Text, "64") {
		t.Errorf("the answer after the kill is %+v", m)
	}
	f.killAfter(kill)
	b.start()
	f.write("message", "D1", "", "U7", "what is 9*11?")
	if m := next(t, f.posted, "answer"); !strings.Contains(m.Text, "99") {
		t.Errorf("after the kill between answer and confirmation it posts %+v", m)
	}
	f.checkState(state)

	direct := b.firn("cat", "@agent:main:slack:direct:U7")
	if strings.Count(direct, "what is 8*8?") != 1 || !strings.Contains(direct, "what is 6*7 & why?") || strings.Contains(direct, "5*5") {
		t.Errorf("the direct conversation is\n%s", direct)
	}
	thread := b.firn("cat", "@agent:main:slack:channel:C1:thread:"+ts)
	if strings.Count(thread, " Ann Lee ") != 2 || strings.Contains(thread, "UBOT") {
		t.Errorf("the thread is\n%s", thread)
	}

	if out := b.fails("SLACK_APP_TOKEN=xapp-2"); !strings.Contains(out, "apps.connections.open: Slack answers invalid_auth") {
		t.Errorf("with a wrong token it ends with %s", out)
	}
	if out := b.fails("SLACK_USERS="); !strings.Contains(out, "SLACK_USERS is not set") {
		t.Errorf("without users it ends with %s", out)
	}
	for len(b.ended) > 0 {
		<-b.ended
	}
	f.disconnect <- "link_disabled"
	if out := next(t, b.ended, "end of the bridge"); !strings.Contains(out, "Slack answers link_disabled") {
		t.Errorf("after Socket Mode was switched off it ends with %s", out)
	}
}

// limitOnce returns a hook that answers the next call with a rate limit, and counts on the
// bridge not to call before the time is over.
func limitOnce(f *slackServer) func(w http.ResponseWriter, channel string) bool {
	var until time.Time
	return func(w http.ResponseWriter, channel string) bool { // limits apply to a channel
		if channel != "D1" {
			return false
		}
		if until.IsZero() {
			until = time.Now().Add(time.Second)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"ok":false,"error":"ratelimited"}`))
			return true
		}
		if time.Now().Before(until) {
			f.t.Error("the bridge does not wait as long as Slack asks for")
		}
		return false
	}
}

// killBefore asks a question, and kills the bridge after Slack has refused to post the answer.
func (f *slackServer) killBefore(kill func()) {
	asked := make(chan struct{})
	first := sync.OnceFunc(func() { close(asked) })
	f.hook(func(w http.ResponseWriter, _ string) bool {
		first()
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}, nil)
	f.write("message", "D1", "", "U7", "what is 8*8?")
	next(f.t, asked, "attempt to post")
	kill()
	f.hook(nil, nil)
}

// killAfter asks a question, and kills the bridge after Slack has posted the answer and before
// the bridge knows that.
func (f *slackServer) killAfter(kill func()) {
	f.hook(nil, kill)
	f.write("message", "D1", "", "U7", "what is 7*7?")
	if m := next(f.t, f.posted, "answer"); !strings.Contains(m.Text, "49") {
		f.t.Errorf("the answer is %+v", m)
	}
	kill()
	f.hook(nil, nil)
}

// checkState waits until the bridge has no unanswered questions on disk, and checks that no
// answer was posted twice.
func (f *slackServer) checkState(dir string) {
	f.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		left, err := os.ReadDir(dir)
		if err != nil {
			f.t.Fatal(err)
		}
		if len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			f.t.Fatalf("questions stay on disk: %v", left)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := make(map[string]bool)
	for _, m := range f.messages {
		if m.User == "UBOT" && seen[string(m.Metadata)] {
			f.t.Errorf("posted twice: %+v", m)
		}
		seen[string(m.Metadata)] = true
	}
}
