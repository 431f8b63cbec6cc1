package gateway

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// chat returns a gateway for inbound messages.
func chat(t *testing.T) *gatedGateway {
	t.Helper()
	d := open(t, memstore.New(memstore.Options{}))
	d.Clock = time.Now
	setup := *d.setup.Load()
	setup.Route = route.Config{Default: "main", Scope: route.ScopePerChannelPeer}
	setup.Zone = time.UTC
	setup.Known = func() []wire.Model { return []wire.Model{{ID: "scripted/other"}} }
	if err := d.Reload(setup); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		d.gate <- struct{}{}
	}
	return d
}

func inboundFrom(from, text string) wire.Inbound {
	return wire.Inbound{Channel: "mail", PeerKind: "direct", PeerID: from, Sender: from, Text: text, Wait: true}
}

func (d *gatedGateway) receive(in wire.Inbound) wire.Routed {
	d.t.Helper()
	out, err := d.Inbound(d.t.Context(), in)
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

func TestInbound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := chat(t)
		defer d.shut()
		ada := d.receive(inboundFrom("ada", "hello"))
		if ada.Key != "agent:main:mail:direct:ada" || ada.Reply != "re: hello" || !ada.Deliver || ada.Reset != "" {
			t.Errorf("the result is %+v", ada)
		}
		if again := d.receive(inboundFrom("ada", "again")); again.Session != ada.Session {
			t.Error("the second message went to another session")
		}
		if bob := d.receive(inboundFrom("bob", "hi")); bob.Session == ada.Session {
			t.Error("two people share a session")
		}
		for name, in := range map[string]wire.Inbound{
			"no channel": {PeerKind: "direct", PeerID: "x", Text: "x"},
			"no peer":    {Channel: "mail", PeerKind: "direct", Text: "x"},
			"no kind":    {Channel: "mail", PeerID: "x", Text: "x"},
			"no agent":   {Agent: "nobody", Channel: "mail", PeerKind: "direct", PeerID: "x", Text: "x"},
		} {
			if _, err := d.Inbound(t.Context(), in); err == nil {
				t.Errorf("%s is accepted", name)
			}
		}
	})
}

// TestInboundOnce sends the same message twice and checks that it is added once.
func TestInboundOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := chat(t)
		defer d.shut()
		in := inboundFrom("ada", "hello")
		in.ID = "mail-1"
		first := d.receive(in)
		if first.Repeated || first.Reply != "re: hello" {
			t.Errorf("the first attempt gave %+v", first)
		}
		again := d.receive(in)
		if !again.Repeated || again.Session != first.Session || again.Message != first.Message || again.Reply != first.Reply || again.Answer.Entry != first.Answer.Entry {
			t.Errorf("the second time gave %+v, want %+v", again, first)
		}
		if content := d.userTexts(first.Session); strings.Count(content, "hello") != 1 {
			t.Errorf("the log is\n%s", content)
		}
		// A trigger starts a session, with or without text after it.
		for _, text := range []string{"/new and this", "/new"} {
			in := inboundFrom("ada", text)
			in.ID = "mail-" + text
			begun, again := d.receive(in), d.receive(in)
			if begun.Session == first.Session || begun.Repeated || !again.Repeated || again.Session != begun.Session || again.Reply != begun.Reply || again.Reset != "new" {
				t.Errorf("%s gave %+v and then %+v", text, begun, again)
			}
			first = begun
		}
	})
}

// TestResets ends sessions by trigger, daily and by idle time, and undoes it.
func TestResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := chat(t)
		defer d.shut()
		first := d.receive(inboundFrom("ada", "hello"))
		if err := d.chooseModel(t.Context(), first.Session, "scripted/other"); err == nil {
			t.Error("a model that cannot be had is chosen")
		}
		asked := d.receive(inboundFrom("ada", "/new and this is new"))
		if asked.Session == first.Session || asked.Reset != "new" || asked.Reply != "re: and this is new" {
			t.Errorf("/new gave %+v", asked)
		}
		alone := d.receive(inboundFrom("ada", "/RESET"))
		if alone.Session == asked.Session || alone.Reset != "reset" || alone.Reply == "" || alone.Message != "" {
			t.Errorf("/reset gave %+v", alone)
		}
		if same := d.receive(inboundFrom("ada", "still here")); same.Session != alone.Session {
			t.Error("it went to another session")
		}
		time.Sleep(26 * time.Hour)
		daily := d.receive(inboundFrom("ada", "good morning"))
		if daily.Session == alone.Session || daily.Reset != "daily" {
			t.Errorf("the next day the result is %+v", daily)
		}
		key, err := d.ContinuePrevious(t.Context(), daily.Key)
		if err != nil || key.Session != alone.Session {
			t.Fatalf("undoing the reset gave %+v, %v", key, err)
		}
		if back := d.receive(inboundFrom("ada", "where were we?")); back.Session != alone.Session || back.Reset != "" {
			t.Errorf("the next result is %+v", back)
		}
		if key, err = d.Key(t.Context(), daily.Key); err != nil || len(key.History) != 4 {
			t.Errorf("the key has had %d sessions, %v", len(key.History), err)
		}
		if _, err := d.Key(t.Context(), "agent:main:mail:direct:nobody"); !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("an unbound key gives %v", err)
		}
	})
}

