package compact

import (
	"context"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/internal/find/digest"
	"firn.dev/window"
)

// size is the size of a window by its parts, in tokens.
type size struct {
	system, tools, injected, items int64
}

func (s size) total() int64 { return s.system + s.tools + s.injected + s.items }

// sizeOf measures a window, including the fixed parts supplied by the caller.
func (r *run) sizeOf(w window.Window) size {
	s := size{system: max(r.System, w.Tokens.System), tools: r.Tools, items: w.Tokens.Items}
	if len(r.build.Injected) == 0 {
		s.injected = r.Injected
	}
	return s
}

// measure builds the resulting window and measures it.
func (r *run) measure(kept []firn.Entry, summary string) size {
	c := firn.Entry{ID: "compaction", Body: &firn.Compaction{Summary: summary}}
	p := window.Path{Entries: append(slices.Clip(kept), c), Head: c.ID, Compaction: &c}
	return r.sizeOf(window.Build(p, r.build))
}

// choice is a plan with the figures that decide whether it fits.
type choice struct {
	plan Plan
	sections
	// goalText is the user's first request, whether or not its message is kept.
	goalText string
	// history and prefix are the lines to summarize.
	history, prefix []digest.Line
	// files is the number of files that the summary lists.
	files int
	// goal is the size to reach. base is the size with an empty summary. budget is the
	// number of tokens available for the summary.
	goal, base, budget int64

	// The results.
	body, summary string
	strategy      Strategy
	after         int64
}

const (
	// minBody is the minimum useful size of a summary, in tokens.
	minBody = 48
	// maxScale limits the correction for a provider that reports more tokens than the
	// counter.
	maxScale = 4
	// maxFiles is the maximum number of files of each kind that a summary lists.
	maxFiles = 200
)

// choose finds the plan that keeps the most and leaves room for a summary of need tokens;
// zero means the preferred size. The first passes require the size that the provider's
// report implies and room for a good summary. The last pass accepts any room.
func (r *run) choose(ctx context.Context, need int64) (choice, error) {
	plans, err := r.plans()
	if err != nil {
		return choice{}, err
	}
	strict, lax := r.goals()
	files := min(maxFiles, int(max(r.room, 0)/200))
	var last choice
	for _, pass := range []struct {
		goal  int64
		files int
		least bool
	}{{strict, files, false}, {lax, files, false}, {lax, 0, true}} {
		for _, plan := range plans {
			c, err := r.measurePlan(ctx, plan, pass.goal, pass.files)
			if err != nil {
				return choice{}, err
			}
			wanted := r.wanted(plan)
			least := max(minBody, wanted/2)
			if need > 0 {
				wanted, least = need, need
			} else if pass.least {
				least = minBody
			}
			if room := c.goal - c.base; room >= least {
				c.budget = min(wanted, room)
				return c, nil
			}
			last = c
		}
	}
	return choice{}, r.tooBig(last)
}

// plans returns the possible cuts, starting with those that keep the most.
func (r *run) plans() ([]Plan, error) {
	fits := r.assumed <= r.limit
	if r.Reason == Manual && fits && r.path.Compaction != nil && !r.cutter.hasNewMessages() {
		return nil, fmt.Errorf("no messages since the last compaction: %w", ErrNothing)
	}
	var plans []Plan
	for _, keep := range [...]Keep{KeepRecent, KeepTurn, KeepLast, KeepNothing} {
		plan := r.cutter.plan(r.cutter.place(r.keepRecent(r.room), keep))
		plan.Previous, plan.Before = r.path.Compaction, r.before
		if r.cutter.countSeen(0, plan.first) == 0 && (fits || plan.Previous == nil) {
			if r.Reason == Manual && fits {
				break // the whole conversation is smaller than the part to keep
			}
			continue // but a summary that is too large can be shortened
		}
		if n := len(plans); n == 0 || plans[n-1].first < plan.first {
			plans = append(plans, plan)
		}
	}
	if len(plans) > 0 {
		return plans, nil
	}
	if !fits {
		return nil, r.tooBig(choice{plan: Plan{Kept: r.path.Entries}})
	}
	return nil, fmt.Errorf("no messages are older than the ones kept: %w", ErrNothing)
}

// goals returns the sizes to reach, in tokens of the counter. lax is the limit; strict is
// less if the provider reports more than the counter. Both are below the current size, by a
// clear margin after an overflow.
func (r *run) goals() (strict, lax int64) {
	lax = min(r.limit, r.counted-1)
	if r.Reason == Overflow {
		lax = min(r.limit, r.counted*3/4)
	}
	strict = lax
	if r.assumed > r.counted {
		scale := min(float64(r.assumed)/float64(max(r.counted, 1)), maxScale)
		strict = min(lax, int64(float64(r.limit)/scale))
	}
	return strict, lax
}

// wanted returns the preferred size of a summary in tokens: the maximum allowed, but less
// than the entries it replaces.
func (r *run) wanted(plan Plan) int64 {
	wanted := r.output(8)
	if plan.Split {
		wanted += r.output(5)
	}
	worth := plan.Tokens + r.counter.CountText(r.body)
	return max(minBody, min(wanted, r.room*2/5, worth*3/4))
}

