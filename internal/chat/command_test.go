package chat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"firn"
	"firn/provider/scripted"
	"firn/store"
)

// TestHelpTellsAll lists every command, and each has a line of its own.
func TestHelpTellsAll(t *testing.T) {
	s := set(t, nil).begin()
	s.does("/help")
	for _, cmd := range commands() {
		says(t, "\n"+s.err.String(), "\n  /"+strings.TrimSpace(cmd.name+" "+cmd.args)+" ", cmd.help)
		if cmd.run == nil || cmd.help == "" {
			t.Errorf("/%s does nothing", cmd.name)
		}
	}
	for other, name := range otherNames {
		if nearest(name) != name {
			t.Errorf("/%s means /%s, which is not there", other, name)
		}
	}
}

func TestUnknownCommand(t *testing.T) {
	for typed, near := range map[string]string{"hlep": "help", "histroy": "history", "sesions": "sessions", "compct": "compact", "xyzzy": "", "a": "", strings.Repeat("x", 1000): ""} {
		s := set(t, nil).begin()
		s.does("/" + typed)
		says(t, s.err.String(), "firn: there is no command /"+typed[:1])
		if near != "" {
			says(t, s.err.String(), "hint: did you mean /"+near+"?")
		} else {
			silent(t, s.err.String(), "did you mean")
		}
		if len(s.entries()) != 1 {
			t.Error("it was said to the agent")
		}
	}
}

// TestSessionCommands moves between sessions.
func TestSessionCommands(t *testing.T) {
	s := set(t, nil, scripted.Say("hello Ada"), scripted.Say("hello Bob")).begin()
	first := s.c.id
	s.does("I am Ada", "/rename  The   first ", "/new")
	second := s.c.id
	if first == second {
		t.Fatal("the session is not new")
	}
	s.does("I am Bob", "/sessions", "/resume The first")
	if s.c.id != first {
		t.Errorf("resumed %s", s.c.id)
	}
	says(t, s.err.String(), "this session is “The first” now", "new session "+short(second)+"; /resume "+short(first)+" goes back",
		"● "+unique(second, []store.Info{{ID: first}, {ID: second}}), "session "+short(first)+" “The first” · 1 turn", "  you: I am Ada\n", "  agent: hello Ada\n")
	id, err := store.LoadOrCreate(t.Context(), s.c.st, s.c.key)
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
	says(t, s.err.String(), `firn: session "nobody": not found`, "hint: an id,", "/resume needs more: /resume SESSION", "not found")
}

// TestFind finds sessions by all their names.
func TestFind(t *testing.T) {
	s := set(t, nil).begin()
	ctx := t.Context()
	for _, id := range []firn.ID{"abcd1", "abcd2", "xyz99"} {
		title := firn.NewEntry(&firn.Title{Name: "talk " + string(id[:3])})
		if _, err := s.c.st.Append(ctx, id, store.Start, firn.Entry{Body: &firn.Header{Session: id, Agent: "main"}}, title); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]firn.ID{
		"abcd1": "abcd1", "xyz9": "xyz99", "talk xyz": "xyz99", "@" + s.c.key: s.c.id,
	} {
		if info, err := find(ctx, s.c.st, "main", name); err != nil || info.ID != want {
			t.Errorf("%s is %s, %v", name, info.ID, err)
		}
	}
	var several *Ambiguous
	for _, name := range []string{"abcd", "talk abc"} {
		if _, err := find(ctx, s.c.st, "", name); !errors.As(err, &several) || len(several.Sessions) != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"xyz", "nobody", "@agent:main:none"} {
		if _, err := find(ctx, s.c.st, "", name); !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := find(ctx, s.c.st, "other", "xyz99"); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("a session of another agent: %v", err)
	}
	many := &Ambiguous{Name: "a", Sessions: []firn.ID{"a1", "a2", "a3", "a4"}}
	if many.Error() != "a means 4 sessions: a1, a2, a3 and 1 more" {
		t.Error(many)
	}
}

