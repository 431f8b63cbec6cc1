package view

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// mostItems is the maximum number of messages returned for a window.
const mostItems = 2000

// Window returns the next request to the session's model: its messages and their size, the
// omitted entries and the reasons. If the agent or model does not exist, it is computed for
// an unknown model. Injected content is that for the last user message, within the bounds
// of the context (agent.WithBounds); the next message may recall other content.
//
// If as is not empty, the encoded request is included: "model" means the session's own
// model, a provider name one of its models, provider/model that one.
func (v *View) Window(ctx context.Context, id firn.ID, as string) (wire.Window, error) {
	if err := v.CheckExists(ctx, id); err != nil {
		return wire.Window{}, err
	}
	l, err := v.live(ctx, id)
	if err != nil {
		return wire.Window{}, err
	}
	if err := v.inject(ctx, id, l); err != nil {
		return wire.Window{}, err
	}
	w := l.window()
	w.Session, w.Damage = id, l.damage(ctx, v, id)
	if as != "" {
		if w.Request, err = v.request(ctx, id, l, as); err != nil {
			return w, err
		}
	}
	return w, nil
}

// inject adds the content that hooks would inject into the next turn. Without an agent
// nothing is injected.
func (v *View) inject(ctx context.Context, id firn.ID, l *live) error {
	a, err := v.Agent(ctx, id)
	if err != nil || l.Model == nil {
		return nil
	}
	o := agent.PreviewOptions{Turns: v.Turns(ctx, id), Inject: true}
	if v.Narrow != nil {
		o.Narrow = func(ctx context.Context, e firn.Entry) route.Bounds { return v.Narrow(ctx, id, e) }
	}
	p, err := a.PreviewWith(ctx, id, l.path, o)
	if err != nil {
		return err
	}
	p.Tokens = l.Tokens // as in lists; injected content is listed separately
	l.Preview = p
	l.explain()
	return nil
}

// injected returns the injected content and a function that removes it from the message it
// was merged into.
func (l *live) injected() (list []wire.Injected, original func(*firn.Message) *firn.Message) {
	texts := make(map[string]bool)
	for _, in := range l.Injected {
		text := firn.JoinText(in.Parts)
		list = append(list, wire.Injected{
			Name: in.Name, Tokens: window.Chars{}.CountMessage(&firn.Message{Role: firn.RoleUser, Parts: in.Parts}),
			Sources: in.Sources, Preview: Preview(inner(text, in.Name), PreviewRunes),
		})
		for _, part := range in.Parts {
			if t, ok := part.(firn.Text); ok {
				texts[t.Text] = true
			}
		}
	}
	return list, func(m *firn.Message) *firn.Message {
		rest := *m
		rest.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p firn.Part) bool {
			t, ok := p.(firn.Text)
			return ok && texts[t.Text]
		})
		if len(rest.Parts) == 0 {
			return m
		}
		return &rest
	}
}

// inner returns an injected text without the enclosing tags.
func inner(text, name string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, "<"+name+">"), "</"+name+">"))
}

// window converts the window to the protocol.
func (l *live) window() wire.Window {
	built := &l.Request.Window
	w := wire.Window{
		Head: l.path.Head, End: l.path.End, Provider: l.Info.Provider, Model: l.Info.Name, Profile: built.Profile,
		Usage: l.usage(), Compactions: l.path.Compactions(), In: l.in(), Out: l.out(), Count: len(built.Items),
	}
	var original func(*firn.Message) *firn.Message
	w.Injected, original = l.injected()
	w.Totals = l.totals(w.Injected)
	items := built.Items[max(len(built.Items)-mostItems, 0):]
	w.Items = make([]wire.WindowItem, len(items))
	for i := range items {
		it := &items[i]
		w.Items[i] = wire.WindowItem{
			Role: it.Message.Role, Tokens: it.Tokens, From: it.From, Injected: it.Injected,
			Synthetic: it.Synthetic, Preview: previewParts(original(&it.Message)),
		}
	}
	for _, r := range built.Repairs {
		w.Repairs = append(w.Repairs, wire.Repair{Rule: r.Rule, Entry: r.Entry, What: r.What})
	}
	return w
}

// totals sums up the window by kind. A message that was merged with a summary counts as
// both.
func (l *live) totals(injected []wire.Injected) wire.WindowTotals {
	built := &l.Request.Window
	t := wire.WindowTotals{System: built.Tokens.System, Specs: l.Tools}
	for i := range built.Items {
		it := &built.Items[i]
		tokens := it.Tokens
		if c := l.path.Compaction; c != nil && slices.Contains(it.From, c.ID) {
			if body, ok := c.Body.(*firn.Compaction); ok {
				t.Summary = min(tokens, window.Chars{}.CountText(body.Summary))
				tokens -= t.Summary
			}
			if len(it.From) == 1 && len(it.Injected) == 0 { // the text around the summary
				t.Summary, tokens = t.Summary+tokens, 0
			}
		}
		for _, in := range injected {
			if slices.Contains(it.Injected, in.Name) {
				n := min(tokens, in.Tokens)
				t.Notes, tokens = t.Notes+n, tokens-n
			}
		}
		switch {
		case len(it.Injected) > 0 && len(it.From) == 0:
			t.Notes += tokens
		case it.Message.Role == firn.RoleToolResult:
			t.Tools += tokens
		default:
			t.Kept += tokens
		}
	}
	return t
}

