package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/ops/sessionsync"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// Times of a watch.
const (
	// watchEvery is the time between two syncs, unless a flag sets it.
	watchEvery = 30 * time.Second
	// watchQuiet is the time from a change to the sync, in which further changes join it.
	watchQuiet = 2 * time.Second
	// watchLongest is the longest time until a target that failed is tried again.
	watchLongest = 15 * time.Minute
	// watchGateway is the time between two searches for a gateway.
	watchGateway = 5 * time.Second
)

// watched is a target that is synced again and again.
type watched struct {
	name string
	// next is when it is synced next.
	next time.Time
	// failures counts the failures since the last success, failed is the last one.
	failures int
	failed   string
	// problems are those of the last sync.
	problems []string
	// removed is true after the target was removed from the configuration.
	removed bool
}

// errTargetRemoved is the error of a target that was removed while it was in use.
var errTargetRemoved error = &hinted{failure.Of(firn.ErrNotFound, "the target was removed"), "to list targets: firn sync status"}

// succeed records a sync and returns its text: what is new, and problems that are not those of
// the last sync. It is empty if there is nothing to say.
func (w *watched) succeed(r *sessionsync.Report, now time.Time, every time.Duration) string {
	again, known := w.failures > 0, slices.Equal(w.problems, r.Problems)
	w.next, w.failures, w.failed, w.problems = now.Add(every), 0, "", r.Problems
	nothing := r.Imported+r.Published+r.Marked+r.Notes == 0 && r.Bytes == 0
	if nothing && known && again {
		return w.name + ": works again\n"
	}
	if nothing && known {
		return ""
	}
	shown := *r
	if known {
		shown.Problems = nil
	}
	return syncText([]*sessionsync.Report{&shown})
}

// fail records a failure and returns its text, unless it is that of the last one. Each further
// try waits twice as long.
func (w *watched) fail(err error, now time.Time, every time.Duration) string {
	pause := every
	for range w.failures {
		pause = min(2*pause, max(watchLongest, every))
	}
	w.failures++
	w.next = now.Add(pause)
	if text := err.Error(); text != w.failed {
		w.failed = text
		return fmt.Sprintf("sync with %s: %s; retrying\n", w.name, prose.Clean(text))
	}
	return ""
}

// changed records that sessions of this home changed. A target that fails is not tried earlier.
func (w *watched) changed(now time.Time) {
	if soon := now.Add(watchQuiet); w.failures == 0 && soon.Before(w.next) {
		w.next = soon
	}
}

// watchTargets syncs until the context ends: at intervals, and soon after sessions of this home
// changed, if a gateway reports that.
func (p syncCommands) watchTargets(ctx context.Context, r *syncRun, every time.Duration) error {
	changes := make(chan struct{}, 1)
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(done)
		p.reportChanges(ctx, changes)
	}()
	defer func() { cancel(); <-done }()
	var all []*watched
	for _, name := range r.names {
		all = append(all, &watched{name: name})
	}
	for {
		if err := p.syncDue(ctx, r, all, every); err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(w *watched) bool { return w.removed })
		if len(all) == 0 {
			return errTargetRemoved
		}
		next := slices.MinFunc(all, func(a, b *watched) int { return a.next.Compare(b.next) }).next
		timer := time.NewTimer(next.Sub(p.now()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-changes:
			timer.Stop()
			for _, w := range all {
				w.changed(p.now())
			}
		case <-timer.C:
		}
	}
}

// syncDue syncs with the targets whose time has come, and prints what is new.
func (p syncCommands) syncDue(ctx context.Context, r *syncRun, all []*watched, every time.Duration) error {
	due := slices.DeleteFunc(slices.Clone(all), func(w *watched) bool { return w.next.After(p.now()) })
	if len(due) == 0 {
		return nil
	}
	c, release, err := p.connect(ctx, GatewayOptions{Report: func(string) {}})
	for _, w := range due {
		var report *sessionsync.Report
		failed := err
		if err == nil {
			report, failed = p.syncOne(ctx, r, c, w.name)
		}
		if ctx.Err() != nil {
			break
		}
		if err := p.printWatched(w, report, failed, every); err != nil {
			return errors.Join(err, closeIfOpen(release))
		}
	}
	return closeIfOpen(release)
}

func closeIfOpen(release func() error) error {
	if release == nil {
		return nil
	}
	return release()
}

// printWatched prints the result of one sync of a watch.
func (p syncCommands) printWatched(w *watched, report *sessionsync.Report, failed error, every time.Duration) error {
	if failed == nil {
		if text := w.succeed(report, p.now(), every); text != "" {
			return p.print([]*sessionsync.Report{report}, func() string { return text })
		}
		return nil
	}
	if w.removed = errors.Is(failed, errTargetRemoved); w.removed {
		fmt.Fprintf(p.stderr, "sync with %s ends: it was removed\n", w.name)
		return nil
	}
	text := w.fail(failed, p.now(), every)
	if text != "" {
		if hint := classify(failed).hint; hint != "" {
			text += "hint: " + hint + "\n"
		}
		fmt.Fprint(p.stderr, text)
	}
	return nil
}

// reportChanges sends on a channel when sessions of this home change, as long as a gateway
// serves it. Without one, there are only the intervals.
func (p syncCommands) reportChanges(ctx context.Context, changes chan<- struct{}) {
	settings, err := p.settings()
	for err == nil && ctx.Err() == nil {
		if address, ok := client.Find(ctx, settings.Home, nil); ok {
			if c, err := p.dial(address, settings); err == nil {
				followChanges(ctx, c, changes)
				_ = c.Close() // nothing is lost
			}
		}
		timer := time.NewTimer(watchGateway)
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
}

// followChanges sends on a channel when a gateway reports a change, until it ends.
func followChanges(ctx context.Context, c *client.Client, changes chan<- struct{}) {
	for e, err := range c.AllEvents(ctx) {
		if err != nil || e.Name == wire.Bye {
			return
		}
		switch e.Name {
		case wire.DeltaText, wire.DeltaThinking, wire.TurnPartial, wire.ToolProgress:
			continue // nothing was stored
		}
		select {
		case changes <- struct{}{}:
		default: // one is waiting
		}
	}
}

// rateText is the form of a bandwidth.
var rateText = pattern.New(`^(?i)([0-9]+(?:\.[0-9]+)?) ?([kmg]?)(i?)b?(?:/s)?$`)

// parseRate reads a bandwidth such as 1MB/s, in bytes per second; 0 if there is no limit.
func parseRate(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	m := rateText().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return 0, &hinted{failure.Of(firn.ErrInvalid, "--limit %.60q is not a bandwidth", text), "use a number of bytes per second, such as 500kB/s or 2MB/s"}
	}
	value, err := strconv.ParseFloat(m[1], 64)
	step := 1000.0
	if m[3] != "" {
		step = 1024
	}
	for range strings.Index("kmg", strings.ToLower(m[2])) + min(len(m[2]), 1) {
		value *= step
	}
	if err != nil || value < 1000 || value > 1e15 {
		return 0, &hinted{failure.Of(firn.ErrInvalid, "--limit %.60s is out of range", text), "the lowest limit is 1kB/s"}
	}
	return int64(value), nil
}
