package serve

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev/client"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/door/api"
	"firn.dev/internal/ops/config"
	"firn.dev/wire"
)

// TestEverySettingIsRead finds settings that no code reads.
func TestEverySettingIsRead(t *testing.T) {
	// Read by package config itself: for each agent, and for the secret of a hook.
	read := map[string]bool{"Defaults": true, "SecretEnv": true, "SecretFile": true}
	for _, dir := range []string{".", "../../term/cli", "../../../cmd/firn"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files: %v", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					read[s.Sel.Name] = true
				}
				return true
			})
		}
	}
	seen := make(map[reflect.Type]bool)
	var check func(typ reflect.Type, path string)
	check = func(typ reflect.Type, path string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			if !read[f.Name] {
				t.Errorf("%s.%s is not read anywhere", path, f.Tag.Get("key"))
			}
			check(f.Type, path+"."+f.Tag.Get("key"))
		}
	}
	check(reflect.TypeFor[config.Config](), "settings")
}

// TestOneSocket checks that the settings and the gateway have the same default socket.
func TestOneSocket(t *testing.T) {
	for _, home := range []string{"/home/u/.firn", "/x"} {
		if got, want := config.Default(home).Gateway.Socket, api.SocketPath(home); got != want {
			t.Errorf("the settings have %s, the gateway %s", got, want)
		}
	}
}

// TestFallbacks checks that a fallback model is used if the first rejects the credentials,
// and that this is reported and logged.
func TestFallbacks(t *testing.T) {
	first := speak(t, func(w http.ResponseWriter, _ []message) { fails(w, http.StatusUnauthorized, "wrong key") })
	second := speak(t, nil)
	_, c := openInstance(t, Options{Settings: load(t, first.settings("fallbacks = [\"other/one\", \"talk/talker\"]\n[providers.other]\nkind = \"openai-chat\"\nurl = "+quoted(second.URL)))})
	s, err := c.NewSession(t.Context(), wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	var notices []string
	var answer wire.Answer
	for e, err := range c.StreamTurn(t.Context(), s.ID, wire.Turn{Text: "Hello."}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Name {
		case wire.NoticeEvent:
			notices = append(notices, string(e.Data))
		case wire.TurnCompleted:
			decode(t, e.Data, &answer)
		}
	}
	if answer.Provider != "other" || answer.Model != "one" || answer.Text == "" || first.count() != 1 || second.count() != 1 {
		t.Errorf("the answer is %+v; they were called %d and %d times", answer, first.count(), second.count())
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "other/one answers instead") {
		t.Errorf("the output is %q", notices)
	}
	if log := transcript(t, c, s); !strings.Contains(log, `"fallback":{"from":"talk/talker","why":"auth"}`) {
		t.Errorf("the log is\n%s", log)
	}
	for _, bad := range []string{"nobody/x", "talk"} {
		wrong := load(t, "")
		wrong.Agents["main"] = config.Agent{Model: "firn/offline", Fallbacks: []string{bad}}
		if _, err := Open(Options{Settings: wrong, Env: env()}); err == nil {
			t.Errorf("the fallback %s is accepted", bad)
		}
	}
}

// transcript returns the log of a session, one message per line.
func transcript(t *testing.T, c *client.Client, s wire.Session) string {
	t.Helper()
	var lines []string
	for e, err := range c.Entries(t.Context(), s.ID, client.EntryQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(e.Line))
	}
	return strings.Join(lines, "\n")
}

