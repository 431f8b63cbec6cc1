package chat

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/typo"
	"firn.dev/internal/render/prose"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/wire"
)

// TestHelpListsAll checks that the help has a line for every command.
func TestHelpListsAll(t *testing.T) {
	s := set(t, nil).start()
	s.does("/help")
	for _, cmd := range commands() {
		says(t, "\n"+s.err.String(), "\n  /"+strings.TrimSpace(cmd.name+" "+cmd.args)+" ", cmd.help)
		if cmd.run == nil || cmd.help == "" {
			t.Errorf("/%s does nothing", cmd.name)
		}
	}
	for other, name := range otherNames {
		if typo.Nearest(name, commandNames(), 2) != name {
			t.Errorf("/%s means /%s, which does not exist", other, name)
		}
	}
}

func TestUnknownCommand(t *testing.T) {
	for typed, near := range map[string]string{"hlep": "help", "histroy": "history", "sesions": "sessions", "compct": "compact", "xyzzy": "", "a": "", strings.Repeat("x", 1000): ""} {
		s := set(t, nil).start()
		s.does("/" + typed)
		says(t, s.err.String(), "firn: unknown command /"+typed[:1])
		if near != "" {
			says(t, s.err.String(), "hint: did you mean /"+near+"?")
		} else {
			silent(t, s.err.String(), "did you mean")
		}
		if s.c.planned == nil {
			t.Error("it was sent to the agent")
		}
	}
}

// TestSessionCommands switches between sessions.
func TestSessionCommands(t *testing.T) {
	s := set(t, nil, scripted.Reply("hello Ada"), scripted.Reply("hello Bob")).start()
	s.does("I am Ada")
	first := s.c.id
	s.does("/rename  The   first ", "/new", "/new", "I am Bob")
	second := s.c.id
	if first == second {
		t.Fatal("the session is not new")
	}
	s.does("/sessions", "/resume The first")
	if s.c.id != first {
		t.Errorf("resumed %s", s.c.id)
	}
	says(t, s.err.String(), "renamed to “The first”", "new session; /resume "+prose.Short(first)+" goes back", "this session is already new",
		"▸ "+prose.Shortest(second, []firn.ID{first, second}), "session "+prose.Short(first)+" “The first” · 1 turn", "  you: I am Ada\n", "  agent: hello Ada\n")
	id, err := store.LoadOrCreate(t.Context(), s.st, s.c.key)
	if err != nil || id != first {
		t.Errorf("the key points at %s, %v", id, err)
	}
	s.does("/resume " + string(second)[:len(second)-1])
	if s.c.id != second {
		t.Errorf("resumed %s", s.c.id)
	}
	s.does("/resume nobody", "/resume", "/resume "+string(second)[:3])
	if s.c.id != second {
		t.Errorf("resumed %s", s.c.id)
	}
	says(t, s.err.String(), `firn: there is no session "nobody"`, "hint: list sessions with firn ls", "/resume needs an argument: /resume SESSION", "there is no session")
}

