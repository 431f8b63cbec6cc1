// Package chat is an interactive conversation in a terminal.
//
// It is a client of the gateway: input is sent to a session as messages, and the events of
// the session are shown as they arrive. Lines that begin with a slash are commands. Answers
// are written to stdout and everything else to stderr. Messages are on disk before they are
// answered, so nothing has to be saved at the end and a killed chat can be resumed.
//
// The package keeps no state between runs except the input history, and does not open
// sessions itself. On a terminal it uses package line for editing and package markdown for
// formatting. Output of models and tools is sanitized before it is shown on a terminal.
package chat

import (
	"bufio"
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
	"firn.dev/internal/term/local"
	"firn.dev/wire"
)

// Options configures a chat. Client and the streams are required.
type Options struct {
	Client *client.Client
	// Agent is the agent to talk to; empty means the agent of the session or key. In a
	// resumed session it answers instead of the session's agent.
	Agent string
	// Continue resumes the latest session of the project, Resume the named one, or with "-"
	// the latest of all. Otherwise the session of the key is used, which is created if it
	// does not exist.
	Continue bool
	Resume   string
	// Key is the key of the chat. If it is empty, Project is a directory and the key is
	// agent:<agent>:project:<directory>. If both are empty, it is agent:<agent>:main.
	Key     string
	Project string
	// Repository is the address of the project's git repository. If the project has no
	// session, the chat continues that of the repository from another machine. Empty means
	// that other machines do not matter.
	Repository string
	// New starts another session, to which the key then points. Own starts a session without
	// a key.
	New, Own bool
	// At is the entry from which the session continues; empty means its head.
	At string
	// Ephemeral is true if sessions are kept in memory only.
	Ephemeral bool
	// Approve is the approval mode of messages; empty means the agent's setting, or ask if it
	// has none and the user can be asked.
	Approve string
	// Model is PROVIDER/MODEL and Thinking a level. If set, they replace those of the session
	// in this chat. They are not saved.
	Model, Thinking string

	// Workspace is the working directory of new sessions. Files describes the files that
	// tools may access. Both may be empty.
	Workspace, Files string
	// Host runs the tools of turns in this process, if the gateway is in another one; nil
	// means that the gateway runs them. NoTools disables all tools then.
	Host    client.ToolHost
	NoTools bool
	// Local is the user's machine: files to send, commands, the editor and the clipboard.
	Local local.Machine
	// Home is the home that holds the sessions; empty if the gateway has to be asked, which
	// also lists sessions.
	Home string
	// User is the user's home directory, displayed as ~; empty if unknown.
	User string
	// Providers are the known providers, and KeyOf returns the name of the environment
	// variable with a provider's API key. They are used in hints and may be nil.
	Providers []string
	KeyOf     func(provider string) string
	// ModelNote returns a line about a model: why it is used and how to change it. MissingKey
	// returns the variable of a model's API key if it is not set. Models lists the models: the
	// names of the columns after the first, the models, and their values. ResolveModel returns
	// the model that a name means. KeepModel saves a model for new chats, in this project only
	// or in all, and returns lines that describe the change. They may be nil.
	// NewModel is the model of a new session instead of the agent's; empty means none.
	NewModel     string
	ModelNote    func(model string) string
	MissingKey   func(model string) string
	Models       func(ctx context.Context) (head, ids []string, rows [][]string)
	ResolveModel func(ctx context.Context, name string) (string, error)
	KeepModel    func(ctx context.Context, id string, project bool) (string, error)
	// Remember adds a note for an agent and Forget removes one; both return a description
	// of the change. Notes searches the notes, or lists them if the query is empty. They
	// may be nil.
	Remember func(ctx context.Context, agent, text string) (string, error)
	Forget   func(ctx context.Context, agent, what string) (string, error)
	Notes    func(ctx context.Context, agent, query string, limit int) ([]Hit, error)

	// Export writes a session to a new file in a format; if the format is empty, file is the
	// name of a format or of a file. Handoff writes it into a tool's folder. Both return lines
	// that describe the result. They are nil if not supported.
	Export  func(ctx context.Context, id firn.ID, format, file string) (string, error)
	Handoff func(ctx context.Context, id firn.ID, tool string) (string, error)

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Terminal       Terminal
	// Device is the terminal of Stdin and Stderr, if line editing is possible; nil if not.
	// History is the input history and may be nil.
	Device  *line.Device
	History *history.History
	// Extended is true if the terminal ignores unknown sequences. Palette is the choice of
	// its colors and characters, which follows its background unless FixedColors is set.
	Extended    bool
	Palette     line.Palette
	FixedColors bool
	// Vim edits the input line with the keys of vi.
	Vim bool

	// Prompt is the first message; empty means none.
	Prompt string
	// Presses receives each press of Ctrl-C. After the second press Release is called, so
	// that the next one ends the process. Both may be nil.
	Presses <-chan os.Signal
	Release func()
	// Reports holds warnings to show between turns. It may be nil.
	Reports *Reports
}

// Terminal records which streams are terminals, and whether styles are supported.
type Terminal struct {
	In, Out, Err bool
	Dim          bool
	// Columns is the width of a terminal without line editing; zero if it is not known.
	Columns int
}

