package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/ops/config"
	"firn.dev/memory"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// dreamer makes the one who tidies up a folder of notes.
func (s *staff) dreamer(dir *memory.Dir, a about) *memory.Dreamer {
	agent := a.Agent
	if agent == "" {
		agent = s.settings.DefaultAgent
	}
	c := memoryOf(s.settings, agent).Dream
	host, _ := os.Hostname()
	return &memory.Dreamer{
		Dir: dir, Model: s.factModel(agent), Sessions: s.sessionsOf(a), Keep: s.keeps(a), Familiar: []string{s.systemOf(agent)},
		Owner: fmt.Sprintf("firn, process %d on %s", os.Getpid(), host), Gates: memory.DreamGates{Every: c.Every, Sessions: c.Sessions},
	}
}

// factModel is the model of an agent that finds facts; nil if there is none.
func (s *staff) factModel(agent string) provider.Model {
	c, _ := s.settings.Agent(agent)
	name := c.Model
	if c.Summarizer != "" {
		name = c.Summarizer
	}
	m, err := s.models.Named(name)
	if err != nil {
		return nil
	}
	return thinking(m)
}

// systemOf is the system prompt of an agent; empty if it cannot be read.
func (s *staff) systemOf(agent string) string {
	c, _ := s.settings.Agent(agent)
	text, _ := s.system(c)
	return text
}

// belongs reports whether a session is among those that a folder is about.
func (s *staff) belongs(a about, info store.Info) bool {
	who := person(info.Key)
	switch a.Scope {
	case memory.ScopeUser:
		return info.Agent == a.Agent && ofKey(info.Key, a.Key)
	case memory.ScopeProject:
		return who == "" && s.mind.project(info.CWD) == a.Project
	}
	return info.Agent == a.Agent && who == ""
}

// ofKey reports whether the notes of a key are about the session of another: of a
// person, or of conversations of the agent's own that somebody may see.
func ofKey(session, notes string) bool {
	return person(session) == person(notes) && route.Under(session, notes)
}

// sessionsOf lists the sessions that a folder is about. Whether they are news is
// told by how far they go, not by when something was said in them: what was said
// long ago may have come here today.
func (s *staff) sessionsOf(a about) func(context.Context, memory.News) ([]memory.Session, error) {
	return func(ctx context.Context, isNews memory.News) ([]memory.Session, error) {
		var all []memory.Session
		for info, err := range s.store.List(ctx, store.Query{Agent: a.Agent}) {
			if err != nil {
				return nil, err
			}
			mark := fmt.Sprintf("%d %d", info.End, info.Updated.UnixMilli())
			if info.Fault != "" || !s.belongs(a, info) || !isNews(info.ID, mark) {
				continue
			}
			all = append(all, memory.Session{ID: info.ID, Mark: mark, Path: s.pathOf(a, info.ID), Told: s.toldIn(info)})
		}
		return all, nil
	}
}

// toldIn is what memory may have told the agent in a session.
func (s *staff) toldIn(info store.Info) memory.Shelf {
	c := memoryOf(s.settings, info.Agent)
	at := newPlace(info.Agent, info.Key, s.mind.project(info.CWD), route.Everything())
	shelf := s.mind.shelf(c, at)
	if s.past != nil {
		shelf.Past = s.past(at, info.ID)
	}
	return shelf
}

// pathOf is what of a session is for a folder to know.
func (s *staff) pathOf(a about, id firn.ID) func(context.Context) ([]firn.Entry, bool, error) {
	return func(ctx context.Context) ([]firn.Entry, bool, error) {
		p, err := window.Collect(s.store.ReadBack(ctx, id, store.End))
		if a.Scope != memory.ScopeUser {
			p.Entries = ofTheAgent(p.Entries)
		}
		return p.Entries, p.Compaction != nil, err
	}
}

// keeps says which facts belong into a folder: those of a session may belong
// into several.
func (s *staff) keeps(a about) func(memory.Fact) bool {
	return func(f memory.Fact) bool {
		if len(f.Sources) == 0 {
			return false
		}
		h := s.mind.header(context.Background(), f.Sources[0].Session)
		if a.Scope == memory.ScopeUser {
			return ofKey(h.Key, a.Key)
		}
		return scopeOf(f.Category, place{agent: h.Agent, person: person(h.Key), project: s.mind.project(h.CWD)}) == a.Scope
	}
}

// folders finds all folders of notes that there are.
func (s *staff) folders() []about {
	var all []about
	for _, id := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.settings.AgentIDs(), s.residents())))) {
		c := memoryOf(s.settings, id)
		if !c.Enabled || !c.Dream.Enabled {
			continue
		}
		all = append(all, about{Scope: memory.ScopeAgent, Agent: id})
		all = append(all, s.signed(filepath.Dir(s.mind.userRoot(c, id, "")))...)
	}
	if s.settings.Memory.Enabled && s.settings.Memory.Dream.Enabled {
		all = append(all, s.signed(filepath.Join(s.mind.home, projectsDir))...)
	}
	return all
}