// TestRewind goes back and returns.
func TestRewind(t *testing.T) {
	s := set(t, nil, scripted.Say("one"), scripted.Say("two"), scripted.Say("another two")).begin()
	s.does("first", "second", "/label here", "/rewind", "third")
	requests := s.model.Requests()
	var sent []string
	for _, it := range requests[len(requests)-1].Window.Items {
		sent = append(sent, it.Message.Text())
	}
	last := strings.Join(sent, "|")
	says(t, last, "first|one|", "third")
	silent(t, last, "second", "two")
	says(t, s.err.String(), "here is on agent: two", "went back to before you said “second”; what was left stays in the log: /rewind ")

	s.does("/rewind here", "/history 2")
	says(t, s.err.String(), "the session goes on from agent: two", "you: second\n", "agent: two\n")
	s.does("/rewind 9", "/rewind nobody", "/rewind 1 2", "/rewind 2")
	says(t, s.err.String(), "there are 2 in the live part", "entry nobody: not found", "takes one place", "before you said “first”")
	s.does("/history")
	says(t, s.err.String(), "firn: nothing was said here yet")
	// Nothing was removed.
	says(t, s.messages(), "first", "second", "two", "third")
}

// TestRewindWithSummary tells the model of the branch that is left.
func TestRewindWithSummary(t *testing.T) {
	s := set(t, func(o *Options) { o.Default = "firn/offline" }).begin()
	s.does("I decided to take the train to Oslo.", "Remember that my dog is called Rex.", "/rewind 1 --summary")
	says(t, s.err.String(), "went back to before you said “Remember")
	var kinds []firn.Kind
	for _, e := range s.entries() {
		kinds = append(kinds, e.Body.Kind())
	}
	if !strings.Contains(fmt.Sprint(kinds), string(firn.KindBranchSummary)) {
		t.Errorf("the session has %v", kinds)
	}
}

func TestLabels(t *testing.T) {
	s := set(t, nil, scripted.Say("one"), scripted.Say("two")).begin()
	s.does("/pin", "first", "second", "/pin", "/label a", "/label b")
	says(t, s.err.String(), "nothing was said here yet", "pin is on you: second", "a is on agent: two", "b is on agent: two")
	path, err := s.c.path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id := path.Entries[0].ID
	s.does("/pin "+string(id), "/pin "+string(id)[:12]+"?", "/label", "/pin "+string(id[:4]))
	says(t, s.err.String(), "pin is on ", "not found", "/label NAME [ENTRY]", "is the beginning of ")
	// A label that an entry no longer has does not name it.
	if _, err := s.c.entry(t.Context(), "a"); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("the old label gives %v", err)
	}
}

// TestLooking shows where one is.
func TestLooking(t *testing.T) {
	s := set(t, func(o *Options) { o.Workspace = t.TempDir() }, scripted.Say("one"), scripted.Fail(errors.New("no"))).begin()
	s.does("first", "/status", "/usage", "/window", "/compactions", "/uncompact", "/stop")
	says(t, s.err.String(),
		"  session  "+string(s.c.id), "  turns    1, 0 compactions", "scripted/scripted, thinking off", "% of 200k", "to be read only",
		"  answers      1", "  cost         $0.0000",
		"% of 200k     system ~", " in   2 messages  of 2 in the log",
		"nothing was compacted on this branch", "hint: /window shows", "nothing is running")
	s.does("second", "/status", "/window", "/history 0")
	says(t, s.err.String(), "the last turn failed: no. /retry asks again", " out  ", "hidden", "number \"0\" of messages")
}