// TestFind finds sessions by all kinds of references.
func TestFind(t *testing.T) {
	s := set(t, nil).start().create()
	ctx := t.Context()
	for _, id := range []firn.ID{"abcd1", "abcd2", "xyz99"} {
		title := firn.NewEntry(&firn.Title{Name: "talk " + string(id[:3])})
		if _, err := s.st.Append(ctx, id, store.Start, firn.Entry{Body: &firn.Header{Session: id, Agent: "main"}}, title); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]firn.ID{
		"abcd1": "abcd1", "xyz9": "xyz99", "talk xyz": "xyz99", "xyz": "xyz99", "@" + s.c.key: s.c.id,
	} {
		if found, err := s.c.find(ctx, "main", name); err != nil || found.ID != want {
			t.Errorf("%s is %s, %v", name, found.ID, err)
		}
	}
	for _, name := range []string{"abcd", "talk abc"} {
		if _, err := s.c.find(ctx, "", name); wire.KindOf(err) != wire.Ambiguous {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"xy", "nobody", "@agent:main:none"} {
		if _, err := s.c.find(ctx, "", name); !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.c.find(ctx, "other", "xyz99"); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("a session of another agent: %v", err)
	}
}

// TestSessionOptions selects the session with all options.
func TestSessionOptions(t *testing.T) {
	s := set(t, nil, scripted.Reply("one")).start()
	s.does("first", "/rename The first", "/new")
	second := s.c.id
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, string(second)},
		{Options{Key: "agent:main:main"}, string(second)},
		{Options{Continue: true}, ""},
		{Options{Resume: "-"}, ""},
		{Options{Resume: "The first"}, "The first"},
	} {
		o := s.o
		o.Key, o.Continue, o.Resume = c.o.Key, c.o.Continue, c.o.Resume
		again := newChat(o)
		if err := again.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		now, err := again.fetchSession(t.Context())
		if err != nil || string(now.ID) != c.want && now.Title != c.want && c.want != "" {
			t.Errorf("%+v is in %s %q, %v", c.o, now.ID, now.Title, err)
		}
	}
	for _, o := range []Options{{Agent: "nobody"}, {Agent: "nobody", Continue: true}, {Resume: "nothing"}, {Thinking: "hard"}, {Agent: "main", Key: "agent:other:main"}} {
		bad := s.o
		bad.Agent, bad.Continue, bad.Resume, bad.Thinking, bad.Model, bad.Key = o.Agent, o.Continue, o.Resume, o.Thinking, o.Model, o.Key
		if err := newChat(bad).open(t.Context()); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

// TestRewind rewinds and returns.
func TestRewind(t *testing.T) {
	s := set(t, nil, scripted.Reply("one"), scripted.Reply("two"), scripted.Reply("another two")).start()
	s.does("first", "second", "/label here", "/rewind", "third")
	requests := s.model.Requests()
	var sent []string
	for _, it := range requests[len(requests)-1].Window.Items {
		sent = append(sent, it.Message.Text())
	}
	last := strings.Join(sent, "|")
	says(t, last, "first|one|", "third")
	silent(t, last, "second", "two")
	says(t, s.err.String(), "labeled “here”: agent: two", "rewound to before “second”\nlater entries stay in the log; undo: /rewind ")

	s.does("/rewind here", "/history 2")
	says(t, s.err.String(), "rewound to agent: two", "you: second\n", "agent: two\n")
	s.does("/rewind 9", "/rewind nobody", "/rewind 1 2", "/rewind 2")
	says(t, s.err.String(), "its branch has 2 turns", `has no entry "nobody"`, "takes one entry", "before “first”")
	s.does("/history")
	says(t, s.err.String(), "firn: this session has no messages")
	// Nothing was removed.
	says(t, s.messages(), "first", "second", "two", "third")
}

// TestRewindWithSummary checks that the model receives a summary of the abandoned branch.
func TestRewindWithSummary(t *testing.T) {
	s := set(t, nil).offlined().start()
	s.does("I decided to take the train to Oslo.", "Remember that my dog is called Rex.", "/rewind 1 --summary")
	says(t, s.err.String(), "rewound to before “Remember")
	var kinds []firn.Kind
	for _, e := range s.entries() {
		kinds = append(kinds, e.Body.Kind())
	}
	if !strings.Contains(fmt.Sprint(kinds), string(firn.KindBranchSummary)) {
		t.Errorf("the session has %v", kinds)
	}
}

func TestLabels(t *testing.T) {
	s := set(t, nil, scripted.Reply("one"), scripted.Reply("two")).start()
	s.does("/pin", "first", "second", "/pin", "/label a", "/label b")
	says(t, s.err.String(), "this session has no messages", "pinned: you: second", "labeled “a”: agent: two", "labeled “b”: agent: two")
	id := s.entries()[1].ID
	s.does("/pin "+string(id), "/pin "+string(id)[:12]+"?", "/label", "/pin "+string(id[:4]))
	says(t, s.err.String(), "pinned: "+string(id), "has no entry", "/label NAME [ENTRY]", "firn: ")
	// A removed label does not name its entry.
	s.does("/rewind a")
	says(t, s.err.String(), `has no entry "a"`)
}

// TestShowCommands checks the commands that show the state of a session.
func TestShowCommands(t *testing.T) {
	s := set(t, func(o *Options) { o.Files = "/w, to be read only" }, scripted.Reply("one"), scripted.Fail(errors.New("no"))).start()
	s.does("first", "/status", "/usage", "/window", "/compactions", "/uncompact", "/stop")
	says(t, s.err.String(),
		"  session  "+string(s.c.id), "  turns    1, 0 compactions", "scripted/scripted, thinking off", "% of 200k", "to be read only",
		"  answers      1",
		"% of 200k     system ~", " in   2 messages  of 2 in the log",
		"no compactions on this branch", "hint: /window shows", "nothing is running")
	s.does("second", "/status", "/window", "/history 0")
	says(t, s.err.String(), "the last turn failed: no; /retry tries again", " out  ", "hidden", "number of messages \"0\"")
}

// TestCompacting compacts a long conversation and undoes it.
func TestCompacting(t *testing.T) {
	s := set(t, nil).offlined()
	s.agent.Compaction.KeepRecent = 500
	s.start()
	for i := range 8 {
		s.does(fmt.Sprintf("Chapter %d: %s", i, strings.Repeat("the glacier moved a little further down the valley. ", 30)))
	}
	s.does("/compact keep the numbers", "/compactions", "/window")
	says(t, s.err.String(), "compacted: ~", "; undo: /uncompact", "  ENTRY", "● ", " → ~", " out  ", "compacted", "/uncompact")
	s.does("/history 30")
	says(t, s.err.String(), "you: Chapter 0", "you: Chapter 7")
	s.does("/uncompact", "/compactions")
	says(t, s.err.String(), "compaction undone", "undone")
	silent(t, s.out.String(), "ompact")
}

// TestUnfinished checks that resuming reports how the last turn ended, and the model of the next.
func TestUnfinished(t *testing.T) {
	failed := firn.AssistantText("half")
	failed.Body.(*firn.Message).StopReason = firn.StopError
	failed.Body.(*firn.Message).Error = "too\nbusy"
	aborted := firn.AssistantText("half")
	aborted.Body.(*firn.Message).StopReason = firn.StopAborted
	foreign := firn.AssistantText("hello")
	foreign.Body.(*firn.Message).Provider, foreign.Body.(*firn.Message).Model = "openai", "gpt-of-another-tool"
	calls := firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopToolUse, Parts: []firn.Part{firn.ToolCall{ID: "c1", Name: "calc", Arguments: []byte(`{}`)}}})
	asked := firn.NewEntry(&firn.Custom{Type: "firn.approval.asked", Data: []byte(`{"call":"c1","name":"calc","digest":"x"}`)})
	piece := func() firn.Entry {
		return firn.NewEntry(&firn.Custom{Type: "firn.draft", Data: []byte(`{"answer":"x","text":"half an ans"}`)})
	}
	long := []firn.Entry{firn.UserText("hi")} // more drafts than the number of entries that are read
	for range 2 * recentEntries {
		long = append(long, piece())
	}
	cases := []struct {
		entries []firn.Entry
		want    string
	}{
		{nil, ""},
		{[]firn.Entry{firn.UserText("hi"), firn.AssistantText("hello")}, ""},
		{[]firn.Entry{firn.UserText("hi")}, "the last message has no answer yet"},
		{[]firn.Entry{firn.UserText("hi"), foreign}, ""},
		{[]firn.Entry{firn.UserText("hi"), calls}, "the last tool call was interrupted and has no result; /retry"},
		{[]firn.Entry{firn.UserText("hi"), calls, asked}, ""},
		{[]firn.Entry{firn.UserText("hi"), failed}, "the last turn failed: too busy; /retry"},
		{[]firn.Entry{firn.UserText("hi"), aborted}, "the last answer was interrupted and saved"},
		{[]firn.Entry{firn.UserText("hi"), piece()}, "the last answer was interrupted and saved"},
		{long, "  you: hi\n  agent: half an anshalf an ans"},
	}
	for _, c := range cases {
		s := set(t, nil).start().create()
		if len(c.entries) > 0 {
			if _, err := s.st.Append(t.Context(), s.c.id, store.Any, c.entries...); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.c.greet(t.Context()); err != nil {
			t.Fatal(err)
		}
		says(t, s.err.String(), "session "+prose.Short(s.c.id)+" · ", "scripted/scripted · saved in /the/home", c.want)
		if c.want == "" {
			silent(t, s.err.String(), "retry")
		}
	}
}

