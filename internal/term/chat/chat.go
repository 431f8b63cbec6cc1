// Package chat is a conversation in a terminal, line by line.
//
// It is a client of the gateway: what the user types is said in a session, and
// what happens there is shown as it happens. What begins with a slash is a
// command to the chat itself. Answers go to stdout and nothing else does; all
// talk about them goes to stderr. What was said is on disk before it is
// answered, so there is nothing to save at the end, and a chat that was killed
// goes on where it was.
//
// The package keeps no state of its own between two runs but what was typed, and
// opens no session: it asks the gateway. At a terminal, lines can be edited and
// answers are set as they come; see packages line and markdown. Everything that
// a model or a tool says is made harmless before it is shown there.
package chat

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/disk/history"
	"firn.dev/internal/term/line"
	"firn.dev/wire"
)

// Options says who talks, where and with what. Client and the streams must be
// given; the rest has good zero values.
type Options struct {
	Client *client.Client
	// Agent is who is talked to; empty means the agent of the session or key. In a
	// session that is resumed it answers instead of the session's agent.
	Agent string
	// Continue goes on with the agent's latest session, Resume with the one that
	// is named; else it is the one that Key points at, which is begun if it is
	// not there. An empty key means agent:<agent>:main.
	Continue bool
	Resume   string
	Key      string
	// At names an entry that the session goes on from; empty means its head.
	At string
	// Ephemeral says that nothing is saved: the sessions are in memory.
	Ephemeral bool
	// Model is PROVIDER/MODEL and Thinking a level. If given, the session
	// remembers them.
	Model, Thinking string

	// Workspace is the directory that a session is begun for; Files says in words
	// what the tools may touch. Both may be empty.
	Workspace, Files string
	// User is the user's own directory, which is shown as ~; empty if not known.
	User string
	// Providers are those that can be named, KeyOf the variable with the key of
	// one. They are for hints and may be nil.
	Providers []string
	KeyOf     func(provider string) string
	// Remember notes something for an agent, Forget takes away what was noted, and
	// both say what they did. Notes looks for what was noted, or without words
	// lists the notes. They may be nil.
	Remember func(ctx context.Context, agent, text string) (string, error)
	Forget   func(ctx context.Context, agent, what string) (string, error)
	Notes    func(ctx context.Context, agent, query string, limit int) ([]Hit, error)

	// Export writes a session to a new file as another tool would have written it,
	// Handoff into the folder of that tool; they say in lines what came of it. Nil:
	// it cannot be done from here.
	Export  func(ctx context.Context, id firn.ID, format, file string) (string, error)
	Handoff func(ctx context.Context, id firn.ID, tool string) (string, error)

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Terminal       Terminal
	// Device is the terminal that Stdin and Stderr are, if lines can be edited
	// there; nil if not. History is what was typed before; it may be nil.
	Device  *line.Device
	History *history.History

	// Prompt is said first; empty means nothing.
	Prompt string
	// Presses tells each press of Ctrl-C. When the user insists, Release is
	// called, after which a press ends the process. Both may be nil.
	Presses <-chan os.Signal
	Release func()
	// Reports are sentences about what is out of order, to be told when nothing
	// else is. It may be nil.
	Reports *Reports
}

// Terminal says which of the streams somebody sits at, and whether it shows
// styles: dim text and the like.
type Terminal struct {
	In, Out, Err bool
	Dim          bool
}

// Hit is something that was found.
type Hit struct {
	// Source is what it was found in, Where the place in it, which may be empty.
	Source, Where string
	Text          string
	// Time is when it was said, zero if that is not known.
	Time time.Time
}

// NothingSaved says what an ephemeral chat is.
const NothingSaved = "this chat is ephemeral: nothing of it is saved"

// Reports gathers sentences from any goroutine until they can be told.
type Reports struct {
	mu   sync.Mutex
	said []string
}

// Add adds a sentence.
func (r *Reports) Add(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, message)
}

// Take returns what was added since it was last asked.
func (r *Reports) Take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := r.said
	r.said = nil
	return said
}

// Run talks until the user ends it: nil if they said so or the input ended, a
// [*Problem] that is context.Canceled if they pressed Ctrl-C. When ctx ends, a
// turn that runs is stopped and recorded, and the error is the context's.
func Run(ctx context.Context, o Options) (err error) {
	c, err := open(ctx, o)
	if err != nil {
		return advise(err, o)
	}
	c.sit()
	defer func() { err = errors.Join(err, c.leave()) }()
	defer c.tellReports()
	if err := c.begin(ctx); err != nil {
		return advise(err, o)
	}
	return c.loop(ctx)
}

// begin goes to where the conversation is to go on, and says where that is.
func (c *chat) begin(ctx context.Context) error {
	if err := c.goAt(ctx); err != nil {
		return err
	}
	return c.greet(ctx)
}