// in returns the runs of entries that are in the window. Hidden entries do not end a run;
// entries of another branch do.
func (l *live) in() []wire.Run {
	runs := []wire.Run{}
	last := -1 // the index on the branch of the last entry
	for i, n := range l.branch {
		broken := i == 0 || l.branch[i-1] != n-1
		if l.why[i] != "" && l.why[i] != window.Pruned {
			if broken {
				last = -1
			}
			continue
		}
		if broken || last < 0 {
			runs = append(runs, wire.Run{First: l.nodes[n].glance.ID, From: l.number(n)})
		}
		run := &runs[len(runs)-1]
		run.Last, run.To = l.nodes[n].glance.ID, l.number(n)
		run.Count++
		last = i
	}
	return runs
}

// out returns the runs of entries that are not in the window, oldest first.
func (l *live) out() []wire.Run {
	runs := []wire.Run{}
	if unread := l.unread(); unread != nil {
		runs = append(runs, *unread)
	}
	for i, n := range l.branch {
		why := l.why[i]
		if why == "" {
			continue
		}
		id, number := l.nodes[n].glance.ID, l.number(n)
		if k := len(runs); k > 0 && i > 0 && l.why[i-1] == why && l.branch[i-1] == n-1 {
			runs[k-1].Last, runs[k-1].To = id, number
			runs[k-1].Count++
			continue
		}
		runs = append(runs, wire.Run{First: id, Last: id, From: number, To: number, Count: 1, Why: string(why)})
	}
	return append(runs, l.elsewhere()...)
}

// unread returns the run before the live part.
func (l *live) unread() *wire.Run {
	if l.path.Start == store.Start || l.base == 0 {
		return nil
	}
	for _, o := range l.path.Out {
		if o.Count >= 0 {
			continue
		}
		run := &wire.Run{Count: -1, Why: string(o.Why)}
		if l.base > 0 {
			run.From, run.To, run.Count = 1, l.base, l.base
		}
		return run
	}
	return nil
}

// elsewhere returns the runs on other branches, as far as they were read.
func (l *live) elsewhere() []wire.Run {
	on := make(map[int]bool, len(l.branch))
	for _, n := range l.branch {
		on[n] = true
	}
	var runs []wire.Run
	open := false
	for n := range l.nodes {
		if on[n] {
			open = false
			continue
		}
		id, number := l.nodes[n].glance.ID, l.number(n)
		if !open {
			open = true
			runs = append(runs, wire.Run{First: id, From: number, Why: string(window.OtherBranch)})
		}
		run := &runs[len(runs)-1]
		run.Last, run.To = id, number
		run.Count++
	}
	return runs
}

// request encodes the window for the provider of a model.
func (v *View) request(ctx context.Context, id firn.ID, l *live, as string) ([]byte, error) {
	if v.Encode == nil {
		return nil, fmt.Errorf("encode request of session %s: not supported here: %w", id, firn.ErrUnsupported)
	}
	model, req := l.Model, l.Request
	if as != "model" && (model == nil || as != l.Info.Provider && as != l.Info.Provider+"/"+l.Info.Name) {
		var err error
		if model, err = v.ModelAs(as); err != nil {
			return nil, err
		}
		o := window.Options{Profile: model.Info().Profile, Ask: model.Info().Ask()}
		if a, err := v.Agent(ctx, id); err == nil {
			o.System, o.Counter, o.Injected = a.System, a.Counter, l.Injected
		}
		req.Window = window.Build(l.Fitted, o)
	}
	if model == nil {
		return nil, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("session %s has no model here", id), Hint: "set a provider, or provider/model"}
	}
	body, err := v.Encode(model, req)
	if err != nil {
		return nil, fmt.Errorf("encode request of session %s for %s: %w", id, as, err)
	}
	return body, nil
}

// ModelAs finds a model by provider/model, or the first known model of a provider.
func (v *View) ModelAs(as string) (provider.Model, error) {
	setup := v.setup.Load()
	name := as
	if !strings.Contains(name, "/") {
		for _, known := range setup.KnownModels() {
			if strings.HasPrefix(known.ID, as+"/") {
				name = known.ID
				break
			}
		}
	}
	from, model, ok := strings.Cut(name, "/")
	if !ok || setup.Models == nil {
		return nil, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("unknown model or provider %q", Clip(as)), Hint: "use a provider from the settings, or provider/model"}
	}
	return setup.Models(from, model)
}