// TestSearch finds notes and messages.
func TestSearch(t *testing.T) {
	s := set(t, nil, scripted.Reply("It is noted.")).start()
	s.does("My dog has the name Rex.", "/remember The cat is called Tom.", "/new", "/search dog name", "/search cat", "/search zebra", "/search", "/remember")
	says(t, s.err.String(), "noted in memory/", "session ", "user ", "My dog has the name Rex.", "memory/", "The cat is called Tom.",
		"no matches in", "/search WORDS", "/remember TEXT")
	// Without notes nothing can be remembered.
	s.c.o.Remember, s.c.o.Notes = nil, nil
	s.does("/search cat", "/remember something")
	says(t, s.err.String(), "no matches in the notes or messages", "this chat has no memory", "hint: ask the agent")
}

// TestRemoveAndRestore hides, restores, forks and draws sessions.
func TestRemoveAndRestore(t *testing.T) {
	s := set(t, nil, scripted.Reply("one"), scripted.Reply("two")).start()
	s.does("first", "/rename The first", "/fork")
	first := s.c.id
	s.does("second", "/tree", "/delete")
	if s.c.id == first {
		t.Error("a removed session is still used")
	}
	says(t, s.err.String(), "forked: this is now session ", "· #1  you  first", "● ", "1 branch", "hidden ", " · 0 bytes removed; undo: /restore ", "new session; ")
	s.does("/restore "+string(first), "/delete The nothing", "/restore", "/send off", "/send maybe", "/send", "/status")
	says(t, s.err.String(), "restored ", "there is no session", "/restore SESSION", "sending for this session: off", "send is on, off or inherit", "/send on|off|inherit", "send deny")
}

