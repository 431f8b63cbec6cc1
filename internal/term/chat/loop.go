package chat

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
	"firn.dev/wire"
)

// message is input to handle: a message or a command.
type message struct {
	text string
	// literal is true if the text is never a command.
	literal bool
	// short is the text with folded pastes; empty if it has none. picks is true for the
	// rewind of Escape.
	short string
	picks bool
}

// shown returns the text as it was typed.
func (m message) shown() string { return cmp.Or(m.short, m.text) }

// loop handles input line by line until it ends.
func (c *chat) loop(ctx context.Context) error {
	gone := make(chan struct{})
	defer close(gone)
	c.looping = true
	defer c.watch.close()
	if c.term != nil {
		c.events = c.term.Events()
	} else {
		c.events = readEvents(c.o.Stdin, gone, c.reports.Add)
	}
	if c.o.Prompt != "" {
		c.queue = append(c.queue, message{text: c.o.Prompt, literal: true})
	}
	approvalPrompt{c}.resumeApprovals(ctx)
	for !c.over {
		next, err := c.next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		c.showError(c.handle(ctx, next))
		c.showReports()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.screen.failure(); err != nil {
			return err
		}
	}
	if c.pressed {
		return c.interruptError()
	}
	return nil
}

// resumeApprovals continues a turn that was interrupted while a call waited for approval.
func (c approvalPrompt) resumeApprovals(ctx context.Context) {
	if all, err := c.client.Approvals.List(ctx, c.id); err != nil || len(all) == 0 {
		return
	}
	c.screen.note("· a call still waits for your approval")
	c.showError(c.turn(ctx, wire.Turn{}))
	c.showReports()
}

// next returns the next line of input.
func (c *chat) next(ctx context.Context) (message, error) {
	if len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		c.screen.showQueue(texts(c.queue))
		if c.term != nil { // without line editing, the input is already on the screen
			c.screen.prompt()
			c.screen.typed(next.shown())
		}
		return next, nil
	}
	if c.id != c.watch.id && c.planned == nil && c.o.Terminal.In {
		if s, err := c.fetchSession(ctx); err == nil {
			c.watch.follow(ctx, s)
		}
	}
	c.screen.prompt()
	defer c.screen.endPrompt()
	for before := false; !c.ended; {
		l, pressed, err := c.await(ctx)
		if err != nil || l != nil {
			return orNone(l), err
		}
		if pressed && (before || !c.o.Terminal.In || !c.screen.seen()) {
			return message{}, c.interruptError()
		}
		if before = pressed; pressed {
			c.screen.note("(Ctrl-C again exits, as Ctrl-D does; everything is saved)")
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

// await waits for a line, or for Ctrl-C on an empty line. It returns neither if the input
// ended or the event is irrelevant.
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
		case e.Kind == line.Escape:
			if (typing{c}).escapeIdle(e) {
				return &message{text: "/rewind", picks: true}, false, nil
			}
		case typing{c}.lineEvent(ctx, e):
		case c.term == nil || strings.TrimSpace(e.Text) != "":
			m := message{text: e.Text, short: e.Shown}
			c.screen.typed(m.shown())
			return &m, false, nil
		}
	case <-c.o.Presses:
		return nil, true, nil
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	return nil, false, nil
}

// texts returns the texts of messages.
func texts(messages []message) []string {
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = m.shown()
	}
	return all
}

// interruptError returns the error of a chat that was ended with Ctrl-C.
func (c *chat) interruptError() error {
	return &Problem{Err: context.Canceled, Hint: "everything is saved; firn chat resumes it"}
}

// handle handles a line. The returned error is shown to the user; the chat continues.
func (c *chat) handle(ctx context.Context, l message) error {
	text := strings.TrimSpace(l.text)
	if text == "" {
		return nil
	}
	if l.picks {
		return c.runInterruptible(ctx, func(ctx context.Context) error { return branchCommands{c}.pickRewind(ctx) })
	}
	if !l.literal {
		if done, err := (typing{c}).handleTyped(ctx, text); done {
			return err
		}
	}
	if rest, ok := strings.CutPrefix(text, "/"); ok && !l.literal && !strings.HasPrefix(rest, "/") {
		return c.command(ctx, rest)
	}
	if l.literal {
		return c.turn(ctx, wire.Turn{Text: text})
	}
	return c.turn(ctx, typing{c}.compose(strings.TrimPrefix(text, "/"))) // a double slash escapes a command
}

// turn runs a turn interruptibly.
func (c *chat) turn(ctx context.Context, t wire.Turn) error {
	return c.runInterruptible(ctx, func(ctx context.Context) error { return c.runTurn(ctx, t) })
}

// runTurn runs a turn, shows it, and prints the status line.
func (c *chat) runTurn(ctx context.Context, t wire.Turn) error {
	answer, err := c.streamTurn(ctx, t, c.newView(false))
	if err == nil {
		c.showStatus(ctx, answer)
	}
	return err
}

// ownTurn is the queue mode for messages that arrive while another client's turn runs in
// the session. They get a turn of their own after it, so that the user gets a separate
// answer.
const ownTurn = "followup"

