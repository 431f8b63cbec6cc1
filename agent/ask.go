package agent

import (
	"context"
	"errors"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

// ask sends the window to the model, stores chunks of the answer while it streams and then
// the complete answer. An interrupted answer is stored with a failure mark.
func (t *turn) ask() (firn.Entry, error) {
	req, err := t.request()
	if err != nil {
		return firn.Entry{}, err
	}
	d := newDraft(t.a.Silence)
	message, err := t.streamAnswer(req, d)
	if err != nil {
		return firn.Entry{}, t.storeBroken(d, err)
	}
	if shown := d.filter.held.String(); shown != "" && !t.a.Silence.Silent(message.Text()) {
		t.emit(Delta{Entry: d.id, Text: d.filter.release()})
	}
	message.Time = t.a.now()
	entry := t.withAgent(t.fallen.mark(firn.NewEntry(&message)))
	entry.ID = d.id
	if entry, err = t.storeAnswer(entry); err != nil {
		return firn.Entry{}, err
	}
	t.addUsage(message.Usage)
	t.emitUsage(&message)
	return entry, nil
}

// storeAnswer stores an answer, even if the turn was stopped when it was complete. If the
// user sent a message meanwhile, the answer is marked with the last entry it was based on.
func (t *turn) storeAnswer(entry firn.Entry) (firn.Entry, error) {
	ctx, cancel := cleanupContext(t.ctx)
	defer cancel()
	for {
		if err := t.log.catchUp(ctx); err != nil {
			return entry, err
		}
		kept := []firn.Entry{entry}
		if t.log.newInput {
			kept[0] = window.WithLastSeen(entry, t.path.Head)
		}
		err := t.log.tryAppend(ctx, t.log.st.Append, kept)
		if isConflict(err) {
			continue // a user message may have just been added
		}
		if err == nil {
			t.emit(Appended{Entry: kept[0], End: t.log.end})
		}
		return kept[0], err
	}
}

// streamAnswer calls the model and processes its events until the answer is complete.
func (t *turn) streamAnswer(req provider.Request, d *draft) (firn.Message, error) {
	s := t.startStream(req)
	defer s.cancel()
	ticker := time.NewTicker(draftEvery)
	defer ticker.Stop()
	for {
		select {
		case e := <-s.events:
			if err := t.handleEvent(d, e); err != nil {
				return firn.Message{}, err
			}
		case <-ticker.C:
			if p := d.take(); !p.empty() {
				if err := t.log.appendDeferred(t.ctx, p.entry()); err != nil {
					return firn.Message{}, err
				}
			}
		case <-s.done:
			return s.message, s.err
		}
	}
}

// handleEvent processes one event of an answer.
func (t *turn) handleEvent(d *draft, e provider.Event) error {
	retry, ok := e.(provider.Retrying)
	if !ok {
		if shown, ok := d.add(e); ok {
			t.emit(shown)
		}
		return nil
	}
	if parts := d.whole.Parts(); len(parts) > 0 {
		if err := t.storePartial(t.ctx, d.id, firn.StopError, parts, retry.Err); err != nil {
			return err
		}
	}
	*d = *newDraft(t.a.Silence)
	t.emit(Retrying{retry})
	return nil
}

// storeBroken stores an incomplete answer and returns the cause.
func (t *turn) storeBroken(d *draft, err error) error {
	stop := firn.StopError
	if cause := context.Cause(t.ctx); cause != nil {
		err, stop = cause, firn.StopAborted
	}
	if errors.Is(err, ErrFenced) {
		return err // the new owner marks the partial answer
	}
	if parts := d.whole.Parts(); len(parts) > 0 {
		ctx, cancel := cleanupContext(t.ctx)
		defer cancel()
		if saveErr := t.storePartial(ctx, d.id, stop, parts, err); saveErr != nil {
			return saveErr
		}
	}
	return err
}

// storePartial stores an incomplete answer under the ID of its draft, with a failure mark.
func (t *turn) storePartial(ctx context.Context, id firn.EntryID, stop firn.StopReason, parts []firn.Part, why error) error {
	entry := t.failureEntry(stop, parts, why)
	entry.ID = id
	if err := t.store(ctx, entry); err != nil {
		return err
	}
	t.emit(Interrupted{Entry: entry.ID, Err: why})
	return nil
}

// answerStream is a running model call. It runs in its own goroutine so that the turn can
// store chunks and react to cancellation.
type answerStream struct {
	events  chan provider.Event
	done    chan struct{}
	cancel  context.CancelFunc
	message firn.Message
	err     error
}

func (t *turn) startStream(req provider.Request) *answerStream {
	ctx, cancel := context.WithCancel(t.ctx)
	s := &answerStream{events: make(chan provider.Event), done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(s.done)
		s.message, s.err = provider.Ask(ctx, guardedModel{t.model}, req, t.a.Backoff, s.forward(ctx))
	}()
	return s
}

// forward passes events to the turn.
func (s *answerStream) forward(ctx context.Context) func(provider.Event) error {
	return func(e provider.Event) error {
		select {
		case s.events <- e:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// addUsage adds the usage of an answer to that of the turn.
func (t *turn) addUsage(u *firn.Usage) {
	if u != nil {
		t.out.Usage = addUsages(t.out.Usage, *u)
	}
}

// emitUsage reports how full the window is after an answer.
func (t *turn) emitUsage(m *firn.Message) {
	usage := WindowUsage{Window: t.info.Window, Usage: m.Usage}
	if m.Usage != nil {
		usage.Tokens = m.Usage.Context()
	}
	if usage.Tokens == 0 {
		usage.Tokens = t.fit.tokens + t.a.counter().CountMessage(m)
		usage.Estimated = true
	}
	t.emit(usage)
	(fitter{t}).warnWindow(usage)
}