// write sends a message over a channel and waits for the answer.
func write(t *testing.T, c *client.Client, channel, kind, peer, text string) wire.Routed {
	t.Helper()
	r, err := c.Inbound(t.Context(), wire.Inbound{Channel: channel, PeerKind: kind, PeerID: peer, Sender: peer, Text: text, Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDirectHistory checks that the history limit of a channel or peer applies to direct
// conversations only.
func TestDirectHistory(t *testing.T) {
	s := speak(t, nil)
	_, c := openInstance(t, Options{Settings: load(t, s.settings("history_limit = 3\n[defaults.dm_history]\ntelegram = 2\n\"Telegram:Eve@x\" = 1\nsignal = 0\n"))})
	for _, k := range []struct {
		channel, kind, peer string
		want                int // turns
	}{{"telegram", "direct", "ada", 2}, {"telegram", "direct", "Eve@x", 1}, {"signal", "direct", "ada", 5}, {"mail", "direct", "ada", 3}, {"telegram", "group", "g1", 3}} {
		var out wire.Routed
		for i := range 5 {
			out = write(t, c, k.channel, k.kind, k.peer, fmt.Sprint("message ", i))
		}
		_, received := s.last()
		users := slices.DeleteFunc(only(received), func(h string) bool { return !strings.HasPrefix(h, "user") })
		if len(users) != k.want || !strings.Contains(users[len(users)-1], "message 4") {
			t.Errorf("%s %s: it was sent %q", k.channel, k.peer, users)
		}
		w, err := c.Window(t.Context(), out.Session, "")
		if err != nil {
			t.Fatal(err)
		}
		if sent := len(w.Items); k.channel != "mail" && k.kind == "direct" && sent != 2*k.want { // with the answers
			t.Errorf("%s %s: the window has %d items", k.channel, k.peer, sent)
		}
	}
}

// TestQueueByChannel checks that messages of one channel get separate turns while those of
// others are collected.
func TestQueueByChannel(t *testing.T) {
	began, gate := make(chan string, 10), make(chan struct{}, 10)
	s := speak(t, func(w http.ResponseWriter, asked []message) {
		last := asked[len(asked)-1].text()
		began <- last
		<-gate
		says(w, "re: "+last)
	})
	_, c := openInstance(t, Options{Settings: load(t, s.settings("[session.queue]\ndebounce = \"0s\"\n[session.queue_by_channel.mail]\nmode = \"followup\"\n"))})
	for channel, turns := range map[string]int{"mail": 3, "chat": 2} {
		send := func(text string) wire.Routed {
			r, err := c.Inbound(t.Context(), wire.Inbound{Channel: channel, PeerKind: "direct", PeerID: "ada", Text: text})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		send("one")
		<-began
		send("two")
		last := send("three")
		var answers []string
		for range turns - 1 {
			gate <- struct{}{}
			answers = append(answers, <-began)
		}
		gate <- struct{}{}
		if _, err := c.Turn(t.Context(), last.Session, wire.Turn{ID: last.Message, Text: "three"}); err != nil { // waits for its answer
			t.Fatal(err)
		}
		if channel == "mail" && (!strings.Contains(answers[0], "two") || strings.Contains(answers[0], "three")) || channel == "chat" && !strings.Contains(answers[0], "three") {
			t.Errorf("%s: it received %q", channel, answers)
		}
		if len(began) > 0 {
			t.Errorf("%s: it also received %q", channel, <-began)
		}
	}
}

// TestSettingsPerAgent checks that agents can have their own resets, send policy, scope and
// links.
func TestSettingsPerAgent(t *testing.T) {
	var now clock
	_, c := openInstance(t, Options{Clock: now.now, Settings: load(t, `
[session]
dm_scope = "per-peer"
[session.identity_links]
Ada = ["mail:ada@x", "chat:a17"]
[session.reset]
mode = "idle"
idle = "1h"
[[session.send_policy.rules]]
action = "deny"
channel = "chat"
[agents.main]
[agents.lasting]
dm_scope = "per-channel-peer"
[agents.lasting.identity_links]
countess = ["ada@x"]
[agents.lasting.reset]
mode = "none"
[agents.lasting.send_policy]
default = "deny"
[[bindings]]
agent = "lasting"
account = "two"
`)})
	send := func(account, channel, peer string) wire.Routed {
		t.Helper()
		r, err := c.Inbound(t.Context(), wire.Inbound{Channel: channel, AccountID: account, PeerKind: "direct", PeerID: peer, Text: "Hello.", Wait: true})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	mail, chat, other := send("", "mail", "ada@x"), send("", "chat", "a17"), send("two", "mail", "ada@x")
	if mail.Key != "agent:main:direct:ada" || chat.Session != mail.Session || other.Key != "agent:lasting:mail:direct:countess" {
		t.Errorf("the messages went to %s, %s and %s", mail.Key, chat.Key, other.Key)
	}
	if !mail.Deliver || chat.Deliver || other.Deliver {
		t.Errorf("answers are sent: %v, %v and %v", mail.Deliver, chat.Deliver, other.Deliver)
	}
	now.advance(3 * time.Hour)
	if again := send("", "mail", "ada@x"); again.Session == mail.Session || again.Reset != "idle" {
		t.Errorf("after an hour the result is %+v", again)
	}
	if again := send("two", "mail", "ada@x"); again.Session != other.Session {
		t.Errorf("with the agent that lasts the result is %+v", again)
	}
	for key, want := range map[string]string{mail.Key: "after 1h of inactivity", other.Key: "never"} {
		if k, err := c.Keys.Get(t.Context(), key); err != nil || k.Reset != want {
			t.Errorf("%s ends %s, %v", key, k.Reset, err)
		}
	}
}

// TestDailyResetWaitsForQuiet checks that a daily reset waits for the configured quiet time.
func TestDailyResetWaitsForQuiet(t *testing.T) {
	for quiet, ends := range map[string]bool{"3h": false, "0": true} {
		// Half an hour before the end of the day: a test that starts just before the full hour
		// would otherwise send its first message after it.
		var now clock
		hour := now.now().UTC().Truncate(time.Hour).Add(2 * time.Hour)
		now.advance(time.Until(hour) - 30*time.Minute)
		_, c := openInstance(t, Options{Clock: now.now, Settings: load(t, fmt.Sprintf("[session]\ntime_zone = \"UTC\"\n[session.reset]\nat_hour = %d\nquiet = %q\n", hour.Hour(), quiet))})
		first := write(t, c, "mail", "direct", "ada", "Hello.")
		now.advance(31 * time.Minute)
		if again := write(t, c, "mail", "direct", "ada", "Hello."); (again.Session != first.Session) != ends {
			t.Errorf("with quiet %s the result is %+v", quiet, again)
		}
	}
}

// TestMetricsAreOff checks that there are no metrics if they are disabled.
func TestMetricsAreOff(t *testing.T) {
	for text, want := range map[string]int{"": 200, "[telemetry]\nmetrics = false": 501} {
		h, c := openInstance(t, Options{Settings: load(t, text)})
		if _, err := c.NewSession(t.Context(), wire.NewSession{}); err != nil {
			t.Fatal(err)
		}
		if code := fetch(t, h, "GET", "/metrics", ""); code != want {
			t.Errorf("with %q /metrics gives %d", text, code)
		}
	}
}

// TestNotesDirectory checks that notes are stored in the configured directory.
func TestNotesDirectory(t *testing.T) {
	dir := t.TempDir()
	_, c := openInstance(t, Options{Settings: load(t, "[memory]\ndir = "+quoted(dir))})
	if _, err := c.Memory.Remember(t.Context(), wire.MemoryPlace{}, wire.NewNote{Text: "The cat is called Tom."}); err != nil {
		t.Fatal(err)
	}
	if found, err := filepath.Glob(filepath.Join(dir, "main", "workspace", "memory", "*.md")); err != nil || len(found) != 1 {
		t.Errorf("there are %v, %v", found, err)
	}
}

// TestStorePath checks that the reported store path is the actual one.
func TestStorePath(t *testing.T) {
	dir := t.TempDir()
	settings := load(t, "[store]\nurl = \"file:"+strings.ReplaceAll(dir, `\`, `\\`)+"\"")
	_, c := openInstance(t, Options{Settings: settings})
	s, err := c.NewSession(t.Context(), wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	status, err := c.Status(t.Context())
	if err != nil || status.Store != filepath.Join(dir, "agents") || status.Home != settings.Home {
		t.Errorf("the status has %s and %s, %v", status.Store, status.Home, err)
	}
	if found, err := filepath.Glob(filepath.Join(status.Store, "main", "sessions", string(s.ID)+".jsonl")); err != nil || len(found) != 1 {
		t.Errorf("the session is missing: %v", err)
	}
}

// TestLimits checks the limits on connections and on clients waiting for a model.
func TestLimits(t *testing.T) {
	began, gate := make(chan struct{}, 10), make(chan struct{})
	s := speak(t, func(w http.ResponseWriter, _ []message) {
		began <- struct{}{}
		<-gate
		says(w, "Here I am.")
	})
	d := serving(t, load(t, s.settings("[gateway]\nturns = 1\nconnections = 4\n")), nil)
	first, err := d.NewSession(t.Context(), wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := d.Turn(t.Context(), first.ID, wire.Turn{Text: "Hello."})
		done <- err
	}()
	<-began
	second, err := d.NewSession(t.Context(), wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Turn(t.Context(), second.ID, wire.Turn{Text: "Hello."}); wire.KindOf(err) != wire.Busy {
		t.Errorf("one client too many waits: %v", err)
	}
	running, err := d.Running(t.Context())
	if err != nil || len(running) != 1 || running[0].ID != first.ID || running[0].Agent != "main" || running[0].Since.IsZero() || !running[0].Live || running[0].Prompt != "Hello." {
		t.Errorf("it runs %+v, %v", running, err)
	}
	close(gate)
	if err := <-done; err != nil {
		t.Error(err)
	}

	// Connections beyond the limit are closed.
	cut := make(chan struct{}, 6)
	for range cap(cut) {
		conn, err := net.Dial("unix", d.at.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go func() {
			var b [1]byte
			conn.Read(b[:]) // until the connection is closed
			cut <- struct{}{}
		}()
	}
	for range 2 {
		select {
		case <-cut:
		case <-time.After(basetest.Limit):
			t.Fatal("all connections are accepted")
		}
	}
}

// daemon is a running gateway with a client.
type daemon struct {
	*client.Client
	at      api.Address
	hangups chan os.Signal
	// stop stops it and waits for its end.
	stop func()
}

// serving serves a home until the test ends. Each hangup applies the next settings.
func serving(t *testing.T, first *config.Settings, change func(*Options), next ...*config.Settings) *daemon {
	t.Helper()
	o := Options{Settings: first, Env: env()}
	if change != nil {
		change(&o)
	}
	d := &daemon{hangups: make(chan os.Signal)}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan api.Address, 1), make(chan error, 1)
	go func() {
		ended <- Run(ctx, Daemon{Options: o, Ready: func(a api.Address) { ready <- a }, Hangups: d.hangups, Reload: func() (*config.Settings, error) {
			s := next[0]
			next = next[1:]
			s.Home = first.Home
			return s, nil
		}})
	}()
	select {
	case d.at = <-ready:
	case err := <-ended:
		cancel()
		t.Fatal(err)
	}
	c, err := client.New(client.Options{Address: d.at.Address})
	if err != nil {
		t.Fatal(err)
	}
	d.Client = c
	stopped := false
	d.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := errors.Join(c.Close(), <-ended); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(d.stop)
	return d
}