// Hit is a search result.
type Hit struct {
	// Source is where the hit was found and Where the position in it, which may be empty.
	Source, Where string
	Text          string
	// Time is the time of the message; zero if unknown.
	Time time.Time
}

// NothingSaved is shown in an ephemeral chat.
const NothingSaved = "ephemeral chat: nothing is saved"

// Reports collects warnings until they can be shown. It is safe for concurrent use.
type Reports struct {
	mu       sync.Mutex
	messages []string
}

// Add adds a warning.
func (r *Reports) Add(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, message)
}

// Take returns and removes the collected warnings.
func (r *Reports) Take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	messages := r.messages
	r.messages = nil
	return messages
}

// Run runs a chat until the user ends it. It returns nil if the user quit or the input
// ended, and a [*Problem] that wraps context.Canceled after Ctrl-C. If ctx is canceled, the
// running turn is stopped and recorded, and the context's error is returned.
func Run(ctx context.Context, o Options) (err error) {
	c := newChat(o)
	defer func() { err = errors.Join(err, c.closeTerminal()) }()
	switch err := c.open(ctx); {
	case err == errNotPicked:
		return nil
	case err != nil:
		return advise(err, o)
	}
	c.openTerminal()
	defer c.showReports()
	if err := c.start(ctx); err != nil {
		return advise(err, o)
	}
	return c.loop(ctx)
}

// start moves to the entry where the conversation continues and prints the greeting.
func (c *chat) start(ctx context.Context) error {
	if err := c.moveHead(ctx); err != nil {
		return err
	}
	return c.greet(ctx)
}

// openTerminal takes over the terminal, if line editing is possible. On failure, plain
// lines are read.
func (c *chat) openTerminal() {
	if c.o.Device == nil || c.term != nil {
		return
	}
	var b *board // keys are handled before the board is made
	var ready sync.Mutex
	ready.Lock()
	defer ready.Unlock()
	term, err := line.Open(*c.o.Device, line.Options{
		Prompt: promptSign, More: "  ", History: c.o.History, Complete: c.complete, Styles: c.o.Terminal.Dim, Report: c.reports.Add,
		Unfold: func() {
			ready.Lock()
			defer ready.Unlock()
			if b != nil {
				b.unfold()
			}
		},
		Suggest: typing{c}.suggest, Paste: typing{c}.pasted, Extended: c.o.Extended, Palette: c.o.Palette, FixedColors: c.o.FixedColors, Vim: c.o.Vim,
	})
	if err != nil {
		c.reports.Add(err.Error())
		return
	}
	b = newBoard(term, c.o)
	c.term, c.screen = term, b
	c.project.changed = term.Refresh
}

// closeTerminal restores the terminal.
func (c *chat) closeTerminal() error {
	if c.term == nil {
		return nil
	}
	c.project.close()
	return c.term.Close()
}

// chat is a running conversation.
type chat struct {
	o      Options
	client *client.Client
	screen screen
	// term is the terminal with line editing; nil if there is none.
	term *line.Terminal
	// id is the current session, key the key that points or last pointed at it, and name
	// the agent's name. If planned is set, the session does not exist yet and id is empty.
	id      firn.ID
	planned *planned
	key     string
	shared  sharedProject
	name    string
	// answerer is the agent that answers instead of the session's; empty if none. model and
	// thinking replace those of the session; empty if they do not.
	answerer        string
	model, thinking string

	reports *Reports
	watch   watcher
	// approvals are the calls that wait for an answer. stdin is used to read one without
	// the loop; nil before.
	approvals *approvals
	stdin     *bufio.Reader
	// looping is set when input is read in a loop, before the first turn.
	looping bool
	events  <-chan line.Event
	queue   []message
	// over is true if the user wants to quit, pressed if that was with Ctrl-C, and ended if
	// there is no more input.
	over, pressed, ended bool
	// isVerbose is true if thinking is shown in full.
	isVerbose bool
	now       func() time.Time
	// attached are the images in the input line, project the files to complete, and escaped
	// is true if Escape was pressed at the empty prompt.
	attached attachments
	project  project
	escaped  bool
}

// open finds or plans the session.
func (c *chat) open(ctx context.Context) error {
	if err := CheckThinking(c.o.Thinking); err != nil {
		return err
	}
	return opener{c}.choose(ctx)
}

func newChat(o Options) *chat {
	c := &chat{o: o, client: o.Client, screen: newStreams(o), now: time.Now, reports: o.Reports, approvals: newApprovals()}
	c.model, c.thinking = o.Model, o.Thinking
	c.watch.c = c
	if c.reports == nil {
		c.reports = &Reports{}
	}
	c.project.now, c.project.read = c.now, func(ctx context.Context) ([]string, error) {
		files, _, err := o.Local.Files(ctx)
		return files, err
	}
	return c
}

// terms returns the options of a turn: the model and thinking level of this chat, if they
// differ from those of the session.
func (c *chat) terms() *wire.TurnOptions {
	if c.model == "" && c.thinking == "" {
		return nil
	}
	return &wire.TurnOptions{Model: c.model, Thinking: c.thinking}
}
