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

// mostSourceFaults is the maximum number of reported faults per source.
const mostSourceFaults = 10

// Sources lists the sources of sessions: first the home, then the mirrored folders of other
// tools.
func (g *sessionReader) Sources(ctx context.Context) ([]wire.Source, error) {
	all := []wire.Source{{Name: store.OwnSource, Tool: store.OwnSource, Dir: g.StorePath}}
	if g.Options.Sources != nil {
		others, err := g.Options.Sources(ctx)
		if err != nil {
			return nil, fmt.Errorf("read sources: %w", err)
		}
		all = append(all, others...)
	}
	counted, _, err := g.counted(ctx)
	if err != nil {
		return nil, err
	}
	formats := g.exchange.Formats(ctx)
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

// limitText describes a limitation of a format.
func limitText(l wire.Loss) string {
	if l.Becomes == "" {
		return l.What
	}
	return l.What + ": " + l.Becomes
}

// holding summarizes the sessions of one source.
type holding struct {
	sessions int
	bytes    int64
	faults   []string
	at       time.Time
}

// holdings caches the summaries by source, and the session counts by tag.
type holdings struct {
	mu   sync.Mutex
	at   time.Time
	all  map[string]holding
	tags map[string]int
}

// countFor is how long the cache is valid.
const countFor = 10 * time.Second

// Tags lists the tags with their session counts. A new tag may be missing for ten seconds.
func (g *sessionReader) Tags(ctx context.Context) ([]wire.Tag, error) {
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

// counted counts all sessions by source and by tag, including archived and hidden ones.
// Native sessions are under [store.OwnSource]. It reads the list of sessions at most every
// ten seconds.
func (g *sessionReader) counted(ctx context.Context) (map[string]holding, map[string]int, error) {
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
