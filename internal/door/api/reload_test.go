package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/client"
	"firn.dev/internal/door/api"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/gateway"
	"firn.dev/internal/render/richtext"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store/filestore"
	"firn.dev/tool"
	"firn.dev/wire"
)

// stage is a real gateway with a model controlled by the test.
type stage struct {
	c  *client.Client
	id firn.ID
	// answers provides a channel of text pieces per answer. Closing it completes the
	// answer.
	answers chan chan string
	// tools releases the agent's tool.
	tools chan struct{}
}

func openStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{answers: make(chan chan string, 8), tools: make(chan struct{})}
	home := shortDir(t)
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	model := scripted.Func(scripted.Info(), s.play)
	wait := tool.New("wait", "", func(ctx context.Context, _ struct{}) (tool.Result, error) {
		select {
		case <-s.tools:
		case <-ctx.Done():
		}
		return tool.TextResult("waited"), nil
	})
	agents := map[string]*agent.Agent{"main": {Store: st, Model: model, NoTitles: true, Tools: []tool.Tool{wait}}}
	g, err := gateway.New(gateway.Options{Store: st, Dialect: native.New(), Home: home, Setup: gateway.Setup{Default: "main", Agents: agents}})
	if err != nil {
		t.Fatal(err)
	}
	served := serve(t, api.ServeOptions{Home: home, Close: g.Close, Handler: api.Handler(g, api.Config{})})
	if s.c, err = client.New(client.Options{Address: served.Address.Address}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.c.Close() })
	session, err := s.c.NewSession(t.Context(), wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	s.id = session.ID
	return s
}

// play streams the next answer. A piece that begins with ! is thinking, one with @ calls
// the tool.
func (s *stage) play(ctx context.Context, _ provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		var pieces chan string
		select {
		case pieces = <-s.answers:
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
			return
		}
		m := firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopEnd, Provider: "scripted", Model: "scripted"}
		var thought, output strings.Builder
		for open := true; open; {
			var piece string
			select {
			case piece, open = <-pieces:
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
			ok := true
			switch {
			case piece == "":
			case piece[0] == '!':
				thought.WriteString(piece[1:])
				ok = yield(provider.ThinkingDelta{Text: piece[1:]}, nil)
			case piece[0] == '@':
				m.Parts, m.StopReason = append(m.Parts, firn.ToolCall{ID: piece[1:], Name: "wait", Arguments: json.RawMessage(`{}`)}), firn.StopToolUse
			default:
				output.WriteString(piece)
				ok = yield(provider.TextDelta{Text: piece}, nil)
			}
			if !ok {
				return
			}
		}
		if output.Len() > 0 {
			m.Parts = append([]firn.Part{firn.Text{Text: output.String()}}, m.Parts...)
		}
		if thought.Len() > 0 {
			m.Parts = append([]firn.Part{firn.Thinking{Text: thought.String()}}, m.Parts...)
		}
		yield(provider.Done{Message: m}, nil)
	}
}

// send starts a turn without waiting for it.
func (s *stage) send(t *testing.T, text string) {
	t.Helper()
	no := false
	if _, err := s.c.Turn(t.Context(), s.id, wire.Turn{Text: text, Wait: &no}); err != nil {
		t.Fatal(err)
	}
}

// screen simulates a page. It applies events and fails if they are inconsistent.
type screen struct {
	cards   []wire.Card
	entry   firn.EntryID
	grows   map[bool][]string
	tools   []string
	running bool
	ends    int
	wrong   []string
}