// streamTurn runs a turn, passes its events to a view, and returns the answer. If ctx is
// canceled or the output fails, the turn is stopped. streamTurn waits until it has ended
// and the partial answer is recorded.
func (c *chat) streamTurn(ctx context.Context, t wire.Turn, v *view) (wire.Answer, error) {
	var answer wire.Answer
	defer v.end()
	if err := c.ensure(ctx); err != nil {
		return answer, err
	}
	if t.Text != "" || len(t.Images) > 0 {
		t.Queue, t.ID = ownTurn, firn.NewEntryID()
		c.watch.mine(t.ID)
	} else {
		c.watch.retries()
	}
	defer c.watch.release()
	t.Agent, t.Terms = c.answerer, c.terms()
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
		c.stopTurn(whole, over)
	})
	report := sync.OnceFunc(func() { close(unread) })
	t.CWD, t.Approve = c.o.Workspace, approvalPrompt{c}.approveMode()
	defer c.approvals.reset()
	if t.Text == "" {
		approvalPrompt{c}.fetchApprovals(whole)
	}
	for e, err := range turnEvents(whole, c, t) {
		if err != nil {
			return answer, ended(ctx, c.screen.failure(), err)
		}
		if e.Name != wire.TurnQueued {
			c.watch.hold()
		}
		switch e.Name {
		case wire.DeltaText, wire.DeltaThinking:
			c.watch.mine(wire.DataOf[wire.Delta](e).Entry)
		case wire.TurnCompleted:
			answer = wire.DataOf[wire.Answer](e)
		}
		v.event(e)
		approvalPrompt{c}.approvalEvent(whole, e)
		if c.screen.failure() != nil {
			report()
		}
	}
	return answer, c.screen.failure()
}

// stopRetryDelay is the delay before repeating a stop request that arrived before the turn
// had started.
const stopRetryDelay = 20 * time.Millisecond

// stopTurn requests a stop until the turn is stopped or over.
func (c *chat) stopTurn(ctx context.Context, over <-chan struct{}) {
	for {
		stopped, err := c.client.Stop(ctx, c.id)
		if err != nil {
			c.reports.Add("cannot stop the turn: " + err.Error())
		}
		if err != nil || stopped {
			return
		}
		timer := time.NewTimer(stopRetryDelay)
		select {
		case <-over:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// ended returns why a turn ended without an answer: it was stopped, the output failed, or
// the turn failed.
func ended(ctx context.Context, unread, failed error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if unread != nil {
		return unread
	}
	return failed
}

// runInterruptible runs work in the background. Meanwhile /stop and Ctrl-C cancel it, a
// second Ctrl-C also ends the chat, and other lines are queued.
func (c *chat) runInterruptible(ctx context.Context, work func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	c.escaped = false
	c.screen.busy(true)
	defer c.screen.busy(false)
	go func() { done <- work(ctx) }()
	stopped := false
	stop := func() {
		if stopped {
			c.quitAfterStop()
		}
		stopped = true
		cancel(errStopped)
	}
	for {
		select {
		case err := <-done:
			if stopped && errors.Is(err, context.Canceled) {
				return &Problem{Err: errStopped, Hint: "to run it again, press the up arrow"}
			}
			return err
		case e, ok := <-c.events:
			switch {
			case !ok:
				c.events, c.ended = nil, true
				approvalPrompt{c}.consumeAnswers(ctx)
			case e.Kind == line.End:
				c.ended = true
				approvalPrompt{c}.consumeAnswers(ctx)
			case e.Kind == line.Interrupt:
				stop()
			case e.Kind == line.Escape, strings.TrimSpace(e.Text) == "/stop":
				stopped = true
				cancel(errStopped)
			case typing{c}.lineEvent(ctx, e):
			default:
				approvalPrompt{c}.enterDuringTurn(ctx, message{text: e.Text, short: e.Shown})
			}
		case <-c.approvals.arrived:
			approvalPrompt{c}.consumeAnswers(ctx)
		case <-c.o.Presses:
			stop()
		}
	}
}

// enterDuringTurn uses a line as the answer to a question, or queues it.
func (c approvalPrompt) enterDuringTurn(ctx context.Context, m message) {
	if _, asked := c.approvals.current(); !asked || strings.TrimSpace(m.text) == "" {
		c.enqueue(m)
		return
	}
	if c.term != nil {
		c.screen.typed(m.shown())
	}
	c.tryAnswer(ctx, m.text)
}

// enqueue queues a line until the current work is done.
func (c *chat) enqueue(l message) {
	if strings.TrimSpace(l.text) == "" {
		return
	}
	c.queue = append(c.queue, l)
	c.screen.showQueue(texts(c.queue))
}

// quitAfterStop handles the second Ctrl-C: the chat ends as soon as the canceled work has
// ended, and a further press ends the process.
func (c *chat) quitAfterStop() {
	c.over, c.pressed = true, true
	if err := c.closeTerminal(); err != nil {
		c.reports.Add(err.Error())
	}
	if c.o.Release != nil {
		c.o.Release()
	}
}

// showError prints an error with its hint, unless it is nil.
func (c *chat) showError(err error) {
	if err == nil || c.screen.failure() != nil {
		return
	}
	err = advise(withGatewayHint(err), c.o)
	var p *Problem
	hint := ""
	if errors.As(err, &p) {
		hint = p.Hint
	}
	c.screen.problem(err, hint)
}

// showReports prints the collected warnings.
func (c *chat) showReports() {
	for _, report := range c.reports.Take() {
		c.screen.printf("note: %s", prose.Clean(report))
	}
}

// readEvents reads lines in the background until the input ends or gone is closed. A line
// that ends with a backslash continues on the next one. A read from a terminal cannot be
// canceled, so if the chat ends first, the goroutine ends with the next line or with the
// process.
func readEvents(input io.Reader, gone <-chan struct{}, report func(string)) <-chan line.Event {
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
					report("input error: " + err.Error())
				}
				return
			}
		}
	}()
	return lines
}

// readLine reads a line and its continuation lines.
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