// TestUndoIdleReset undoes an idle reset: the resumed session counts as in use, whether the
// reset is undone or the key is pointed at it.
func TestUndoIdleReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := chat(t)
		defer d.shut()
		setup := *d.setup.Load()
		setup.Resets = route.Resets{General: route.Policy{Mode: route.ModeIdle, Idle: time.Hour}}
		if err := d.Reload(setup); err != nil {
			t.Fatal(err)
		}
		first := d.receive(inboundFrom("ada", "hello"))
		time.Sleep(2 * time.Hour)
		second := d.receive(inboundFrom("ada", "good evening"))
		if second.Session == first.Session || second.Reset != "idle" {
			t.Fatalf("after two hours the result is %+v", second)
		}
		if _, err := d.ContinuePrevious(t.Context(), first.Key); err != nil {
			t.Fatal(err)
		}
		if back := d.receive(inboundFrom("ada", "where were we?")); back.Session != first.Session || back.Reset != "" {
			t.Errorf("after the reset was undone the result is %+v", back)
		}
		time.Sleep(2 * time.Hour)
		if _, err := d.PointKey(t.Context(), first.Key, second.Session); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if set := d.receive(inboundFrom("ada", "and here?")); set.Session != second.Session || set.Reset != "" {
			t.Errorf("after the key was set the result is %+v", set)
		}
		time.Sleep(2 * time.Hour)
		if later := d.receive(inboundFrom("ada", "good night")); later.Reset != "idle" {
			t.Errorf("two hours later the result is %+v", later)
		}
	})
}

// TestCommandsInMessages checks that commands are handled by the gateway and not sent to
// the agent.
func TestCommandsInMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := chat(t)
		defer d.shut()
		first := d.receive(inboundFrom("ada", "hello"))
		for text, want := range map[string]string{
			"/stop":        "Nothing is running.",
			"/status":      "0 compactions",
			"/usage":       "Key: " + first.Key + "\nSession: " + string(first.Session),
			"/think":       "Thinking off",
			"/queue steer": "This is set in the settings.",
			"/help":        "\n/status: show the session",
			"/usage full":  "Window: ",
			"/send off":    "Set to off.",
		} {
			if out := d.receive(inboundFrom("ada", text)); !strings.Contains(out.Reply, want) || out.Message != "" {
				t.Errorf("%s is answered %q", text, out.Reply)
			}
		}
		if out := d.receive(inboundFrom("ada", "quiet now")); out.Deliver {
			t.Error("it is delivered though sending is off")
		}
		for _, c := range route.Commands() {
			if commands[c.Name] == nil {
				t.Errorf("/%s is listed, but is sent to the model", c.Name)
			}
		}
		// Errors of the sender are returned as replies.
		for text, want := range map[string]string{
			"/think very much": `Not done: `,
			"/model nonsense":  `Not done: invalid model "nonsense": expected provider/model.`,
			"/send sideways":   "Not done: ",
			"/compact":         "Not done: compact session ",
		} {
			if out := d.receive(inboundFrom("ada", text)); !strings.HasPrefix(out.Reply, want) || out.Message != "" {
				t.Errorf("%s is answered %q", text, out.Reply)
			}
		}
		if out := d.receive(inboundFrom("ada", "/status")); !strings.Contains(out.Reply, "Thinking off, verbose off, send deny") {
			t.Errorf("afterwards it is %q", out.Reply)
		}
	})
}

