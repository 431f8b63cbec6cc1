package chat

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
	"firn.dev/wire"
)

// message is something to be dealt with: what the user says, or a command.
type message struct {
	text string
	// said: it is no command, whatever it begins with.
	said bool
}

// loop takes one line after the other, until there are no more.
func (c *chat) loop(ctx context.Context) error {
	gone := make(chan struct{})
	defer close(gone)
	if c.term != nil {
		c.events = c.term.Events()
	} else {
		c.events = listen(c.o.Stdin, gone, c.reports.Add)
	}
	if c.o.Prompt != "" {
		c.queue = append(c.queue, message{c.o.Prompt, true})
	}
	for !c.over {
		next, err := c.next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		c.tell(c.handle(ctx, next))
		c.tellReports()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.screen.failure(); err != nil {
			return err
		}
	}
	if c.pressed {
		return c.left()
	}
	return nil
}

// next waits for the next line.
func (c *chat) next(ctx context.Context) (message, error) {
	if len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		c.screen.waits(texts(c.queue))
		if c.term != nil { // else it is on the screen, or was never typed
			c.screen.prompt()
			c.screen.typed(next.text)
		}
		return next, nil
	}
	c.screen.prompt()
	defer c.screen.endPrompt()
	for before := false; !c.ended; {
		l, pressed, err := c.await(ctx)
		if err != nil || l != nil {
			return orNone(l), err
		}
		if pressed && (before || !c.o.Terminal.In || !c.screen.seen()) {
			return message{}, c.left()
		}
		if before = pressed; pressed {
			c.screen.note("(Ctrl-C again leaves, as Ctrl-D does; everything is saved)")
			c.screen.prompt()
		}
	}
	return message{}, io.EOF
}

func orNone(l *message) message {
	if l == nil {
		return message{}
	}
	return *l
}

// await waits for something to happen: a line, or a press of Ctrl-C in an empty
// one. There may be neither: then nothing more comes, or nothing that counts.
func (c *chat) await(ctx context.Context) (l *message, pressed bool, err error) {
	select {
	case e, ok := <-c.events:
		switch {
		case !ok, e.Kind == line.End:
			c.ended = true
		case e.Kind == line.Interrupt && e.Text != "":
			c.term.Clear()
		case e.Kind == line.Interrupt:
			return nil, true, nil
		case c.term == nil || strings.TrimSpace(e.Text) != "":
			c.screen.typed(e.Text)
			return &message{text: e.Text}, false, nil
		}
	case <-c.o.Presses:
		return nil, true, nil
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	return nil, false, nil
}

// texts are the texts of messages.
func texts(messages []message) []string {
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = m.text
	}
	return all
}

// left is the error of a chat that Ctrl-C ended.
func (c *chat) left() error {
	return &Problem{Err: context.Canceled, Hint: "everything that was said is saved; firn chat goes on with it"}
}

// handle deals with a line. What it returns is for the user to know; the chat
// goes on.
func (c *chat) handle(ctx context.Context, l message) error {
	text := strings.TrimSpace(l.text)
	if text == "" {
		return nil
	}
	if rest, ok := strings.CutPrefix(text, "/"); ok && !l.said && !strings.HasPrefix(rest, "/") {
		return c.command(ctx, rest)
	}
	if !l.said {
		text = strings.TrimPrefix(text, "/") // two of them say that it is no command
	}
	return c.turn(ctx, wire.Turn{Text: text})
}

// turn runs a turn and shows it.
func (c *chat) turn(ctx context.Context, t wire.Turn) error {
	return c.attend(ctx, func(ctx context.Context) error { return c.converse(ctx, t) })
}

// converse runs a turn, shows it, and tells how the session is then.
func (c *chat) converse(ctx context.Context, t wire.Turn) error {
	answer, err := c.run(ctx, t, c.newView(false))
	if err == nil {
		c.tellState(ctx, answer)
	}
	return err
}

// ownTurn is what becomes of a message that comes while somebody else's turn
// runs in the session: it has a turn of its own as soon as that is over. Who
// types is to be answered, not to be joined with what others said meanwhile.
const ownTurn = "followup"

