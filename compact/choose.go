package compact

import (
	"context"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/internal/find/digest"
	"firn.dev/window"
)

// size is how large a window is, by what is in it.
type size struct {
	system, tools, injected, items int64
}

func (s size) total() int64 { return s.system + s.tools + s.injected + s.items }

// sizeOf measures a window together with what the caller knows to be fixed.
func (r *run) sizeOf(w window.Window) size {
	s := size{system: max(r.System, w.Tokens.System), tools: r.Tools, items: w.Tokens.Items}
	if len(r.build.Injected) == 0 {
		s.injected = r.Injected
	}
	return s
}

// measure builds the window as it would be and measures it.
func (r *run) measure(kept []firn.Entry, summary string) size {
	c := firn.Entry{ID: "compaction", Body: &firn.Compaction{Summary: summary}}
	p := window.Path{Entries: append(slices.Clip(kept), c), Head: c.ID, Compaction: &c}
	return r.sizeOf(window.Build(p, r.build))
}

// choice is a plan with all that decides whether it fits.
type choice struct {
	plan Plan
	sections
	// goalText is what the user asked for first, whether it is kept or not.
	goalText string
	// history and prefix are what is summarised.
	history, prefix []digest.Line
	// files is how many files the summary names.
	files int
	// goal is the size to be met; base is the size with an empty summary, and
	// budget how many tokens the summary may have.
	goal, base, budget int64

	// What came of it.
	body, summary string
	strategy      Strategy
	after         int64
}

const (
	// minBody is the least summary that is worth having, in tokens.
	minBody = 48
	// maxScale bounds how far what a provider reports is believed where it is
	// more than what is counted.
	maxScale = 4
	// maxFiles bounds how many files a summary names of each kind.
	maxFiles = 200
)

// choose finds the plan that keeps most and leaves room for a summary of need
// tokens; zero means what a summary should have. The first passes want the
// window to be as small as what the provider reports asks for, and room for a
// good summary; the last takes what there is.
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
			c, err := r.weigh(ctx, plan, pass.goal, pass.files)
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

// plans are the cuts that are possible, those that keep most first.
func (r *run) plans() ([]Plan, error) {
	fits := r.assumed <= r.limit
	if r.Reason == Manual && fits && r.path.Compaction != nil && !r.knife.saidSince() {
		return nil, fmt.Errorf("nothing was said since the last compaction: %w", ErrNothing)
	}
	var plans []Plan
	for _, keep := range [...]Keep{KeepRecent, KeepTurn, KeepLast, KeepNothing} {
		plan := r.knife.plan(r.knife.place(r.keepRecent(r.room), keep))
		plan.Previous, plan.Before = r.path.Compaction, r.before
		if r.knife.says(0, plan.first) == 0 && (fits || plan.Previous == nil) {
			if r.Reason == Manual && fits {
				break // all there is is less than what is kept
			}
			continue // but a summary that is too large can be made shorter
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
	return nil, fmt.Errorf("nothing is older than what is kept: %w", ErrNothing)
}

// goals are the sizes to be met, as the counter counts: lax is the limit,
// strict is less where the provider reports more than is counted. Both are
// less than what there is; after an overflow by a clear margin.
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

// wanted is how many tokens a summary should be allowed: as many as there may
// be, but less than what it stands for.
func (r *run) wanted(plan Plan) int64 {
	wanted := r.output(8)
	if plan.Split {
		wanted += r.output(5)
	}
	worth := plan.Tokens + r.counter.CountText(r.body)
	return max(minBody, min(wanted, r.room*2/5, worth*3/4))
}

// output is so many tenths of the reserve, as far as window and model allow.
func (r *run) output(tenths int64) int64 {
	out := min(r.reserve(r.window)*tenths/10, r.window/4)
	if r.Model != nil {
		if most := r.Model.Info().MaxOutput; most > 0 {
			out = min(out, most)
		}
	}
	return out
}

// weigh measures a plan without the body of its summary.
func (r *run) weigh(ctx context.Context, plan Plan, goal int64, files int) (choice, error) {
	c, ok := r.weighed[plan.first]
	if !ok {
		var err error
		if c, err = r.load(ctx, plan); err != nil {
			return c, err
		}
		if r.weighed == nil {
			r.weighed = make(map[int]choice)
		}
		r.weighed[plan.first] = c
	}
	c.goal, c.files = goal, files
	c.base = r.measure(plan.Kept, c.compose("", files)).total()
	return c, nil
}

// load gathers what goes into the summary of a plan.
func (r *run) load(ctx context.Context, plan Plan) (choice, error) {
	c := choice{plan: plan, history: linesOf(plan.Summarize), prefix: linesOf(plan.Prefix)}
	pins, missing := pinned(r.path, plan, r.carried.Pins)
	if err := r.seek(ctx, missing); err != nil {
		return c, err
	}
	for i, pin := range pins {
		if found, ok := r.found[pin.ID]; ok {
			pins[i] = found
		}
	}
	c.pins = pins
	r.asks(&c)
	c.read, c.modified = r.files(c.history, c.prefix)
	return c, nil
}

// asks fills in what the user asked for first and last, as far as the messages
// that say so are not kept.
func (r *run) asks(c *choice) {
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

// files are those that calls touched, with those that were carried along.
func (r *run) files(ranges ...[]digest.Line) (read, modified []string) {
	read, modified = digest.Files(slices.Concat(ranges...))
	return mergeFiles(append(read, r.carried.ReadFiles...), append(modified, r.carried.ModifiedFiles...))
}

// mergeFiles sorts two lists and takes from the first what is in the second.
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

// seek finds pinned entries that are not in the live part. One that is nowhere
// is remembered as such, so that it is looked for only once.
func (r *run) seek(ctx context.Context, ids []firn.EntryID) error {
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
			return fmt.Errorf("look for pinned entries: %w", err)
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

// tooBig is the error when nothing fits: ErrNothing if the conversation is well
// within the limit and would only not get smaller.
func (r *run) tooBig(c choice) error {
	if r.assumed <= r.limit {
		return fmt.Errorf("it would not get smaller: %w", ErrNothing)
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
