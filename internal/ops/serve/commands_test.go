package serve

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// chats simulates people who write over channels.
type chats struct {
	t *testing.T
	listening
	model *speaker
}

func chatting(t *testing.T, settings string, clock func() time.Time) *chats {
	t.Helper()
	s := speak(t, func(w http.ResponseWriter, asked []message) {
		if last := asked[len(asked)-1]; strings.Contains(last.text(), "use a tool") && last.Role != "tool" {
			calls(w, "c1", "calc", `{"expression":"6*7"}`)
			return
		}
		says(w, "I see")
	})
	o := Options{Settings: load(t, s.settings(settings)), Env: env(), Clock: clock}
	return &chats{t, listenIn(t, o), s}
}

func (c *chats) send(channel, kind, peer, sender, text string) wire.Routed {
	c.t.Helper()
	r, err := c.own.Inbound(c.t.Context(), wire.Inbound{Channel: channel, PeerKind: kind, PeerID: peer, Sender: sender, Text: text, Wait: true})
	if err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	return r
}

func (c *chats) state(id firn.ID) wire.State {
	c.t.Helper()
	s, err := c.own.Session(c.t.Context(), string(id))
	if err != nil || s.State == nil {
		c.t.Fatalf("%+v, %v", s, err)
	}
	return *s.State
}

// TestCommandsInGroups checks that commands that change routing, model or rights are denied in
// groups unless the settings allow them, and that denied commands have no effect and reach
// no model.
func TestCommandsInGroups(t *testing.T) {
	c := chatting(t, "[models.\"talk/other\"]\nwindow = 32000\n[[session.commands.rules]]\nchannel = \"discord\"\nsenders = [\"Boss\"]\ncommands = [\"*\"]\n", nil)
	first := c.send("discord", "group", "g", "Eve", "hello")
	asked := c.model.count()
	for _, text := range []string{"/model talk/other", "/think high", "/send on", "/send off", "/verbose on", "/new", "/new talk/other", "/reset", "/RESET hello"} {
		r := c.send("discord", "group", "g", "Eve", text)
		if !strings.HasPrefix(r.Reply, "You are not allowed to use /") || r.Session != first.Session || r.Reset != "" {
			t.Errorf("%s of Eve: %+v", text, r)
		}
		if r := c.send("discord", "channel", "room", "Eve", text); !strings.HasPrefix(r.Reply, "You are not allowed to use /") {
			t.Errorf("%s of Eve in a channel: %+v", text, r)
		}
	}
	if n := c.model.count(); n != asked {
		t.Errorf("the model was called %d times", n-asked)
	}
	if st := c.state(first.Session); st.Model != "talker" || st.Send != "" || st.Verbose != "" {
		t.Errorf("the session is %+v", st)
	}
	if r := c.send("discord", "group", "g", "Eve", "/status"); !strings.Contains(r.Reply, "Model: talk/talker") {
		t.Errorf("/status returned %q", r.Reply)
	}
	if r := c.send("telegram", "group", "g", "Boss", "/model talk/other"); !strings.HasPrefix(r.Reply, "You are not allowed") {
		t.Errorf("the rule of another channel counts: %q", r.Reply)
	}
	if r := c.send("discord", "group", "g", "Boss", "/model talk/other"); r.Reply != "Set to talk/other." || c.state(first.Session).Model != "other" {
		t.Errorf("Boss: %+v", r)
	}
	if r := c.send("discord", "group", "g", "boss", "/new"); r.Reset == "" {
		t.Errorf("Boss: %+v", r)
	}
	if r := c.send("discord", "direct", "eve", "Eve", "/think low"); r.Reply != "Set to low." {
		t.Errorf("in a direct chat: %+v", r)
	}
}

// TestChatCannotOverrideSettings checks that a chat cannot enable what the settings forbid,
// and that replies to /send are delivered whether sending is on or off.
func TestChatCannotOverrideSettings(t *testing.T) {
	c := chatting(t, "[[session.commands.rules]]\ncommands = [\"*\"]\n[[session.send_policy.rules]]\naction = \"deny\"\nchannel = \"discord\"\n", nil)
	for _, kind := range []string{"group", "direct"} {
		if r := c.send("discord", kind, "x", "Eve", "/send on"); r.Deliver || strings.HasPrefix(r.Reply, "Set") {
			t.Errorf("%s: %+v", kind, r)
		}
		if r := c.send("discord", kind, "x", "Eve", "hello"); r.Deliver {
			t.Errorf("%s: the answer is delivered: %+v", kind, r)
		}
	}
	for _, one := range []struct {
		text    string
		deliver bool
	}{{"/send off", true}, {"hello", false}, {"/send on", true}, {"hello", true}, {"/send off", true}, {"/send default", true}, {"hello", true}} {
		if r := c.send("telegram", "direct", "ann", "Ann", one.text); r.Deliver != one.deliver {
			t.Errorf("%s: %+v", one.text, r)
		}
	}
}