func (s *screen) complain(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

func (s *screen) has(id firn.EntryID) bool {
	return slices.ContainsFunc(s.cards, func(c wire.Card) bool { return c.ID == id })
}

func (s *screen) show(e wire.Event) {
	switch e.Name {
	case wire.EntryAppended, wire.HeadMoved:
		var entry wire.Entry
		if json.Unmarshal(e.Data, &entry) != nil || entry.Card == nil {
			s.complain("no card: %s", e.Data)
			return
		}
		if s.has(entry.Card.ID) && entry.Card.ID != "" {
			s.complain("%s is sent twice", entry.Card.ID)
		}
		s.cards = append(s.cards, *entry.Card)
		if entry.Card.ID == s.entry {
			s.entry, s.grows = "", nil
		}
	case wire.DeltaHTML:
		s.grow(e)
	case wire.DeltaText, wire.DeltaThinking, wire.TurnPartial:
		s.complain("a page receives %s", e.Name)
	case wire.TurnStarted:
		s.running = true
	case wire.ToolStarted:
		s.tools = append(s.tools, string(e.Data))
	case wire.ToolCompleted:
		s.tools = nil
	case wire.TurnCompleted, wire.TurnFailed:
		if s.running, s.ends = false, s.ends+1; s.entry != "" {
			s.complain("the turn is over and %s still grows", s.entry)
		}
	}
}

func (s *screen) grow(e wire.Event) {
	var g wire.Growth
	if err := json.Unmarshal(e.Data, &g); err != nil {
		s.complain("%v", err)
		return
	}
	switch {
	case s.has(g.Entry):
		s.complain("%s grows when it is there", g.Entry)
	case !s.running:
		s.complain("something grows while no turn runs")
	}
	if g.Entry != s.entry {
		s.entry, s.grows = g.Entry, map[bool][]string{}
	}
	have := s.grows[g.Thinking]
	if g.From > len(have) {
		s.complain("from %d, where there are %d", g.From, len(have))
		return
	}
	s.grows[g.Thinking] = append(have[:g.From:g.From], g.Blocks...)
}

// html returns the growing text.
func (s *screen) html(thinking bool) string { return strings.Join(s.grows[thinking], "") }

// watch applies events to a page until enough returns true.
func (s *stage) watch(t *testing.T, page *screen, enough func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for e, err := range s.c.PageEvents(ctx, s.id, 0) {
		if err != nil {
			t.Errorf("the stream broke: %v", err)
			return
		}
		page.show(e)
		if enough() {
			return
		}
	}
}

// TestReloadInTheMiddle checks that a page opened during an answer shows exactly the text
// so far, and then the rest, without gaps or duplicates.
func TestReloadInTheMiddle(t *testing.T) {
	s := openStage(t)
	pieces := make(chan string)
	s.answers <- pieces
	s.send(t, "tell me")
	pieces <- "!let me see"
	pieces <- "Hello **wor"
	before := richtext.Markdown("Hello **wor")
	for range 3 { // each is a reload
		page := &screen{}
		s.watch(t, page, func() bool { return page.html(false) == before && page.html(true) != "" })
		if len(page.wrong) > 0 || !page.running || page.html(true) != richtext.Markdown("let me see") || len(page.cards) != 2 {
			t.Errorf("%+v", page)
		}
	}
	page, plain, joined := &screen{}, make(chan string, 1), make(chan struct{})
	go func() { plain <- s.listen(t, joined) }()
	<-joined
	grown := ""
	s.watch(t, page, func() bool {
		switch html := page.html(false); {
		case html == before && grown == "":
			grown = html
			go func() {
				pieces <- "ld**\n\nand "
				pieces <- "more"
				close(pieces)
			}()
		case html != "":
			grown = html
		}
		return page.ends == 1
	})
	// Usage entries may arrive before the turn ends.
	page.cards = slices.DeleteFunc(page.cards, func(c wire.Card) bool { return c.Kind == firn.KindCustom })
	answer := page.cards[len(page.cards)-1]
	want := richtext.Markdown("Hello **world**\n\nand more")
	if len(page.wrong) > 0 || len(page.cards) != 3 || len(answer.Blocks) != 2 || answer.Blocks[1].HTML != want {
		t.Errorf("%+v", page)
	}
	if !strings.HasPrefix(want, grown) && !strings.HasPrefix(grown, "<p>Hello") {
		t.Errorf("it grew to %q", grown)
	}
	if got := <-plain; got != "Hello **world**\n\nand more" {
		t.Errorf("a plain stream received %q", got)
	}
}

// TestAllEventsInTheMiddle checks that a listener to all sessions that joins during an
// answer receives the text so far, and then the rest.
func TestAllEventsInTheMiddle(t *testing.T) {
	s := openStage(t)
	pieces := make(chan string)
	s.answers <- pieces
	s.send(t, "tell me")
	pieces <- "!let me see"
	pieces <- "Hello "
	first := &screen{}
	s.watch(t, first, func() bool { return first.html(false) != "" })
	received, names := "", []string{}
	for e, err := range s.c.AllEvents(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		var d wire.Delta
		var p wire.Partial
		switch names = append(names, e.Name); {
		case e.Session != s.id:
			t.Errorf("%s is of session %q", e.Name, e.Session)
		case e.Name == wire.TurnPartial && json.Unmarshal(e.Data, &p) == nil:
			if received = p.Text; p.Thinking != "let me see" || p.Entry == "" {
				t.Errorf("it receives %s", e.Data)
			}
			go func() {
				pieces <- "world"
				close(pieces)
			}()
		case e.Name == wire.DeltaText && json.Unmarshal(e.Data, &d) == nil:
			received += d.Text
		}
		if e.Name == wire.TurnCompleted {
			break
		}
	}
	if received != "Hello world" || names[0] != wire.TurnStarted || names[1] != wire.TurnPartial {
		t.Errorf("received %q, in %v", received, names)
	}
}

// listen joins a plain stream during an answer and signals when it has. It returns the
// answer as received: the earlier text, the pieces, and the entry itself.
func (s *stage) listen(t *testing.T, joined chan<- struct{}) string {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	received, whole := "", ""
	for e, err := range s.c.Events(ctx, s.id, 0) {
		var d wire.Delta
		var p wire.Partial
		var entry wire.Entry
		switch {
		case err != nil:
			t.Errorf("the stream broke: %v", err)
			return ""
		case e.Name == wire.TurnPartial && json.Unmarshal(e.Data, &p) == nil:
			received = p.Text
			close(joined)
		case e.Name == wire.DeltaText && json.Unmarshal(e.Data, &d) == nil:
			received += d.Text
		case e.Name == wire.EntryAppended && json.Unmarshal(e.Data, &entry) == nil && strings.Contains(string(entry.Line), `"assistant"`):
			var line struct {
				Message struct{ Content []struct{ Text string } }
			}
			if err := json.Unmarshal(entry.Line, &line); err != nil {
				t.Errorf("%s: %v", entry.Line, err)
			}
			for _, c := range line.Message.Content {
				whole += c.Text
			}
		case e.Name == wire.TurnCompleted:
			if !strings.HasPrefix(whole, received) || received == "" {
				t.Errorf("received %q of %q", received, whole)
			}
			return whole
		}
	}
	return received
}

// TestReloadWhileAToolRuns checks that a running tool call is sent to new listeners until
// it is done.
func TestReloadWhileAToolRuns(t *testing.T) {
	s := openStage(t)
	calls, last := make(chan string), make(chan string)
	s.answers <- calls
	s.answers <- last
	s.send(t, "wait a little")
	calls <- "I wait."
	calls <- "@call_1"
	close(calls)
	first := &screen{}
	s.watch(t, first, func() bool { return len(first.tools) == 1 })
	page, once := &screen{}, sync.Once{}
	s.watch(t, page, func() bool {
		if len(page.tools) == 1 {
			once.Do(func() {
				close(s.tools)
				go func() {
					last <- "Done."
					close(last)
				}()
			})
		}
		return page.ends == 1
	})
	var roles []string
	for _, c := range page.cards {
		if c.Role != "" {
			roles = append(roles, c.Role)
		}
	}
	if len(first.wrong)+len(page.wrong) > 0 || strings.Join(roles[:3], " ") != "user assistant tool" {
		t.Errorf("%v %+v", roles, page)
	}
}

// TestManyReloads checks that pages are consistent whenever they join.
func TestManyReloads(t *testing.T) {
	s := openStage(t)
	var all sync.WaitGroup
	for round := range 3 {
		pieces := make(chan string)
		s.answers <- pieces
		s.send(t, fmt.Sprintf("round %d", round))
		for i := range 120 {
			if i%6 == 0 {
				page := &screen{}
				all.Go(func() {
					s.watch(t, page, func() bool { return page.ends > 0 || len(page.cards) > 2*round+2 && !page.running })
					if len(page.wrong) > 0 {
						t.Error(errors.New(strings.Join(page.wrong, "; ")))
					}
				})
			}
			pieces <- fmt.Sprintf("piece %d, ", i)
			if i%20 == 19 {
				pieces <- "\n\n"
			}
		}
		close(pieces)
		all.Wait()
	}
}
