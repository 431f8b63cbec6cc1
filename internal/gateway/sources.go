package gateway

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"firn.dev/store"
	"firn.dev/wire"
)

// mostSourceFaults bounds how many faults are told of a source.
const mostSourceFaults = 10

// Sources tells where sessions are from: first our own home, then the folders of
// other tools that are mirrored.
func (g *Gateway) Sources(ctx context.Context) ([]wire.Source, error) {
	all := []wire.Source{{Name: store.OwnSource, Tool: store.OwnSource, Dir: g.StorePath}}
	if g.Options.Sources != nil {
		others, err := g.Options.Sources(ctx)
		if err != nil {
			return nil, fmt.Errorf("look at the sources: %w", err)
		}
		all = append(all, others...)
	}
	counted, _, err := g.counted(ctx)
	if err != nil {
		return nil, err
	}
	formats := g.Formats(ctx)
	for i := range all {
		s := &all[i]
		n := counted[s.Name]
		s.Sessions, s.Bytes = n.sessions, n.bytes
		s.Faults = append(slices.Clone(s.Faults), n.faults...)
		s.Faults = s.Faults[:min(len(s.Faults), mostSourceFaults)]
		if i == 0 {
			s.Checked = n.at
			continue
		}
		at := slices.IndexFunc(formats, func(f wire.Format) bool { return f.Name == s.Tool })
		if at < 0 {
			continue
		}
		for _, lost := range formats[at].Limits {
			s.Limits = append(s.Limits, limitText(lost))
		}
	}
	return all, nil
}

// limitText says what a format cannot say, and what becomes of it.
func limitText(l wire.Lost) string {
	if l.Becomes == "" {
		return l.What
	}
	return l.What + ": " + l.Becomes
}

// holding is what sessions there are from one source.
type holding struct {
	sessions int
	bytes    int64
	faults   []string
	at       time.Time
}

// holdings remembers for a while what there is, by source and by tag.
type holdings struct {
	mu   sync.Mutex
	at   time.Time
	all  map[string]holding
	tags map[string]int
}

// countFor is how long a count of all sessions holds.
const countFor = 10 * time.Second

// Tags lists the tags that sessions have, with how many have each. What somebody
// has just put on may be missing for ten seconds.
func (g *Gateway) Tags(ctx context.Context) ([]wire.Tag, error) {
	_, counted, err := g.counted(ctx)
	if err != nil {
		return nil, err
	}
	tags := make([]wire.Tag, 0, len(counted))
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		tags = append(tags, wire.Tag{Name: name, Sessions: counted[name]})
	}
	return tags, nil
}

// counted counts all sessions by their source, archived and hidden ones too, and
// by their tags. Our own are those of [store.OwnSource]. All sessions are looked
// at, at most every ten seconds.
func (g *Gateway) counted(ctx context.Context) (map[string]holding, map[string]int, error) {
	h := &g.holdings
	h.mu.Lock()
	defer h.mu.Unlock()
	now := g.now()
	if since := now.Sub(h.at); h.all != nil && since >= 0 && since < countFor {
		return h.all, h.tags, nil
	}
	all, tags := make(map[string]holding), make(map[string]int)
	for info, err := range g.Every(ctx, store.Query{}) {
		if err != nil {
			return nil, nil, fmt.Errorf("list sessions: %w", err)
		}
		for _, tag := range store.SplitTags(info.Tags) {
			tags[tag]++
		}
		name := cmp.Or(info.Source, store.OwnSource)
		one := all[name]
		one.sessions++
		one.bytes += info.Bytes
		one.at = now
		if info.Fault != "" && len(one.faults) < mostSourceFaults {
			one.faults = append(one.faults, string(info.ID)+": "+info.Fault)
		}
		all[name] = one
	}
	h.at, h.all, h.tags = now, all, tags
	return all, tags, nil
}