// TestOverridesAreRemoved checks that overrides are removed by null and default over the
// API, and by a command.
func TestOverridesAreRemoved(t *testing.T) {
	c := chatting(t, "thinking = \"low\"\n[models.\"talk/other\"]\nwindow = 32000\n", nil)
	r := c.send("telegram", "direct", "ann", "Ann", "hello")
	id := r.Session
	set := func(body string) {
		t.Helper()
		w := withheld{t: t, listening: c.listening}
		if status, text := w.ask(identity{}, "PATCH", "/v1/sessions/"+string(id), body); status != http.StatusOK {
			t.Fatalf("%s: %d %s", body, status, text)
		}
	}
	is := func(what, model, thinking, verbose string) {
		t.Helper()
		c.send("telegram", "direct", "ann", "Ann", "hello")
		if st := c.state(id); st.Model != model || st.Thinking != thinking || st.Verbose != verbose {
			t.Errorf("%s: %s, %s, %s", what, st.Model, st.Thinking, st.Verbose)
		}
	}
	set(`{"model":"talk/other","thinking":"high","verbose":"on"}`)
	is("chosen", "other", "high", "on")
	set(`{"model":null,"thinking":null,"verbose":null,"send":null}`)
	is("taken back", "talker", "low", "")
	c.send("telegram", "direct", "ann", "Ann", "/model talk/other")
	is("chosen by a command", "other", "low", "")
	if r := c.send("telegram", "direct", "ann", "Ann", "/model default"); r.Reply != "Set to default." {
		t.Errorf("got %q", r.Reply)
	}
	is("taken back by a command", "talker", "low", "")
	w := withheld{t: t, listening: c.listening}
	for _, body := range []string{`{"model":""}`, `{"modle":null}`, `{"model":3}`} {
		if status, text := w.ask(identity{}, "PATCH", "/v1/sessions/"+string(id), body); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
}

// TestResetsKeepChoices checks that a new session after any kind of reset keeps the
// choices of the previous one.
func TestResetsKeepChoices(t *testing.T) {
	now := new(clock)
	c := chatting(t, "[models.\"talk/other\"]\nwindow = 32000\n[session.reset]\nmode = \"idle\"\nidle = \"2h\"\n", now.now)
	first := c.send("telegram", "direct", "ann", "Ann", "hello")
	for _, text := range []string{"/model talk/other", "/think high", "/verbose on", "/send off"} {
		c.send("telegram", "direct", "ann", "Ann", text)
	}
	want := c.state(first.Session)
	last := first.Session
	for _, how := range []string{"/new", "idle", "/reset", "key"} {
		text := "hello"
		switch how {
		case "idle":
			now.advance(3 * time.Hour)
		case "key":
			if _, err := c.own.Keys.Reset(t.Context(), first.Key); err != nil {
				t.Fatal(err)
			}
		default:
			text = how
		}
		r := c.send("telegram", "direct", "ann", "Ann", text)
		got := c.state(r.Session)
		if r.Session == last || got.Model != want.Model || got.Thinking != want.Thinking || got.Verbose != want.Verbose || got.Send != want.Send {
			t.Errorf("%s carries %+v, want %+v", how, got, want)
		}
		last = r.Session
	}
}

// TestVerboseReplies checks that with /verbose on, the reply lists the tools called.
func TestVerboseReplies(t *testing.T) {
	c := chatting(t, "", nil)
	if r := c.send("telegram", "direct", "ann", "Ann", "use a tool"); r.Reply != "I see" {
		t.Errorf("got %q", r.Reply)
	}
	c.send("telegram", "direct", "ann", "Ann", "/verbose on")
	if r := c.send("telegram", "direct", "ann", "Ann", "use a tool"); r.Reply != "[calc {\"expression\":\"6*7\"}]\n\nI see" {
		t.Errorf("got %q", r.Reply)
	}
	c.send("telegram", "direct", "ann", "Ann", "/verbose default")
	if r := c.send("telegram", "direct", "ann", "Ann", "use a tool"); r.Reply != "I see" {
		t.Errorf("got %q", r.Reply)
	}
}