// sit takes the terminal over, if there is one that lines can be edited at. If
// that fails, lines are read as they come.
func (c *chat) sit() {
	if c.o.Device == nil {
		return
	}
	term, err := line.Open(*c.o.Device, line.Options{
		Prompt: promptSign, More: "  ", History: c.o.History, Complete: c.complete, Styles: c.o.Terminal.Dim, Report: c.reports.Add,
	})
	if err != nil {
		c.reports.Add(err.Error())
		return
	}
	c.term, c.screen = term, newBoard(term, c.o)
}

// leave gives the terminal back.
func (c *chat) leave() error {
	if c.term == nil {
		return nil
	}
	return c.term.Close()
}

// Answer is what came of one question.
type Answer struct {
	Session firn.ID      `json:"session"`
	Entry   firn.EntryID `json:"entry"`
	Model   string       `json:"model"`
	Text    string       `json:"answer"`
	// Silent says that the agent has nothing to tell the user. Text is empty then.
	Silent bool   `json:"silent"`
	Stop   string `json:"stopReason"`
	// Rounds is how often the model was asked, Calls how many tools ran.
	Rounds int   `json:"rounds"`
	Calls  int   `json:"toolCalls"`
	Usage  Usage `json:"usage"`
	// Damage is what the model was not sent because it could not be read, and
	// what is out of place.
	Damage []wire.Damage `json:"damage,omitempty"`
}

// Usage is what an answer used.
type Usage struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Cost       float64 `json:"cost"`
}

// Ask says the prompt and returns the answer. On stderr it tells what is going
// on, if somebody sits there.
func Ask(ctx context.Context, o Options) (Answer, error) {
	c, err := open(ctx, o)
	if err != nil {
		return Answer{}, advise(err, o)
	}
	defer c.tellReports()
	quiet := c.o
	if !o.Terminal.Err {
		quiet.Stderr = io.Discard
	}
	talk := newStreams(quiet)
	c.screen, talk = talk, newStreams(o) // reports are told in any case
	defer func() { c.screen = talk }()
	if err := c.goAt(ctx); err != nil {
		return Answer{}, advise(err, o)
	}
	if err := c.warn(ctx, talk); err != nil {
		return Answer{}, advise(err, o)
	}
	out, err := c.run(ctx, wire.Turn{Text: o.Prompt}, c.newView(true))
	if err != nil {
		return Answer{}, advise(gone(err), o)
	}
	s, err := c.look(ctx)
	if err != nil {
		return Answer{}, advise(err, o)
	}
	answer := Answer{
		Session: c.id, Entry: out.Entry, Model: modelName(s), Text: out.Text, Silent: out.Silent, Stop: out.Stop, Rounds: out.Rounds, Calls: out.Calls,
		Usage: Usage{out.Usage.Input, out.Usage.Output, out.Usage.CacheRead, out.Usage.CacheWrite, out.Usage.Cost},
	}
	if out.Silent {
		answer.Text = ""
	}
	if s.State != nil {
		answer.Damage = s.State.Damage
	}
	return answer, nil
}

// chat is a conversation while it goes on.
type chat struct {
	o      Options
	client *client.Client
	screen screen
	// term is the terminal that lines are edited at; nil if there is none.
	term *line.Terminal
	// id is the session that is talked in, key what points at it or did last,
	// name the agent's.
	id   firn.ID
	key  string
	name string
	// answerer is the agent that answers instead; empty means the session's.
	answerer string

	reports *Reports
	events  <-chan line.Event
	queue   []message
	// over says that the user wants to go, pressed that they insisted, ended that
	// nothing more will be typed.
	over, pressed, ended bool
	// wordy says that the user wants to be told more.
	wordy bool
	now   func() time.Time
}

// open finds the session to talk in.
func open(ctx context.Context, o Options) (*chat, error) {
	c := newChat(o)
	if err := CheckThinking(o.Thinking); err != nil {
		return nil, err
	}
	if err := c.choose(ctx); err != nil {
		return nil, err
	}
	return c, c.insist(ctx)
}

func newChat(o Options) *chat {
	c := &chat{o: o, client: o.Client, screen: newStreams(o), now: time.Now, reports: o.Reports}
	if c.reports == nil {
		c.reports = &Reports{}
	}
	return c
}

// insist lets the session remember the model and the level of thinking that
// were asked for, unless it has them already.
func (c *chat) insist(ctx context.Context) error {
	s, err := c.look(ctx)
	if err != nil {
		return err
	}
	c.wordy = s.State != nil && s.State.Verbose == "on"
	var p wire.Patch
	if c.o.Model != "" && modelName(s) != c.o.Model {
		p.Model = &c.o.Model
	}
	if c.o.Thinking != "" && (s.State == nil || s.State.Thinking != c.o.Thinking) {
		p.Thinking = &c.o.Thinking
	}
	if p == (wire.Patch{}) {
		return nil
	}
	_, err = c.client.Patch(ctx, c.id, p)
	return err
}
