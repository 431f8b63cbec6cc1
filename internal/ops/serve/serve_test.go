package serve

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/client"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/base/route"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/door/api"
	"firn.dev/internal/ops/config"
	"firn.dev/tool"
	"firn.dev/wire"
)

// load reads settings for a new home.
func load(t *testing.T, text string) *config.Settings {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	path := filepath.Join(t.TempDir(), config.FileName)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := config.Open(path, nil, map[string]string{"home": home})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openInstance opens an instance and a client for it.
func openInstance(t *testing.T, o Options) (*Instance, *client.Client) {
	t.Helper()
	if o.Settings == nil {
		o.Settings = load(t, "")
	}
	if o.Env == nil {
		o.Env = env()
	}
	h, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	local := client.InProcess(h.Own())
	t.Cleanup(func() {
		if err := errors.Join(local.Close(), h.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(client.Options{Transport: local})
	if err != nil {
		t.Fatal(err)
	}
	return h, c
}

// TestTalk sends a message and finds it again after reopening the instance.
func TestTalk(t *testing.T) {
	settings := load(t, "")
	func() {
		h, err := Open(Options{Settings: settings, Env: env()})
		if err != nil {
			t.Fatal(err)
		}
		local := client.InProcess(h.Own())
		c, err := client.New(client.Options{Transport: local})
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.NewSession(t.Context(), wire.NewSession{Key: "agent:main:main"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Turn(t.Context(), s.ID, wire.Turn{Text: "My name is Ada."}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(local.Close(), h.Close(context.Background())); err != nil {
			t.Fatal(err)
		}
	}()
	_, c := openInstance(t, Options{Settings: settings})
	s, err := c.Session(t.Context(), "@agent:main:main")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Turn(t.Context(), s.ID, wire.Turn{Text: "What is my name?"})
	if err != nil || !strings.Contains(answer.Text, "Ada") {
		t.Errorf("it answers %q, %v", answer.Text, err)
	}
	if s.Title == "" {
		t.Error("the session got no name")
	}
}

// TestTools checks that exactly the requested tools are offered.
func TestTools(t *testing.T) {
	dir := t.TempDir()
	cases := []struct {
		local    *Local
		settings string
		want     string
	}{
		{nil, "", "now calc remember recall forget search_sessions read_window"},
		{&Local{NoTools: true}, "", ""},
		{&Local{Workspace: dir}, "", "now calc read_file list_dir glob grep remember recall forget search_sessions read_window"},
		{&Local{Workspace: dir, Write: true}, "", "now calc read_file list_dir glob grep write_file edit_file remember recall forget search_sessions read_window"},
		{&Local{Workspace: dir, Shell: true}, "", "now calc read_file list_dir glob grep shell shell_output shell_kill remember recall forget search_sessions read_window"},
		{nil, "[memory]\nenabled = false", "now calc"},
		{nil, "[defaults.tools]\nallow = [\"n*\", \"calc\"]\ndeny = [\"calc\"]", "now"},
		{nil, "[agents.main]\nworkspace = " + quoted(dir) + "\nworkspace_write = true", "now calc read_file list_dir glob grep write_file edit_file remember recall forget search_sessions read_window"},
	}
	for _, c := range cases {
		h, _ := openInstance(t, Options{Settings: load(t, c.settings), Local: c.local})
		var names []string
		for _, x := range h.agents["main"].Tools {
			names = append(names, x.Spec().Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("the tools are %s, want %s", got, c.want)
		}
	}
	s := &agentBuilder{env: env("PATH", "/bin", "ANTHROPIC_API_KEY", "secret", "MINE", "yes")}
	if got := strings.Join(s.shellEnv([]string{"MINE"}), " "); got != "TERM=dumb PATH=/bin MINE=yes" {
		t.Errorf("commands get %s", got)
	}
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `\`, `\\`) + `"` }

// TestInstructions checks that instruction files are read up to the size limit.
func TestInstructions(t *testing.T) {
	dir := t.TempDir()
	var texts []string
	s := &agentBuilder{fs: vfs.OS{}, report: func(m string) { texts = append(texts, m) }}
	c := config.Instructions{Files: []string{"AGENTS.md", "FIRN.md"}}
	if got := s.instructions(c, dir); got != nil || s.instructions(c, "") != nil {
		t.Errorf("there are instructions %q", got)
	}
	big := strings.Repeat("a", maxInstructions-10)
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte(big), 0o600),
		os.WriteFile(filepath.Join(dir, "FIRN.md"), []byte("0123456789abc"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	if got := s.instructions(c, dir); len(got) != 2 || got[0].Text != big || got[1].Text != "0123456789" {
		t.Errorf("there are %d instructions, the last is %q", len(got), got[len(got)-1])
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "FIRN.md")), os.Mkdir(filepath.Join(dir, "FIRN.md"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for range 3 { // each is reported once
		if got := s.instructions(c, dir); len(got) != 1 || len(texts) != 2 {
			t.Errorf("there are %d instructions, and the texts are %q", len(got), texts)
		}
	}
	c.Files = []string{"../secret", "", ".", "sub/AGENTS.md"}
	if got := s.instructions(c, dir); len(got) != 0 {
		t.Errorf("names that are paths were read: %q", got)
	}
}

// TestRecall checks that an agent finds messages of its other sessions, and not its own
// question.
func TestRecall(t *testing.T) {
	h, c := openInstance(t, Options{})
	ctx := agent.WithBounds(t.Context(), route.Everything())
	first, err := c.NewSession(ctx, wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Append(ctx, first.ID, client.Any, wire.NewEntries{User: "My dog has the name Rex."}); err != nil {
		t.Fatal(err)
	}
	if text, err := notesOf(h, "main").remember(ctx, tool.Memo{Text: "The cat is called Tom."}); err != nil || !strings.HasPrefix(text, "noted in memory/") {
		t.Errorf("got %q, %v", text, err)
	}
	for query, want := range map[string]string{"dog name": "user: My dog has the name Rex.", "cat": "The cat is called Tom."} {
		hits, err := notesOf(h, "main").search(ctx, query, 5)
		if err != nil || len(hits) != 1 || hits[0].Text != want {
			t.Errorf("%s finds %v, %v", query, hits, err)
		}
	}
	if hits, err := c.Memory.Recall(ctx, wire.MemoryPlace{}, "cat", 5); err != nil || len(hits) != 1 || hits[0].Scope != "agent" {
		t.Errorf("the notes have %v, %v", hits, err)
	}
	if hits, err := notesOf(h, "main").search(ctx, "?!", 5); err != nil || len(hits) != 0 {
		t.Errorf("nothing finds %v, %v", hits, err)
	}
}

// notesOf returns the memory of an agent.
func notesOf(h *Instance, name string) *notebook {
	return h.builders[len(h.builders)-1].newNotebook(h.agents[name], "")
}

// TestReadInPlace checks that a read-only command finds nothing in a missing home and does not
// create it.
func TestReadInPlace(t *testing.T) {
	settings := load(t, "")
	_, c := openInstance(t, Options{Settings: settings, ReadOnly: true})
	page, err := c.SessionsPage(t.Context(), client.Query{})
	if err != nil || len(page.Items) != 0 {
		t.Errorf("there are %v, %v", page.Items, err)
	}
	if _, err := os.Stat(settings.Home); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the home was made: %v", err)
	}
}

// TestRefused checks that invalid options are rejected before anything is created.
func TestRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"a model without a key":       {Model: "anthropic/x"},
		"unknown model":               {Model: "nobody/x"},
		"agent with an unknown model": {Settings: load(t, "[agents.main]\nmodel = \"nobody/x\"")},
		"a store that is not":         {Settings: load(t, "[store]\nurl = \"nats://host\"")},
		"a workspace that isn't":      {Local: &Local{Workspace: "/there/is/no/such/directory"}},
	} {
		if o.Settings == nil {
			o.Settings = load(t, "")
		}
		o.Env = env()
		h, err := Open(o)
		if err == nil {
			t.Errorf("%s was accepted: %v", name, h.Close(context.Background()))
		}
	}
}

// TestGuests checks that several commands can use a home together, but not with a gateway.
func TestGuests(t *testing.T) {
	settings := load(t, "")
	openInstance(t, Options{Settings: settings})
	second, err := Open(Options{Settings: settings, Env: env()})
	if err != nil {
		t.Fatal(err)
	}
	err = Run(t.Context(), Daemon{Options: Options{Settings: settings, Env: env()}})
	if !errors.Is(err, firn.ErrLocked) || !strings.Contains(err.Error(), "without a gateway") {
		t.Errorf("a gateway while a command runs: %v", err)
	}
	if err := second.Close(t.Context()); err != nil {
		t.Error(err)
	}

	// Files of killed commands are ignored.
	left := filepath.Join(settings.Home, filepath.FromSlash(guestsDir), "1-dead")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkNoGuests(vfs.OS{}, settings.Home); !errors.Is(err, firn.ErrLocked) { // the first is still running
		t.Errorf("the guests are %v", err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was not cleared away: %v", err)
	}
	hold, err := api.LockHome(vfs.OS{}, settings.Home, "gateway")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Settings: settings, Env: env()}); !errors.Is(err, firn.ErrLocked) {
		t.Errorf("a command while a gateway runs: %v", err)
	}
	if looks, err := Open(Options{Settings: settings, Env: env(), ReadOnly: true}); err != nil {
		t.Errorf("a read-only command: %v", err)
	} else if err := looks.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := hold.Release(); err != nil {
		t.Error(err)
	}
}

// TestDaemon serves a home, changes its settings while running, keeps the old ones if the
// new ones are invalid, and shuts down on request.
func TestDaemon(t *testing.T) {
	settings := load(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan api.Address, 1), make(chan error, 1)
	hangups := make(chan os.Signal)
	changed := load(t, "[agents.helper]\nmodel = \"firn/offline\"\n")
	changed.Home = settings.Home
	answers := []func() (*config.Settings, error){
		func() (*config.Settings, error) { return changed, nil },
		func() (*config.Settings, error) { return nil, firn.ErrInvalid },
	}
	go func() {
		ended <- Run(ctx, Daemon{
			Options: Options{Settings: settings, Env: env()}, Ready: func(a api.Address) { ready <- a }, Hangups: hangups,
			Reload: func() (*config.Settings, error) {
				next := answers[0]
				answers = answers[1:]
				return next()
			},
		})
	}()
	var at api.Address
	select {
	case at = <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	c, err := client.New(client.Options{Address: at.Address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	hangups <- os.Interrupt
	hangups <- os.Interrupt // received after the first is done
	agents, err := c.Agents(t.Context())
	if err != nil || len(agents) != 2 {
		t.Errorf("the agents are %v, %v", agents, err)
	}
	status, err := c.Status(t.Context())
	if err != nil || status.Gateway != at.Address {
		t.Errorf("the status is %+v, %v", status, err)
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(basetest.Limit):
		t.Fatal("it does not end")
	}
}
