// Package chat is a conversation in a terminal, line by line.
//
// It puts the parts of the library together: sessions in files, an agent with
// its tools, a model. What the user types is said to the agent; what begins
// with a slash is a command to the chat itself. Answers go to stdout and
// nothing else does; all talk about them goes to stderr. What was said is on
// disk before it is answered, so there is nothing to save at the end, and a
// chat that was killed goes on where it was.
//
// The package keeps no state of its own between two runs, and draws nothing
// but lines. It opens the home itself until there is a gateway to talk to.
package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"firn"
	"firn/agent"
	"firn/provider"
	"firn/store"
	"firn/store/filestore"
	"firn/tool"
)

// Options says who talks, where it is kept and with what. Home, Env and the
// streams must be given; the rest has good zero values.
type Options struct {
	// Home is where sessions are kept.
	Home string
	// Agent is who is talked to; empty means the agent of the session or key.
	Agent string
	// Continue goes on with the agent's latest session, Resume with the one that
	// is named; else it is the one that Key points at, which is begun if it is
	// not there. An empty key means agent:<agent>:main.
	Continue bool
	Resume   string
	Key      string
	// Model is PROVIDER/MODEL and Thinking a level. If given, the session
	// remembers them. Default is the model of sessions that chose none; empty
	// means the offline model.
	Model, Thinking, Default string

	// Workspace is the directory whose files the tools see. They may write in it
	// if Write says so. Shell lets the model run commands there. NoTools leaves
	// out all tools.
	Workspace             string
	Write, Shell, NoTools bool

	// Env tells the variables of the environment.
	Env            func(name string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Terminal       Terminal

	// Prompt is said first; empty means nothing.
	Prompt string
	// Presses tells each press of Ctrl-C. When the user insists, Release is
	// called, after which a press ends the process. Both may be nil.
	Presses <-chan os.Signal
	Release func()
}

// Terminal says which of the streams somebody sits at, and whether it shows
// dim text.
type Terminal struct {
	In, Out, Err bool
	Dim          bool
}

// Run talks until the user ends it: nil if they said so or the input ended, a
// [*Problem] that is context.Canceled if they pressed Ctrl-C. When ctx ends, a
// turn that runs is stopped and recorded, and the error is the context's.
func Run(ctx context.Context, o Options) (err error) {
	c, err := open(ctx, o)
	if err != nil {
		return advise(err, o)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.greet(ctx); err != nil {
		return advise(err, o)
	}
	return c.loop(ctx)
}

// Answer is what came of one question.
type Answer struct {
	Session firn.ID      `json:"session"`
	Entry   firn.EntryID `json:"entry"`
	Model   string       `json:"model"`
	Text    string       `json:"answer"`
	// Silent says that the agent has nothing to tell the user. Text is empty then.
	Silent bool            `json:"silent"`
	Stop   firn.StopReason `json:"stopReason"`
	// Rounds is how often the model was asked, Calls how many tools ran.
	Rounds int   `json:"rounds"`
	Calls  int   `json:"toolCalls"`
	Usage  Usage `json:"usage"`
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
func Ask(ctx context.Context, o Options) (answer Answer, err error) {
	c, err := open(ctx, o)
	if err != nil {
		return Answer{}, advise(err, o)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	v := &view{screen: c.screen, quiet: true}
	if !o.Terminal.Err {
		c.screen.talk = io.Discard
	}
	out, err := c.run(ctx, agent.Say(o.Prompt), v)
	c.tellReports()
	if err != nil {
		return Answer{}, advise(err, o)
	}
	info, err := c.model(ctx)
	if err != nil {
		return Answer{}, advise(err, o)
	}
	answer = Answer{
		Session: c.id, Entry: out.Entry, Model: info.Provider + "/" + info.Name,
		Text: out.Text, Silent: out.Silent, Stop: out.Stop, Rounds: out.Rounds, Calls: out.Calls,
		Usage: Usage{out.Usage.Input, out.Usage.Output, out.Usage.CacheRead, out.Usage.CacheWrite, out.Usage.Cost.Total},
	}
	if out.Silent {
		answer.Text = ""
	}
	return answer, nil
}

// chat is a conversation while it goes on.
type chat struct {
	o      Options
	st     store.Store
	models models
	agent  *agent.Agent
	screen *screen
	// id is the session that is talked in, key what points at it or did last.
	id  firn.ID
	key string
	// name is the agent's.
	name string
	// files is what the tools see, notes where the agent's notes are. Both are
	// nil if there are no tools, files also if there is no workspace.
	files, notes *tool.Workspace

	reports reports
	lines   <-chan string
	queue   []line
	// over says that the user wants to go, pressed that they insisted.
	over, pressed bool
	now           func() time.Time
}

// open opens the home, finds the session and puts the agent together. What is
// wrong with the options is found before anything is made.
func open(ctx context.Context, o Options) (*chat, error) {
	c := newChat(o)
	if err := c.check(); err != nil {
		return nil, err
	}
	st, err := filestore.Open(o.Home, filestore.Options{Report: c.reports.add})
	if err != nil {
		return nil, err
	}
	c.st, c.o.Home = st, st.Home()
	if err := c.begin(ctx); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func newChat(o Options) *chat {
	return &chat{o: o, models: newModels(o), screen: newScreen(o), now: time.Now}
}

// begin does what needs the store.
func (c *chat) begin(ctx context.Context) error {
	if err := c.choose(ctx); err != nil {
		return err
	}
	if err := c.wire(); err != nil {
		return err
	}
	return c.insist(ctx)
}

// check refuses options that cannot be.
func (c *chat) check() error {
	for _, name := range []string{c.o.Default, c.o.Model} {
		if _, err := c.models.named(name); err != nil {
			return err
		}
	}
	return checkThinking(c.o.Thinking)
}

// insist lets the session remember the model and the level of thinking that
// were asked for, unless it has them already.
func (c *chat) insist(ctx context.Context) error {
	path, err := c.path(ctx)
	if err != nil {
		return err
	}
	var o agent.Override
	if provider, model, _ := cutModel(c.o.Model); c.o.Model != "" && (path.Chosen.Provider != provider || path.Chosen.Model != model) {
		o.Provider, o.Model = provider, model
	}
	if path.Chosen.ThinkingLevel != c.o.Thinking {
		o.Thinking = provider.Thinking(c.o.Thinking)
	}
	if o == (agent.Override{}) {
		return nil
	}
	return c.agent.Override(ctx, c.id, o)
}

// naming is how long the naming of a session may take when all else is done.
const naming = 3 * time.Second

// close lets go of everything. A session that is just being named gets its
// name if that takes moments only.
func (c *chat) close() error {
	var errs []error
	if c.agent != nil {
		named := make(chan struct{})
		go func() {
			c.agent.Wait()
			close(named)
		}()
		timer := time.NewTimer(naming)
		defer timer.Stop()
		select {
		case <-named:
		case <-timer.C:
		case <-c.o.Presses:
		}
		errs = append(errs, c.agent.Close())
		<-named
	}
	for _, w := range []*tool.Workspace{c.files, c.notes} {
		if w != nil {
			errs = append(errs, w.Close())
		}
	}
	if c.st != nil {
		errs = append(errs, c.st.Close())
	}
	c.tellReports()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("end the chat: %w", err)
	}
	return nil
}
