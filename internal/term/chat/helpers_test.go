package chat

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/client"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/base/route"
	"firn.dev/internal/door/api"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/gateway"
	"firn.dev/internal/term/line/linetest"
	"firn.dev/provider"
	"firn.dev/provider/offline"
	"firn.dev/provider/openai"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/tool"
	"firn.dev/wire"
)

// stage is a chat with its own gateway and a scripted model, and the user's side of it.
type stage struct {
	t     *testing.T
	c     *chat
	o     Options
	st    store.Store
	model *scripted.Model
	agent *agent.Agent
	// in receives typed input, and presses the presses of Ctrl-C.
	in       *io.PipeWriter
	out, err *linetest.Recorder
	presses  chan os.Signal
	released chan struct{}
	ended    chan error
	// noted are the added notes.
	noted []string
}

// set creates a chat without starting it.
func set(t *testing.T, change func(*Options), steps ...scripted.Step) *stage {
	t.Helper()
	s := &stage{
		t: t, model: scripted.New(scripted.Info(), steps...), out: linetest.NewRecorder(t), err: linetest.NewRecorder(t), st: memstore.New(memstore.Options{}),
		presses: make(chan os.Signal, 2), released: make(chan struct{}), ended: make(chan error, 1),
	}
	s.agent = &agent.Agent{
		Name: "main", Model: s.model, Models: s.find, System: "Talk.", Tools: []tool.Tool{tool.Calc()},
		NoTitles: true, // titles would consume steps of the script
		Backoff:  provider.Backoff{Base: time.Nanosecond},
	}
	read, write := io.Pipe()
	s.in = write
	t.Cleanup(func() { read.Close() })
	s.o = Options{
		Stdin: read, Stdout: s.out, Stderr: s.err, Presses: s.presses, Providers: []string{"firn", "scripted"},
		KeyOf:    func(string) string { return "ANTHROPIC_API_KEY" },
		Remember: s.remember, Forget: s.forget, Notes: s.notes, Files: "none",
	}
	s.o.Release = sync.OnceFunc(func() { close(s.released) })
	if change != nil {
		change(&s.o)
	}
	return s
}

// offlined makes the offline model answer.
func (s *stage) offlined() *stage {
	s.agent.Model = offline.New(offline.Options{})
	return s
}

// find returns the models of the stage.
func (s *stage) find(providerName, model string) (provider.Model, error) {
	switch providerName {
	case "scripted":
		return s.model, nil
	case "firn":
		return offline.New(offline.Options{}), nil
	case "ollama":
		return openai.NewChat(openai.Options{Name: model, Provider: "ollama"}), nil
	}
	return nil, &wire.Problem{Kind: wire.Invalid, Message: "there is no provider " + providerName}
}

func (s *stage) remember(_ context.Context, _, text string) (string, error) {
	s.noted = append(s.noted, text)
	return "noted in memory/today.md: 1 fact", nil
}

func (s *stage) forget(_ context.Context, _, what string) (string, error) {
	s.noted = slices.DeleteFunc(s.noted, func(n string) bool { return n == what })
	return "forgotten: " + what, nil
}

func (s *stage) notes(_ context.Context, _, query string, _ int) ([]Hit, error) {
	var hits []Hit
	for _, n := range s.noted {
		if strings.Contains(n, query) {
			hits = append(hits, Hit{Source: "memory/today.md", Text: n})
		}
	}
	return hits, nil
}

// start starts the chat, which ends with the test.
func (s *stage) start() *stage {
	s.t.Helper()
	s.agent.Store = s.st
	quiet := time.Duration(0)
	g, err := gateway.New(gateway.Options{Store: s.st, Index: plainIndex{s.st}, Dialect: native.New(), Home: "/the/home", Setup: gateway.Setup{
		Agents: map[string]*agent.Agent{"main": s.agent}, Default: "main", Models: s.find, Queue: route.Queue{Debounce: &quiet},
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	local := client.InProcess(api.Owner(api.Handler(g, api.Config{})))
	if s.o.Client, err = client.New(client.Options{Transport: local}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := errors.Join(local.Close(), g.Close(context.Background())); err != nil {
			s.t.Error(err)
		}
	})
	s.c = newChat(s.o)
	if err = s.c.open(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return s
}

// play creates and starts a chat.
func play(t *testing.T, change func(*Options), steps ...scripted.Step) *stage {
	t.Helper()
	s := set(t, change, steps...).start()
	return s.run(t.Context())
}

func (s *stage) run(ctx context.Context) *stage {
	go func() { s.ended <- s.c.loop(ctx) }()
	s.t.Cleanup(func() { s.in.Close() })
	return s
}

// types types lines.
func (s *stage) types(lines ...string) {
	s.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(s.in, l+"\n"); err != nil {
			s.t.Fatal(err)
		}
	}
}

// end closes the input and checks that the chat ends without an error.
func (s *stage) end() {
	s.t.Helper()
	s.in.Close()
	if err := s.wait(); err != nil {
		s.t.Fatalf("the chat ended with %v", err)
	}
}

func (s *stage) wait() error {
	s.t.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(patience):
		s.t.Fatalf("the chat does not end; it printed %q and %q", s.out, s.err)
		return nil
	}
}

// create creates the session, as the first message does.
func (s *stage) create() *stage {
	s.t.Helper()
	if err := s.c.ensure(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return s
}

// does runs commands that do not use the model, one by one.
func (s *stage) does(lines ...string) {
	s.t.Helper()
	for _, l := range lines {
		s.c.showError(s.c.handle(s.t.Context(), message{text: l}))
	}
}

// entries reads the session.
func (s *stage) entries() []firn.Entry {
	s.t.Helper()
	var entries []firn.Entry
	for rec, err := range s.st.Read(s.t.Context(), s.c.id, store.Start) {
		if err != nil {
			s.t.Fatal(err)
		}
		e, err := rec.Entry()
		if err != nil {
			s.t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

// messages returns a short form of the session's messages.
func (s *stage) messages() string {
	var all []string
	for _, e := range s.entries() {
		if m, ok := e.Body.(*firn.Message); ok {
			text := string(m.Role) + ": " + m.Text()
			if m.StopReason == firn.StopAborted || m.StopReason == firn.StopError {
				text += " (" + string(m.StopReason) + ")"
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// says fails if a text does not contain the pieces in this order.
func says(t *testing.T, text string, pieces ...string) {
	t.Helper()
	rest := text
	for _, p := range pieces {
		_, after, ok := strings.Cut(rest, p)
		if !ok {
			t.Fatalf("%q is missing from\n%s", p, text)
		}
		rest = after
	}
}

// silent fails if a text contains one of the pieces.
func silent(t *testing.T, text string, pieces ...string) {
	t.Helper()
	if i := slices.IndexFunc(pieces, func(p string) bool { return strings.Contains(text, p) }); i >= 0 {
		t.Fatalf("got %q:\n%s", pieces[i], text)
	}
}

// patience is the time limit of a wait.
const patience = basetest.Limit