// everyFolder is every folder of notes on disk, whoever it is about.
func (s *staff) everyFolder() []*memory.Dir {
	bases := []string{filepath.Join(s.mind.home, "agents"), s.settings.Memory.Dir}
	for _, id := range s.settings.AgentIDs() {
		bases = append(bases, memoryOf(s.settings, id).Dir)
	}
	roots := s.within(filepath.Join(s.mind.home, projectsDir))
	for _, base := range slices.Compact(slices.Sorted(slices.Values(bases))) {
		for _, home := range s.within(base) {
			roots = append(roots, filepath.Join(home, workspaceDir))
			roots = append(roots, s.within(filepath.Join(home, usersDir))...)
		}
	}
	all := make([]*memory.Dir, len(roots))
	for i, root := range roots {
		all[i] = s.mind.folder(root)
	}
	return all
}

// within are the directories in a directory; none if there is no such.
func (s *staff) within(dir string) []string {
	if dir == "" {
		return nil
	}
	found, err := s.fs.ReadDir(dir)
	if err != nil {
		return nil
	}
	var all []string
	for _, f := range found {
		if f.IsDir() {
			all = append(all, filepath.Join(dir, f.Name()))
		}
	}
	return all
}

// signed are whom the folders in a directory are about.
func (s *staff) signed(dir string) []about {
	found, err := s.fs.ReadDir(dir)
	if err != nil {
		return nil
	}
	var all []about
	for _, f := range found {
		text, err := readBounded(s.fs, filepath.Join(dir, f.Name(), "memory", aboutFile), 64<<10)
		var a about
		if err == nil && json.Unmarshal([]byte(text), &a) == nil {
			all = append(all, a)
		}
	}
	return all
}

// rooted is the folder that is about somebody.
func (s *staff) rooted(a about) *memory.Dir {
	c := memoryOf(s.settings, a.Agent)
	switch a.Scope {
	case memory.ScopeUser:
		return s.mind.folder(s.mind.userRoot(c, a.Agent, a.Key))
	case memory.ScopeProject:
		return s.mind.folder(s.mind.projectRoot(a.Project))
	}
	return s.mind.folder(s.mind.agentRoot(c, a.Agent))
}

// night is the gateway when nobody talks: then notes are tidied up, until
// somebody does.
type night struct {
	h *House

	mu sync.Mutex
	// last is when somebody talked last; wake ends a dream.
	last time.Time
	wake context.CancelFunc
}

// startNights begins to watch for times in which nobody talks, until stop is
// called.
func (h *House) startNights(ctx context.Context) (stop func()) {
	n := &night{h: h, last: h.o.Clock()}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { n.listen(ctx) })
	work.Go(func() { n.watch(ctx) })
	return func() {
		cancel()
		work.Wait()
	}
}

// listen hears of turns that begin and end.
func (n *night) listen(ctx context.Context) {
	for ctx.Err() == nil {
		for e, err := range n.h.Gateway.AllEvents(ctx) {
			if err != nil || e.Name == wire.Bye {
				return
			}
			switch e.Name {
			case wire.TurnStarted, wire.TurnCompleted, wire.TurnFailed, wire.Gap:
				n.stir()
			}
		}
	}
}

// stir notes that somebody talks, and ends a dream.
func (n *night) stir() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = n.h.o.Clock()
	if n.wake != nil {
		n.wake()
	}
}

// lookEvery is how often it is looked whether it is time to dream.
const lookEvery = 30 * time.Second

func (n *night) watch(ctx context.Context) {
	timer := time.NewTicker(lookEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			n.dream(ctx)
		}
	}
}

// dream tidies up all folders for which it is time, if nobody talks.
func (n *night) dream(ctx context.Context) {
	if !n.h.leads() {
		return // of several gateways one dreams
	}
	n.h.mu.Lock()
	s := n.h.staffs[len(n.h.staffs)-1]
	n.h.mu.Unlock()
	ctx, done := n.fallAsleep(ctx, s.settings.Memory)
	defer done()
	if ctx == nil {
		return
	}
	for _, a := range s.folders() {
		if ctx.Err() != nil {
			return
		}
		dreamt, err := s.dreamer(s.rooted(a), a).Dream(ctx, memory.Order{})
		switch {
		case err != nil && ctx.Err() == nil:
			n.h.o.Log.Warn("the notes were not tidied up", "scope", string(a.Scope), "agent", a.Agent, "error", err.Error())
		case err == nil && dreamt.Shut == "":
			n.h.o.Log.Info("the notes were tidied up", "scope", string(a.Scope), "agent", a.Agent, "change", dreamt.Change.ID, "edits", len(dreamt.Change.Edits), "sessions", dreamt.Sessions)
		}
	}
}

// fallAsleep returns what a dream runs in, which ends as soon as somebody talks;
// nil if somebody does, or did just now.
func (n *night) fallAsleep(ctx context.Context, c config.Memory) (context.Context, func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.h.o.Clock().Sub(n.last) < c.Dream.Idle || len(n.h.Gateway.RunningHere(ctx)) > 0 {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	n.wake = cancel
	return ctx, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.wake = nil
		cancel()
	}
}