// run runs a turn, lets a view see what happens, and returns how it ended. When
// ctx ends, or nobody reads any more, the turn is stopped, which is waited for:
// what was said so far is on record then.
func (c *chat) run(ctx context.Context, t wire.Turn, v *view) (wire.Answer, error) {
	var answer wire.Answer
	defer v.end()
	if t.Text != "" {
		t.Queue = ownTurn
	}
	t.Agent = c.answerer
	whole := context.WithoutCancel(ctx)
	unread, over := make(chan struct{}), make(chan struct{})
	var watch sync.WaitGroup
	defer watch.Wait()
	defer close(over)
	watch.Go(func() {
		select {
		case <-ctx.Done():
		case <-unread:
		case <-over:
			return
		}
		c.halt(whole, over)
	})
	tell := sync.OnceFunc(func() { close(unread) })
	t.CWD = c.o.Workspace
	for e, err := range c.client.StreamTurn(whole, c.id, t) {
		if err != nil {
			return answer, ended(ctx, c.screen.failure(), err)
		}
		if e.Name == wire.TurnCompleted {
			answer = dataOf[wire.Answer](e)
		}
		v.event(e)
		if c.screen.failure() != nil {
			tell()
		}
	}
	return answer, c.screen.failure()
}

// again is after what time a turn is told once more to stop that had not begun
// when it was told.
const again = 20 * time.Millisecond

// halt stops the turn that runs, until it is over.
func (c *chat) halt(ctx context.Context, over <-chan struct{}) {
	for {
		stopped, err := c.client.Stop(ctx, c.id)
		if err != nil {
			c.reports.Add("the turn could not be stopped: " + err.Error())
		}
		if err != nil || stopped {
			return
		}
		timer := time.NewTimer(again)
		select {
		case <-over:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// ended is why a turn ended without an answer: it was stopped, nobody reads any
// more, or it failed.
func ended(ctx context.Context, unread, failed error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if unread != nil {
		return unread
	}
	return failed
}

// attend waits for something that takes its time. Meanwhile /stop and Ctrl-C
// stop it, a second Ctrl-C ends the chat too, and all other lines wait.
func (c *chat) attend(ctx context.Context, work func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	c.screen.busy(true)
	defer c.screen.busy(false)
	go func() { done <- work(ctx) }()
	stopped := false
	stop := func() {
		if stopped {
			c.insisted()
		}
		stopped = true
		cancel(errStopped)
	}
	for {
		select {
		case err := <-done:
			return err
		case e, ok := <-c.events:
			switch {
			case !ok:
				c.events, c.ended = nil, true
			case e.Kind == line.End:
				c.ended = true
			case e.Kind == line.Interrupt:
				stop()
			case strings.TrimSpace(e.Text) == "/stop":
				stopped = true
				cancel(errStopped)
			default:
				c.wait(message{text: e.Text})
			}
		case <-c.o.Presses:
			stop()
		}
	}
}

// wait lets a line wait until what runs is done, and tells who sits there.
func (c *chat) wait(l message) {
	if strings.TrimSpace(l.text) == "" {
		return
	}
	c.queue = append(c.queue, l)
	c.screen.waits(texts(c.queue))
}

// insisted notices that Ctrl-C was pressed again: the chat ends as soon as what
// was stopped has ended, and a further press ends the process.
func (c *chat) insisted() {
	c.over, c.pressed = true, true
	if err := c.leave(); err != nil {
		c.reports.Add(err.Error())
	}
	if c.o.Release != nil {
		c.o.Release()
	}
}

// tell tells the user of an error, if there is one, and what can be done.
func (c *chat) tell(err error) {
	if err == nil || c.screen.failure() != nil {
		return
	}
	err = advise(gone(err), c.o)
	var p *Problem
	hint := ""
	if errors.As(err, &p) {
		hint = p.Hint
	}
	c.screen.problem(err, hint)
}

// tellReports tells what the store found out of order.
func (c *chat) tellReports() {
	for _, report := range c.reports.Take() {
		c.screen.say("note: %s", prose.Clean(report))
	}
}

// listen reads lines beside everything else, until the input ends or nobody
// wants them any more. A line that ends with a backslash goes on in the next
// one. A read from a terminal cannot be called off, so when the chat ends
// before its input does, the goroutine ends with the next line or with the
// process.
func listen(input io.Reader, gone <-chan struct{}, report func(string)) <-chan line.Event {
	lines := make(chan line.Event)
	if input == nil {
		close(lines)
		return lines
	}
	go func() {
		defer close(lines)
		r := bufio.NewReader(input)
		for {
			text, err := readLine(r)
			if text != "" || err == nil {
				select {
				case lines <- line.Event{Kind: line.Entered, Text: text}:
				case <-gone:
					return
				}
			}
			if err != nil {
				if err != io.EOF {
					report("the input broke off: " + err.Error())
				}
				return
			}
		}
	}()
	return lines
}

// readLine reads a line and those that it goes on in.
func readLine(r *bufio.Reader) (string, error) {
	var whole strings.Builder
	for {
		text, err := r.ReadString('\n')
		text = strings.TrimRight(text, "\r\n")
		more, goesOn := strings.CutSuffix(text, `\`)
		if !goesOn || err != nil {
			whole.WriteString(text)
			return whole.String(), err
		}
		whole.WriteString(more + "\n")
	}
}