// TestCompacting shortens a long talk and takes it back.
func TestCompacting(t *testing.T) {
	s := set(t, func(o *Options) { o.Default = "firn/offline" }).begin()
	s.c.agent.Compaction.KeepRecent = 500
	for i := range 8 {
		s.does(fmt.Sprintf("Chapter %d: %s", i, strings.Repeat("the glacier moved a little further down the valley. ", 30)))
	}
	s.does("/compact keep the numbers", "/compactions", "/window")
	says(t, s.err.String(), "compacted: ~", "; /uncompact takes it back", "  ENTRY", "● ", " → ~", " out  ", "compacted", "/uncompact")
	s.does("/history 30")
	says(t, s.err.String(), "you: Chapter 0", "you: Chapter 7")
	s.does("/uncompact", "/compactions")
	says(t, s.err.String(), "the last compaction is taken back", "undone")
	silent(t, s.out.String(), "ompact")
}

// TestUnfinished tells on resuming how the last turn ended.
func TestUnfinished(t *testing.T) {
	failed := firn.AssistantText("half")
	failed.Body.(*firn.Message).StopReason = firn.StopError
	failed.Body.(*firn.Message).Error = "too\nbusy"
	aborted := firn.AssistantText("half")
	aborted.Body.(*firn.Message).StopReason = firn.StopAborted
	draft := firn.NewEntry(&firn.Custom{Type: "firn.draft", Data: []byte(`{"answer":"x","text":"half an ans"}`)})
	cases := []struct {
		entries []firn.Entry
		want    string
	}{
		{nil, ""},
		{[]firn.Entry{firn.UserText("hi"), firn.AssistantText("hello")}, ""},
		{[]firn.Entry{firn.UserText("hi")}, "the last turn was interrupted before it was answered"},
		{[]firn.Entry{firn.UserText("hi"), failed}, "the last turn failed: too busy. /retry"},
		{[]firn.Entry{firn.UserText("hi"), aborted}, "the last answer was interrupted; it is kept."},
		{[]firn.Entry{firn.UserText("hi"), draft}, "the last answer was interrupted; it is kept."},
	}
	for _, c := range cases {
		s := set(t, nil).begin()
		if len(c.entries) > 0 {
			if _, err := s.c.st.Append(t.Context(), s.c.id, store.Any, c.entries...); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.c.greet(t.Context()); err != nil {
			t.Fatal(err)
		}
		says(t, s.err.String(), "session "+short(s.c.id)+" · ", " · scripted/scripted · kept in "+s.c.o.Home, c.want)
		if c.want == "" {
			silent(t, s.err.String(), "retry")
		}
	}
}

// TestInstructions reads instruction files, and not too much of them.
func TestInstructions(t *testing.T) {
	dir := t.TempDir()
	s := set(t, func(o *Options) { o.Workspace = dir }, scripted.Say("yes")).begin()
	if got := s.c.instructions(); got != nil {
		t.Errorf("there are instructions %q", got)
	}
	big := strings.Repeat("a", maxInstructions-10)
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte(big), 0o600),
		os.WriteFile(filepath.Join(dir, "FIRN.md"), []byte("0123456789abc"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	if got := s.c.instructions(); len(got) != 2 || got[0] != big || got[1] != "0123456789" {
		t.Errorf("there are %d instructions, the last is %q", len(got), got[len(got)-1])
	}
	s.does("hello")
	says(t, s.model.Requests()[0].Window.Items[0].Message.Text(), "<environment>\nworking_directory: "+dir, "<instructions>\naaa")
	if err := errors.Join(os.Remove(filepath.Join(dir, "FIRN.md")), os.Mkdir(filepath.Join(dir, "FIRN.md"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if got := s.c.instructions(); len(got) != 1 {
		t.Errorf("there are %d instructions", len(got))
	}
	s.c.tellReports()
	says(t, s.err.String(), "note: instructions were not read: ", "it is not a plain file")
}

// TestTools offers what was asked for and nothing else.
func TestTools(t *testing.T) {
	cases := []struct {
		change func(*Options)
		want   string
	}{
		{nil, "now calc memory_write recall"},
		{func(o *Options) { o.NoTools = true }, ""},
		{func(o *Options) { o.Workspace = o.Home }, "now calc read_file list_dir grep memory_write recall"},
		{func(o *Options) { o.Workspace, o.Write = o.Home, true }, "now calc read_file list_dir grep write_file memory_write recall"},
		{func(o *Options) { o.Workspace, o.Shell = o.Home, true }, "now calc read_file list_dir grep memory_write recall shell"},
	}
	for _, c := range cases {
		s := set(t, c.change).begin()
		var names []string
		for _, x := range s.c.agent.Tools {
			names = append(names, x.Spec().Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("the tools are %s, want %s", got, c.want)
		}
	}
	s := set(t, func(o *Options) { o.Env = env("PATH", "/bin", "ANTHROPIC_API_KEY", "secret") }).begin()
	if got := strings.Join(s.c.shellEnv(), " "); got != "TERM=dumb PATH=/bin" {
		t.Errorf("commands get %s", got)
	}
}

// TestSearch finds what was noted and said.
func TestSearch(t *testing.T) {
	s := set(t, nil, scripted.Say("It is noted."), scripted.Call("c1", "recall", `{"query":"dog name"}`), scripted.Say("Rex.")).begin()
	s.does("My dog has the name Rex.", "/remember The cat is called Tom.", "/new", "/search dog name", "/search cat", "/search zebra", "/search", "/remember")
	says(t, s.err.String(), "noted in memory/", "session ", "user ", "My dog has the name Rex.", "memory/", "The cat is called Tom.",
		"nothing was found", "/search WORDS", "/remember TEXT")
	// The agent finds it too, and not its own question.
	s.does("What is the name of my dog?")
	results := ""
	for _, e := range s.entries() {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleToolResult {
			results += firn.JoinText(m.Parts[0].(firn.ToolResult).Content)
		}
	}
	says(t, results, "My dog has the name Rex.")
	silent(t, results, "What is the name of my dog")
}

// TestSearchIsBounded reads no more than it says.
func TestSearchIsBounded(t *testing.T) {
	s := set(t, nil).begin()
	ctx := t.Context()
	old := firn.UserText("needle in the past")
	old.Time = time.Now().Add(-time.Hour)
	entries := []firn.Entry{old}
	for range searchEach {
		entries = append(entries, firn.UserText("hay"))
	}
	if _, err := s.c.st.Append(ctx, s.c.id, store.Any, entries...); err != nil {
		t.Fatal(err)
	}
	if hits, err := s.c.scan(ctx, "needle", 5); err != nil || len(hits) != 0 {
		t.Errorf("found %d, %v", len(hits), err)
	}
	if hits, err := s.c.scan(ctx, "hay", 5); err != nil || len(hits) != 5 {
		t.Errorf("found %d, %v", len(hits), err)
	}
	if hits, err := s.c.scan(ctx, "?!", 5); err != nil || len(hits) != 0 {
		t.Errorf("found %d, %v", len(hits), err)
	}
	long := strings.Repeat("ö", 1000) + " needle " + strings.Repeat("x", 1000)
	if got := around(long, strings.Index(long, "needle")); !strings.Contains(got, "needle") || len(got) > snippet+6 || !strings.HasPrefix(got, "…ö") {
		t.Errorf("around the needle is %q", got)
	}
}

// TestAdvice gives hints that help.
func TestAdvice(t *testing.T) {
	o := Options{Env: env()}
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
		{firn.ErrTooLarge, "/compact or /rewind"},
		{fmt.Errorf("x: %w: %w", firn.ErrNotSaved, syscall.ENOSPC), "disk full"},
		{errStopped, "is kept"},
		{&Problem{Err: plain, Hint: "mine"}, "mine"},
	} {
		var p *Problem
		if err := advise(c.err, o); !errors.As(err, &p) || !strings.Contains(p.Hint, c.hint) || !errors.Is(err, c.err) {
			t.Errorf("of %v is made %v", c.err, err)
		}
	}
	if authHint("") == "" {
		t.Error("no hint")
	}
}