// TestRemovedSessionGetsNoMessages removes the session of a key: it receives no more messages
// unless it is restored or the key is pointed at it.
func TestRemovedSessionGetsNoMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := chat(t)
		defer d.shut()
		receive := func(in wire.Inbound) wire.Routed {
			synctest.Wait() // until idle: a session in use is not reset
			return d.receive(in)
		}
		first := receive(inboundFrom("ada", "a secret word"))
		named := inboundFrom("ada", "and this once")
		named.ID = "once"
		receive(named)
		if _, err := d.Remove(t.Context(), first.Session, wire.Remove{}); err != nil {
			t.Fatal(err)
		}
		if again := receive(named); again.Session != first.Session || !again.Repeated {
			t.Errorf("an earlier message is sent again: %+v", again)
		}
		second := receive(inboundFrom("ada", "what was the word?"))
		if second.Session == first.Session || second.Reset != "removed" {
			t.Fatalf("after it was removed the result is %+v", second)
		}
		if third := receive(inboundFrom("ada", "and now?")); third.Session != second.Session || third.Reset != "" {
			t.Errorf("the next result is %+v", third)
		}
		if text := d.userTexts(second.Session); strings.Contains(text, "a secret word") {
			t.Errorf("there is %q", text)
		}

		// NewSession does not return a removed session either.
		if _, err := d.Remove(t.Context(), second.Session, wire.Remove{}); err != nil {
			t.Fatal(err)
		}
		fresh, err := d.NewSession(t.Context(), wire.NewSession{Key: second.Key})
		if err != nil || fresh.ID == second.Session || fresh.Hidden {
			t.Errorf("on request it is %+v, %v", fresh, err)
		}

		// Pointing the key at it resumes it.
		if _, err := d.PointKey(t.Context(), first.Key, first.Session); err != nil {
			t.Fatal(err)
		}
		if back := receive(inboundFrom("ada", "I want it back")); back.Session != first.Session {
			t.Errorf("after binding the key the result is %+v", back)
		}
		if _, err := d.Remove(t.Context(), first.Session, wire.Remove{}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Restore(t.Context(), first.Session); err != nil {
			t.Fatal(err)
		}
		if back := receive(inboundFrom("ada", "and after all")); back.Session != first.Session || back.Reset != "" {
			t.Errorf("after restoring the result is %+v", back)
		}
	})
}

// TestSubject checks that the sessions of a group are titled after it until a title is
// chosen.
func TestSubject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := chat(t)
		defer d.shut()
		say := func(kind, subject, text string) wire.Routed {
			t.Helper()
			return d.receive(wire.Inbound{Channel: "slack", PeerKind: kind, PeerID: "c1", Subject: subject, Text: text, Wait: true})
		}
		called := func(id firn.ID, want string) {
			t.Helper()
			time.Sleep(time.Minute) // time for automatic titles
			if s, err := d.Session(t.Context(), string(id)); err != nil || s.Title != want {
				t.Errorf("it is called %q, %v; want %q", s.Title, err, want)
			}
		}
		group := say("channel", " The  garden\n", "hello").Session
		called(group, "The garden")
		say("channel", "The park", "hello again")
		called(group, "The garden")
		mine := "mine"
		if _, err := d.Patch(t.Context(), group, wire.Patch{Title: &mine}); err != nil {
			t.Fatal(err)
		}
		say("channel", "The garden", "and again")
		called(group, "mine")
		if _, err := d.ResetKey(t.Context(), "agent:main:slack:channel:c1"); err != nil {
			t.Fatal(err)
		}
		called(say("channel", "The garden", "and now?").Session, "The garden")
		if direct := say("direct", "Ann", "hello").Session; direct == group {
			t.Error("it is the same session")
		} else if s, err := d.Session(t.Context(), string(direct)); err != nil || s.Title == "Ann" {
			t.Errorf("a message of one person is called %q, %v", s.Title, err)
		}
	})
}

// TestConcurrentFirstMessages sends the first messages of a key concurrently and checks that
// they are in one session.
func TestConcurrentFirstMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := chat(t)
		defer d.shut()
		var group sync.WaitGroup
		sessions := make([]firn.ID, 15)
		for i := range sessions {
			group.Go(func() {
				in := inboundFrom("ada", fmt.Sprint("message ", i))
				in.Wait = false
				out, err := d.Inbound(t.Context(), in)
				if err != nil {
					t.Error(err)
				}
				sessions[i] = out.Session
			})
		}
		group.Wait()
		for _, id := range sessions {
			if id != sessions[0] {
				t.Fatalf("there are several sessions: %v", sessions)
			}
		}
		time.Sleep(time.Minute)
		text := d.userTexts(sessions[0])
		for i := range sessions {
			if n := strings.Count(text, fmt.Sprintf("message %d\n", i)); n != 1 {
				t.Errorf("message %d is stored %d times", i, n)
			}
		}
	})
}

// userTexts returns the user messages of a session, one per line.
func (d *gatedGateway) userTexts(id firn.ID) string {
	d.t.Helper()
	var b strings.Builder
	for rec, err := range d.st.Read(d.t.Context(), id, store.Start) {
		if err != nil {
			d.t.Fatal(err)
		}
		entry, err := rec.Entry()
		if err != nil {
			d.t.Fatal(err)
		}
		if m, ok := entry.Body.(*firn.Message); ok && m.Role == firn.RoleUser {
			b.WriteString(m.Text() + "\n")
		}
	}
	return b.String()
}
