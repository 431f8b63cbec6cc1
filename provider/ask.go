package provider

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"firn"
)

// Backoff says how often and after what time to ask again. The zero value
// asks up to three times more, after about 2, 4 and 8 seconds.
type Backoff struct {
	// Retries is how often to ask again; zero means 3, less than zero never.
	Retries int
	// Base is the first delay, zero means 2 seconds; each later one is double.
	// Max bounds them, zero means a minute. A provider that wants to be left
	// alone for longer than Max is not asked again.
	Base, Max time.Duration
}

func (b Backoff) retries() int {
	if b.Retries == 0 {
		return 3
	}
	return max(b.Retries, 0)
}

// delay is how long to wait before the given retry, counted from 1, for a
// random r in [0, 1). It is false if the provider wants a wait that is too
// long.
func (b Backoff) delay(attempt int, after time.Duration, r float64) (time.Duration, bool) {
	d, most := b.Base, b.Max
	if d <= 0 {
		d = 2 * time.Second
	}
	if most <= 0 {
		most = time.Minute
	}
	if after > most {
		return 0, false
	}
	for ; attempt > 1 && d < most; attempt-- {
		d = min(d, most/2+1) * 2
	}
	d = min(d, most)
	// Between half and all of it, so that those who failed together do not
	// come back together.
	d -= time.Duration(r * float64(d/2))
	return max(d, after), true
}

// Ask asks a model, again if it fails for a while, and returns the whole
// answer. Observe, if not nil, is told of every event but Done; an error it
// returns ends the asking and is returned. After a [Retrying] the answer
// begins anew. When ctx ends, the error wraps its cause.
func Ask(ctx context.Context, m Model, req Request, backoff Backoff, observe func(Event) error) (firn.Message, error) {
	if observe == nil {
		observe = func(Event) error { return nil }
	}
	for attempt := 1; ; attempt++ {
		message, watched, err := askOnce(ctx, m, req, observe)
		if err == nil {
			return message, nil
		}
		delay, again := backoff.again(ctx, attempt, err)
		if watched || !again {
			return firn.Message{}, err
		}
		if err := observe(Retrying{Attempt: attempt, Delay: delay, Err: err}); err != nil {
			return firn.Message{}, err
		}
		if err := wait(ctx, delay); err != nil {
			return firn.Message{}, ended(m.Info().Provider, m.Info().Name, err)
		}
	}
}

// again decides whether to ask again after a failure, and when.
func (b Backoff) again(ctx context.Context, attempt int, err error) (time.Duration, bool) {
	var failure *Error
	if ctx.Err() != nil || attempt > b.retries() || !errors.As(err, &failure) || failure.Kind != Temporary {
		return 0, false
	}
	return b.delay(attempt, failure.After, rand.Float64())
}

// askOnce asks, and wants Done. Watched says that the error is the observer's.
func askOnce(ctx context.Context, m Model, req Request, observe func(Event) error) (message firn.Message, watched bool, err error) {
	for event, err := range m.Stream(ctx, req) {
		if err != nil {
			return firn.Message{}, false, err
		}
		if done, ok := event.(Done); ok {
			return done.Message, false, nil
		}
		if err := observe(event); err != nil {
			return firn.Message{}, true, err
		}
	}
	info := m.Info()
	if ctx.Err() != nil {
		return firn.Message{}, false, ended(info.Provider, info.Name, context.Cause(ctx))
	}
	return firn.Message{}, false, &Error{
		Kind: Temporary, Provider: info.Provider, Model: info.Name, Began: true,
		Err: errors.New("the stream ended before the answer did"),
	}
}

// ended says that the caller ended the asking.
func ended(provider, model string, cause error) error {
	return fmt.Errorf("ask %s/%s: %w", provider, model, cause)
}

// wait waits, unless the context ends first.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