// output returns the given number of tenths of the reserve, limited by window and model.
func (r *run) output(tenths int64) int64 {
	out := min(r.reserve(r.window)*tenths/10, r.window/4)
	if r.Model != nil {
		if most := r.Model.Info().MaxOutput; most > 0 {
			out = min(out, most)
		}
	}
	return out
}

// measurePlan measures a plan without the body of its summary.
func (r *run) measurePlan(ctx context.Context, plan Plan, goal int64, files int) (choice, error) {
	c, ok := r.measured[plan.first]
	if !ok {
		var err error
		if c, err = r.load(ctx, plan); err != nil {
			return c, err
		}
		if r.measured == nil {
			r.measured = make(map[int]choice)
		}
		r.measured[plan.first] = c
	}
	c.goal, c.files = goal, files
	c.base = r.measure(plan.Kept, c.compose("", files)).total()
	return c, nil
}

// load collects the input for the summary of a plan.
func (r *run) load(ctx context.Context, plan Plan) (choice, error) {
	c := choice{plan: plan, history: linesOf(plan.Summarize), prefix: linesOf(plan.Prefix)}
	pins, missing := pinned(r.path, plan, r.carried.Pins)
	if err := r.findPins(ctx, missing); err != nil {
		return c, err
	}
	for i, pin := range pins {
		if found, ok := r.found[pin.ID]; ok {
			pins[i] = found
		}
	}
	c.pins = pins
	r.fillRequests(&c)
	c.read, c.modified = r.files(c.history, c.prefix)
	return c, nil
}

// fillRequests sets the user's first and last request if their messages are not kept.
func (r *run) fillRequests(c *choice) {
	most := int(max(r.room, 0)) / 2
	c.ask, c.request = r.carried.Goal, r.carried.Request
	c.goalText = c.ask
	if at, text := firstAsk(r.path.Entries); r.path.Compaction == nil && at >= 0 {
		c.goalText = cutChars(text, maxGoal)
		if at < c.plan.first {
			c.ask = text
		}
	}
	if at, text := lastAsk(r.path.Entries); at >= c.plan.first {
		c.request = ""
	} else if at >= 0 {
		c.request = text
	}
	c.ask = cutChars(c.ask, min(maxGoal, most))
	c.request = cutChars(c.request, min(maxRequest, most))
	if c.request == c.ask {
		c.request = ""
	}
}

// files returns the files that calls touched, including those carried over from the
// previous compaction.
func (r *run) files(ranges ...[]digest.Line) (read, modified []string) {
	read, modified = digest.Files(slices.Concat(ranges...))
	return mergeFiles(append(read, r.carried.ReadFiles...), append(modified, r.carried.ModifiedFiles...))
}

// mergeFiles sorts two lists and removes from the first the files in the second.
func mergeFiles(read, modified []string) ([]string, []string) {
	slices.Sort(read)
	slices.Sort(modified)
	read, modified = slices.Compact(read), slices.Compact(modified)
	read = slices.DeleteFunc(read, func(file string) bool {
		_, changed := slices.BinarySearch(modified, file)
		return changed
	})
	return read, modified
}

// findPins searches the log for pinned entries outside the live part. It remembers missing
// ones, so that each is searched for only once.
func (r *run) findPins(ctx context.Context, ids []firn.EntryID) error {
	want := make(map[firn.EntryID]bool)
	for _, id := range ids {
		if _, ok := r.found[id]; !ok {
			want[id] = true
		}
	}
	if len(want) == 0 {
		return nil
	}
	if r.found == nil {
		r.found = make(map[firn.EntryID]Pin)
	}
	for rec, err := range r.Store.ReadBack(ctx, r.Session, r.path.End) {
		if err != nil {
			return fmt.Errorf("find pinned entries: %w", err)
		}
		if rec.Gap != nil || !want[rec.Glance.ID] {
			continue
		}
		if entry, err := rec.Entry(); err == nil {
			r.found[entry.ID] = pinOf(&entry)
		}
		if delete(want, rec.Glance.ID); len(want) == 0 {
			return nil
		}
	}
	for id := range want {
		r.found[id] = Pin{ID: id}
	}
	return nil
}

// tooBig returns the error if nothing fits. It is ErrNothing if the conversation is within
// the limit and would merely not get smaller.
func (r *run) tooBig(c choice) error {
	if r.assumed <= r.limit {
		return fmt.Errorf("the result would not be smaller: %w", ErrNothing)
	}
	summary := c.compose("", 0)
	whole, bare := r.measure(c.plan.Kept, summary), r.measure(nil, summary)
	_, goal := r.goals()
	return &TooBig{
		System: whole.system, Tools: whole.tools, Injected: whole.injected,
		Pinned: r.counter.CountText(c.pinned()),
		Tail:   whole.items - bare.items, Summary: bare.items,
		Limit: max(goal, 0), Window: r.window,
	}
}
