package provider

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"firn.dev"
)

// Backoff configures retries. The zero value retries up to three times, after about 2, 4
// and 8 seconds.
type Backoff struct {
	// Retries is the maximum number of retries; zero means 3, a negative value none.
	Retries int
	// Base is the first delay, which doubles with each retry; zero means 2 seconds. Max
	// limits the delay; zero means one minute. If the provider requests a longer delay than
	// Max, there is no retry.
	Base, Max time.Duration
}

func (b Backoff) retries() int {
	if b.Retries == 0 {
		return 3
	}
	return max(b.Retries, 0)
}

// delay returns the delay before the given retry, counted from 1, for a random r in [0, 1).
// It returns false if the provider requests a delay that is too long.
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
	// Jitter between half and the full delay, so that clients that failed together do not
	// retry together.
	d -= time.Duration(r * float64(d/2))
	return max(d, after), true
}

// Ask sends a request to a model, retries temporary failures, and returns the complete
// answer. Observe, if not nil, is called with every event except Done; an error that it
// returns ends the request and is returned. After a [Retrying] event the answer starts
// over. If ctx is done, the error wraps its cause.
func Ask(ctx context.Context, m Model, req Request, backoff Backoff, observe func(Event) error) (firn.Message, error) {
	if observe == nil {
		observe = func(Event) error { return nil }
	}
	for attempt := 1; ; attempt++ {
		message, watched, err := askOnce(ctx, m, req, observe)
		if err == nil {
			return message, nil
		}
		delay, again := backoff.shouldRetry(ctx, attempt, err)
		if watched || !again {
			return firn.Message{}, err
		}
		if err := observe(Retrying{Attempt: attempt, Retries: backoff.retries(), Delay: delay, Err: err}); err != nil {
			return firn.Message{}, err
		}
		if err := wait(ctx, delay); err != nil {
			return firn.Message{}, canceledError(m.Info().Provider, m.Info().Name, err)
		}
	}
}

// shouldRetry decides whether to retry after a failure, and with what delay.
func (b Backoff) shouldRetry(ctx context.Context, attempt int, err error) (time.Duration, bool) {
	var failure *Error
	if ctx.Err() != nil || attempt > b.retries() || !errors.As(err, &failure) || failure.Kind != Temporary {
		return 0, false
	}
	return b.delay(attempt, failure.RetryAfter, rand.Float64())
}

// askOnce sends one request and requires Done. Watched reports whether the error is the
// observer's.
func askOnce(ctx context.Context, m Model, req Request, observe func(Event) error) (message firn.Message, watched bool, err error) {
	for event, err := range cutAtStop(m.Stream(ctx, req), req.Stop) {
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
		return firn.Message{}, false, canceledError(info.Provider, info.Name, context.Cause(ctx))
	}
	return firn.Message{}, false, &Error{
		Kind: Temporary, Provider: info.Provider, Model: info.Name, Partial: true,
		Err: errors.New("the stream ended before the answer was complete"),
	}
}

// canceledError returns the error for a request that the caller canceled.
func canceledError(provider, model string, cause error) error {
	return fmt.Errorf("%s/%s: %w", provider, model, cause)
}

// wait waits for d or until the context is done.
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