// TestGatewayGone checks the hint after the gateway has died.
func TestGatewayGone(t *testing.T) {
	plain := errors.New("plain")
	if err := withGatewayHint(plain); err != plain {
		t.Error(err)
	}
	for address, want := range map[string]string{"unix:/home/gateway.sock": "firn chat to continue without one", "http://there:7766": "send the others again"} {
		lost := &client.Unreachable{Address: address, Err: plain, Hint: "start one"}
		var p *Problem
		if err := advise(withGatewayHint(lost), Options{}); !errors.As(err, &p) || !strings.Contains(p.Hint, "are saved") || !strings.Contains(p.Hint, want) || !errors.Is(err, plain) {
			t.Errorf("for a gateway at %s it prints %v", address, err)
		}
	}
}

// TestErrorHints checks the hints of errors.
func TestErrorHints(t *testing.T) {
	o := Options{KeyOf: func(provider string) string { return map[string]string{"anthropic": "ANTHROPIC_API_KEY"}[provider] }}
	if err := advise(nil, o); err != nil {
		t.Error(err)
	}
	plain := errors.New("plain")
	if err := advise(plain, o); err != plain {
		t.Error(err)
	}
	for _, c := range []struct {
		err  error
		hint string
	}{
		{firn.ErrTooLarge, "/new starts another session"},
		{&wire.Problem{Kind: wire.TooLarge, Message: "x", Hint: "raise store.max_bytes"}, "raise store.max_bytes"},
		{fmt.Errorf("x: %w: %w", firn.ErrNotSaved, syscall.ENOSPC), "disk may be full"},
		{errStopped, "is saved"},
		{&Problem{Err: plain, Hint: "mine"}, "mine"},
		{&wire.Problem{Kind: wire.Busy, Message: "x", Hint: "theirs"}, "theirs"},
		{&wire.Problem{Kind: wire.Upstream, Message: "anthropic/m: API key rejected: no"}, "set ANTHROPIC_API_KEY"},
		{&wire.Problem{Kind: wire.Upstream, Message: "other/m: API key rejected"}, "another model"},
		{&wire.Problem{Kind: wire.Upstream, Message: "other/m: busy"}, "/retry sends it again"},
	} {
		var p *Problem
		if err := advise(c.err, o); !errors.As(err, &p) || !strings.Contains(p.Hint, c.hint) || !errors.Is(err, c.err) {
			t.Errorf("of %v is made %v", c.err, err)
		}
	}
	if err := advise(&wire.Problem{Kind: wire.Upstream, Message: "x/m: API key rejected"}, Options{}); !errors.Is(err, ErrKeyRejected) {
		t.Errorf("it is %v", err)
	}
}
