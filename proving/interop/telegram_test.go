package interop

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"
)

// telegram is a server that speaks Telegram's bot API as strictly as the real one: a message
// is delivered until an offset confirms it.
type telegram struct {
	t  *testing.T
	mu sync.Mutex
	// waiting are the updates that are not confirmed; changed wakes requests for them.
	waiting []map[string]any
	changed chan struct{}
	// sent receives the messages of the bot; refuse answers the next ones, if it is not nil.
	sent   chan string
	refuse func(w http.ResponseWriter) bool
}

func newTelegram(t *testing.T) (*telegram, string) {
	f := &telegram{t: t, changed: make(chan struct{}), sent: make(chan string, 100)}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return f, server.URL
}

// sendMessage sends a message of a user. text is in a chat of a type; topic may be zero.
func (f *telegram) sendMessage(id int, kind string, chat, topic int, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := map[string]any{"message_id": id, "date": 1, "chat": map[string]any{"id": chat, "type": kind, "title": "Trip"}, "from": map[string]any{"id": 7, "is_bot": false, "first_name": "Ann", "last_name": "Lee"}, "text": text}
	if topic != 0 {
		m["message_thread_id"], m["is_topic_message"] = topic, true
	}
	f.waiting = append(f.waiting, map[string]any{"update_id": 1000 + id, "message": m})
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *telegram) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/bot123:abc/") {
		answerTelegram(w, http.StatusUnauthorized, "Unauthorized")
		return
	}
	var q struct {
		Offset int64  `json:"offset"`
		Chat   int64  `json:"chat_id"`
		Topic  int64  `json:"message_thread_id"`
		Text   string `json:"text"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Header.Get("Content-Type") != "application/json" {
		answerTelegram(w, http.StatusBadRequest, "Bad Request: can't parse JSON")
		return
	}
	switch filepath.Base(r.URL.Path) {
	case "getUpdates":
		f.deliver(w, r, q.Offset)
	case "sendMessage":
		f.mu.Lock()
		refuse := f.refuse
		f.mu.Unlock()
		switch n := len(utf16.Encode([]rune(q.Text))); {
		case refuse != nil && refuse(w):
		case n == 0 || n > 4096 || q.Chat == 0:
			answerTelegram(w, http.StatusBadRequest, "Bad Request: message text is empty or too long")
		default:
			f.sent <- fmt.Sprintf("%d/%d %s", q.Chat, q.Topic, q.Text)
			answerTelegram(w, http.StatusOK, `{"message_id":1}`)
		}
	default:
		answerTelegram(w, http.StatusNotFound, "Not Found")
	}
}

// deliver answers with the updates from an offset on, as soon as there are any.
func (f *telegram) deliver(w http.ResponseWriter, r *http.Request, offset int64) {
	for {
		f.mu.Lock()
		f.waiting = slices.DeleteFunc(f.waiting, func(u map[string]any) bool { return int64(u["update_id"].(int)) < offset })
		updates, changed := slices.Clone(f.waiting), f.changed
		f.mu.Unlock()
		if len(updates) > 0 {
			data, _ := json.Marshal(updates)
			answerTelegram(w, http.StatusOK, string(data))
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// answerTelegram writes a result, or the description of an error.
func answerTelegram(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if status == http.StatusOK {
		fmt.Fprintf(w, `{"ok":true,"result":%s}`, text)
		return
	}
	fmt.Fprintf(w, `{"ok":false,"error_code":%d,"description":%q,"parameters":{"retry_after":1}}`, status, text)
}

// next returns the next message of the bot.
func (f *telegram) next() string {
	f.t.Helper()
	select {
	case text := <-f.sent:
		return text
	case <-time.After(patience):
		f.t.Fatal("the bot sends nothing")
		return ""
	}
}

// wait waits until a channel is closed.
func (f *telegram) wait(done <-chan struct{}) {
	f.t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		f.t.Fatal("the bot does not answer")
	}
}

// TestTelegramBridge talks by Telegram: in private, in a topic of a group, after an error of
// Telegram, and after the bridge was killed before it had sent an answer.
func TestTelegramBridge(t *testing.T) {
	bridge := filepath.Join(t.TempDir(), "telegram")
	if out, err := exec.Command("go", "build", "-o", bridge, "firn.dev/examples/telegram").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	home := t.TempDir()
	var token struct{ Secret string }
	askFirn(t, &token, home, "token", "create", "bridge", "--scope", "write")
	gateway := serve(t, home)
	f, url := newTelegram(t)
	start := func() *exec.Cmd {
		cmd := exec.Command(bridge)
		cmd.Env = append(plainEnv(t.TempDir()), "TELEGRAM_API="+url, "TELEGRAM_TOKEN=123:abc", "TELEGRAM_USERS=7", "FIRN_GATEWAY="+gateway.url, "FIRN_TOKEN="+token.Secret)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd
	}
	running := start()
	f.sendMessage(1, "private", 7, 0, "what is 6*7?")
	if got := f.next(); !strings.HasPrefix(got, "7/0 ") || !strings.Contains(got, "42") {
		t.Errorf("the answer is %q", got)
	}
	f.sendMessage(2, "supergroup", -100, 5, "what is 2*3?")
	if got := f.next(); !strings.HasPrefix(got, "-100/5 ") || !strings.Contains(got, "6") {
		t.Errorf("the answer in a topic is %q", got)
	}

	f.mu.Lock()
	f.refuse = func(w http.ResponseWriter) bool { // a chat that has blocked the bot does not stop others
		answerTelegram(w, http.StatusForbidden, "Forbidden: bot was blocked by the user")
		f.mu.Lock()
		f.refuse = nil
		f.mu.Unlock()
		return true
	}
	f.mu.Unlock()
	f.sendMessage(20, "private", 8, 0, "what is 1*1?")
	f.sendMessage(21, "private", 7, 0, "what is 3*3?")
	if got := f.next(); !strings.HasPrefix(got, "7/0 ") && !strings.HasPrefix(got, "8/0 ") {
		t.Errorf("beside a chat that has blocked the bot: %q", got)
	}

	asked := make(chan struct{})
	first := sync.OnceFunc(func() { close(asked) })
	f.mu.Lock()
	f.refuse = func(w http.ResponseWriter) bool {
		first()
		answerTelegram(w, http.StatusTooManyRequests, "Too Many Requests: retry after 1")
		return true
	}
	f.mu.Unlock()
	f.sendMessage(30, "private", 7, 0, "what is 8*8?")
	f.wait(asked)
	_ = running.Process.Kill()
	_ = running.Wait()
	f.mu.Lock()
	f.refuse = nil
	f.mu.Unlock()
	start()
	if got := f.next(); !strings.Contains(got, "64") {
		t.Errorf("the answer after the kill is %q", got)
	}
	private := runFirn(t, home, "cat", "@agent:main:telegram:direct:7")
	if strings.Count(private, " Ann Lee ") < 2 || strings.Count(private, "what is 8*8?") != 1 {
		t.Errorf("the private chat is\n%s", private)
	}
	keys := runFirn(t, home, "keys", "ls")
	if !strings.Contains(keys, "telegram:group:-100") {
		t.Errorf("the keys are\n%s", keys)
	}

	wrong := exec.Command(bridge)
	wrong.Env = append(plainEnv(t.TempDir()), "TELEGRAM_API="+url, "TELEGRAM_TOKEN=wrong", "TELEGRAM_USERS=*", "FIRN_GATEWAY="+gateway.url)
	if out, err := wrong.CombinedOutput(); err == nil || !strings.Contains(string(out), "401: Unauthorized") || strings.Contains(string(out), url) {
		t.Errorf("with a wrong token it ends with %v: %s", err, out)
	}
}
