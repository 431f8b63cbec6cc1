package agent

import (
	"context"
	"errors"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

// ask sends the window, keeps the answer while it comes, and stores it. An
// answer that breaks off is stored too, marked.
func (t *turn) ask() (firn.Entry, error) {
	req, err := t.request()
	if err != nil {
		return firn.Entry{}, err
	}
	d := newDraft(t.a.Silence)
	message, err := t.listen(req, d)
	if err != nil {
		return firn.Entry{}, t.broken(d, err)
	}
	if shown := d.hush.held.String(); shown != "" && !t.a.Silence.Silent(message.Text()) {
		t.emit(Delta{Entry: d.id, Text: d.hush.release()})
	}
	message.Time = t.a.now()
	entry := t.attributed(t.fallen.noted(firn.NewEntry(&message)))
	entry.ID = d.id
	if entry, err = t.keep(entry); err != nil {
		return firn.Entry{}, err
	}
	t.spent(message.Usage)
	t.tellUsage(&message)
	return entry, nil
}

// keep stores an answer, even if the turn was stopped the moment it was whole.
// If the user spoke meanwhile, it is marked with the last entry it knew of.
func (t *turn) keep(entry firn.Entry) (firn.Entry, error) {
	ctx, cancel := afterwards(t.ctx)
	defer cancel()
	for {
		if err := t.log.catchUp(ctx); err != nil {
			return entry, err
		}
		kept := []firn.Entry{entry}
		if t.log.heard {
			kept[0] = window.WithKnew(entry, t.path.Head)
		}
		err := t.log.try(ctx, t.log.st.Append, kept)
		if conflicts(err) {
			continue // the user may have spoken this very moment
		}
		if err == nil {
			t.emit(Appended{Entry: kept[0], End: t.log.end})
		}
		return kept[0], err
	}
}

// listen asks and takes in what comes, until the answer is whole.
func (t *turn) listen(req provider.Request, d *draft) (firn.Message, error) {
	s := t.speak(req)
	defer s.cancel()
	ticker := time.NewTicker(draftEvery)
	defer ticker.Stop()
	for {
		select {
		case e := <-s.events:
			if err := t.hear(d, e); err != nil {
				return firn.Message{}, err
			}
		case <-ticker.C:
			if p := d.take(); !p.empty() {
				if err := t.log.note(t.ctx, p.entry()); err != nil {
					return firn.Message{}, err
				}
			}
		case <-s.done:
			return s.message, s.err
		}
	}
}

// hear takes in one event of an answer.
func (t *turn) hear(d *draft, e provider.Event) error {
	retry, ok := e.(provider.Retrying)
	if !ok {
		if shown, ok := d.add(e); ok {
			t.emit(shown)
		}
		return nil
	}
	if parts := d.whole.Parts(); len(parts) > 0 {
		if err := t.interrupted(t.ctx, d.id, firn.StopError, parts, retry.Err); err != nil {
			return err
		}
	}
	*d = *newDraft(t.a.Silence)
	t.emit(Retrying{Attempt: retry.Attempt, Delay: retry.Delay, Err: retry.Err})
	return nil
}

// broken records an answer that did not come whole, and returns why.
func (t *turn) broken(d *draft, err error) error {
	stop := firn.StopError
	if cause := context.Cause(t.ctx); cause != nil {
		err, stop = cause, firn.StopAborted
	}
	if errors.Is(err, ErrFenced) {
		return err // who has the session now marks what is there of the answer
	}
	if parts := d.whole.Parts(); len(parts) > 0 {
		ctx, cancel := afterwards(t.ctx)
		defer cancel()
		if saveErr := t.interrupted(ctx, d.id, stop, parts, err); saveErr != nil {
			return saveErr
		}
	}
	return err
}

// interrupted stores what there was of an answer, marked, by the name it had while
// it came.
func (t *turn) interrupted(ctx context.Context, id firn.EntryID, stop firn.StopReason, parts []firn.Part, why error) error {
	entry := t.failure(stop, parts, why)
	entry.ID = id
	if err := t.store(ctx, entry); err != nil {
		return err
	}
	t.emit(Interrupted{Entry: entry.ID, Err: why})
	return nil
}

// speech is a question on its way to the model, asked beside the turn so that
// the turn can keep what comes, and notice that it was stopped.
type speech struct {
	events  chan provider.Event
	done    chan struct{}
	cancel  context.CancelFunc
	message firn.Message
	err     error
}

func (t *turn) speak(req provider.Request) *speech {
	ctx, cancel := context.WithCancel(t.ctx)
	s := &speech{events: make(chan provider.Event), done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(s.done)
		s.message, s.err = provider.Ask(ctx, steady{t.model}, req, t.a.Backoff, s.pass(ctx))
	}()
	return s
}

// pass hands events over to the turn.
func (s *speech) pass(ctx context.Context) func(provider.Event) error {
	return func(e provider.Event) error {
		select {
		case s.events <- e:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// spent counts what an answer cost.
func (t *turn) spent(u *firn.Usage) {
	if u != nil {
		t.out.Usage = sum(t.out.Usage, *u)
	}
}

// tellUsage tells how full the window is after an answer.
func (t *turn) tellUsage(m *firn.Message) {
	usage := WindowUsage{Window: t.info.Window, Usage: m.Usage}
	if m.Usage != nil {
		usage.Tokens = m.Usage.Context()
	}
	if usage.Tokens == 0 {
		usage.Tokens = t.fit.tokens + t.a.counter().CountMessage(m)
		usage.Estimated = true
	}
	t.emit(usage)
	t.warnOf(usage)
}
