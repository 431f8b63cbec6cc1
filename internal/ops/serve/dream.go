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
	"firn.dev/internal/ops/memory"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// dreamer creates the dreamer that consolidates a folder of notes.
func (s *agentBuilder) dreamer(dir *memory.Dir, a about) *memory.Dreamer {
	agent := a.Agent
	if agent == "" {
		agent = s.settings.DefaultAgent
	}
	c := memoryOf(s.settings, agent).Dream
	host, _ := os.Hostname()
	return &memory.Dreamer{
		Dir: dir, Model: s.factModel(agent), Sessions: s.sessionsOf(a), Keep: s.factFilter(a), Familiar: []string{s.systemOf(agent)},
		Owner: fmt.Sprintf("firn, process %d on %s", os.Getpid(), host), Gates: memory.DreamGates{Every: c.Every, Sessions: c.Sessions},
	}
}

// factModel returns the model that extracts facts for an agent, or nil if there is none.
func (s *agentBuilder) factModel(agent string) provider.Model {
	c, _ := s.settings.Agent(agent)
	name := c.Model
	if c.Summarizer != "" {
		name = c.Summarizer
	}
	m, err := s.models.Named(name)
	if err != nil {
		return nil
	}
	return factModelOf(m)
}

// systemOf returns the system prompt of an agent, or "" if it cannot be read.
func (s *agentBuilder) systemOf(agent string) string {
	c, _ := s.settings.Agent(agent)
	text, _ := s.system(c)
	return text
}

// coversSession reports whether a session is relevant to a folder of notes.
func (s *agentBuilder) coversSession(a about, info store.Info) bool {
	who := person(info.Key)
	switch a.Scope {
	case memory.ScopeUser:
		return info.Agent == a.Agent && ofKey(info.Key, a.Key)
	case memory.ScopeProject:
		return who == "" && s.notes.project(info.CWD) == a.Project
	}
	return info.Agent == a.Agent && who == ""
}

// ofKey reports whether the notes of one key cover the sessions of another: both belong to
// the same person, and the session key is within the notes key.
func ofKey(session, notes string) bool {
	return person(session) == person(notes) && route.Under(session, notes)
}

// sessionsOf lists the sessions relevant to a folder. A session is new if its end has
// changed since the last run, not by the time of its messages: old sessions may have been
// imported today.
func (s *agentBuilder) sessionsOf(a about) func(context.Context, memory.ChangeFilter) ([]memory.Session, error) {
	return func(ctx context.Context, isNews memory.ChangeFilter) ([]memory.Session, error) {
		var all []memory.Session
		for info, err := range s.store.List(ctx, store.Query{Agent: a.Agent}) {
			if err != nil {
				return nil, err
			}
			mark := fmt.Sprintf("%d %d", info.End, info.Updated.UnixMilli())
			if info.Fault != "" || !s.coversSession(a, info) || !isNews(info.ID, mark) {
				continue
			}
			all = append(all, memory.Session{ID: info.ID, Mark: mark, Path: s.pathOf(a, info.ID), Notes: s.recallableIn(info)})
		}
		return all, nil
	}
}

// recallableIn returns the shelf that memory could recall from in a session.
func (s *agentBuilder) recallableIn(info store.Info) memory.Shelf {
	c := memoryOf(s.settings, info.Agent)
	at := newPlace(info.Agent, info.Key, s.notes.project(info.CWD), route.Everything())
	shelf := s.notes.shelf(c, at)
	if s.past != nil {
		shelf.Past = s.past(at, info.ID)
	}
	return shelf
}

// pathOf returns the entries of a session that a folder may learn from.
func (s *agentBuilder) pathOf(a about, id firn.ID) func(context.Context) ([]firn.Entry, bool, error) {
	return func(ctx context.Context) ([]firn.Entry, bool, error) {
		p, err := window.Collect(s.store.ReadBack(ctx, id, store.End))
		if a.Scope != memory.ScopeUser {
			p.Entries = agentEntries(p.Entries)
		}
		return p.Entries, p.Compaction != nil, err
	}
}

// factFilter returns a function that reports whether a fact belongs in a folder. The facts
// of one session may belong in several folders.
func (s *agentBuilder) factFilter(a about) func(memory.Fact) bool {
	return func(f memory.Fact) bool {
		if len(f.Sources) == 0 {
			return false
		}
		h := s.notes.header(context.Background(), f.Sources[0].Session)
		if a.Scope == memory.ScopeUser {
			return ofKey(h.Key, a.Key)
		}
		return scopeOf(f.Category, place{agent: h.Agent, person: person(h.Key), project: s.notes.project(h.CWD)}) == a.Scope
	}
}

// dreamFolders returns all folders of notes with dreaming enabled.
func (s *agentBuilder) dreamFolders() []about {
	var all []about
	for _, id := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.settings.AgentIDs(), s.agentsOnDisk())))) {
		c := memoryOf(s.settings, id)
		if !c.Enabled || !c.Dream.Enabled {
			continue
		}
		all = append(all, about{Scope: memory.ScopeAgent, Agent: id})
		all = append(all, s.readAbouts(filepath.Dir(s.notes.userRoot(c, id, "")))...)
	}
	if s.settings.Memory.Enabled && s.settings.Memory.Dream.Enabled {
		all = append(all, s.readAbouts(filepath.Join(s.notes.home, projectsDir))...)
	}
	return all
}

// allDirs returns every folder of notes on disk.
func (s *agentBuilder) allDirs() []*memory.Dir {
	bases := []string{filepath.Join(s.notes.home, "agents"), s.settings.Memory.Dir}
	for _, id := range s.settings.AgentIDs() {
		bases = append(bases, memoryOf(s.settings, id).Dir)
	}
	roots := s.subdirs(filepath.Join(s.notes.home, projectsDir))
	for _, base := range slices.Compact(slices.Sorted(slices.Values(bases))) {
		for _, home := range s.subdirs(base) {
			roots = append(roots, filepath.Join(home, workspaceDir))
			roots = append(roots, s.subdirs(filepath.Join(home, usersDir))...)
		}
	}
	all := make([]*memory.Dir, len(roots))
	for i, root := range roots {
		all[i] = s.notes.folder(root)
	}
	return all
}

// subdirs returns the subdirectories of a directory. It returns none if the directory does
// not exist.
func (s *agentBuilder) subdirs(dir string) []string {
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

// readAbouts reads the about files of the folders in a directory.
func (s *agentBuilder) readAbouts(dir string) []about {
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

// dirOf returns the folder of notes for a subject.
func (s *agentBuilder) dirOf(a about) *memory.Dir {
	c := memoryOf(s.settings, a.Agent)
	switch a.Scope {
	case memory.ScopeUser:
		return s.notes.folder(s.notes.userRoot(c, a.Agent, a.Key))
	case memory.ScopeProject:
		return s.notes.folder(s.notes.projectRoot(a.Project))
	}
	return s.notes.folder(s.notes.agentRoot(c, a.Agent))
}

// dreamScheduler consolidates notes while the gateway is idle.
type dreamScheduler struct {
	h *Instance

	mu sync.Mutex
	// last is the time of the last activity; wake cancels a running dream.
	last time.Time
	wake context.CancelFunc
}

// startDreaming starts a dreamScheduler and returns a function that stops it.
func (h *Instance) startDreaming(ctx context.Context) (stop func()) {
	n := &dreamScheduler{h: h, last: h.o.Clock()}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { n.listen(ctx) })
	work.Go(func() { n.watch(ctx) })
	return func() {
		cancel()
		work.Wait()
	}
}

// listen watches for turns that start and end.
func (n *dreamScheduler) listen(ctx context.Context) {
	for ctx.Err() == nil {
		for e, err := range n.h.Gateway.AllEvents(ctx) {
			if err != nil || e.Name == wire.Bye {
				return
			}
			switch e.Name {
			case wire.TurnStarted, wire.TurnCompleted, wire.TurnFailed, wire.Gap:
				n.noteActivity()
			}
		}
	}
}

// noteActivity records activity and cancels a running dream.
func (n *dreamScheduler) noteActivity() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = n.h.o.Clock()
	if n.wake != nil {
		n.wake()
	}
}

// dreamCheckInterval is the interval of checks whether to dream.
const dreamCheckInterval = 30 * time.Second

func (n *dreamScheduler) watch(ctx context.Context) {
	timer := time.NewTicker(dreamCheckInterval)
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

// dream consolidates all folders that are due, if the gateway is idle.
func (n *dreamScheduler) dream(ctx context.Context) {
	if !n.h.leads() {
		return // only one of several gateways dreams
	}
	n.h.mu.Lock()
	s := n.h.builders[len(n.h.builders)-1]
	n.h.mu.Unlock()
	ctx, done := n.dreamContext(ctx, s.settings.Memory)
	defer done()
	if ctx == nil {
		return
	}
	for _, a := range s.dreamFolders() {
		if ctx.Err() != nil {
			return
		}
		dreamt, err := s.dreamer(s.dirOf(a), a).Dream(ctx, memory.DreamOptions{})
		switch {
		case err != nil && ctx.Err() == nil:
			n.h.o.Log.Warn("consolidating notes failed", "scope", string(a.Scope), "agent", a.Agent, "error", err.Error())
		case err == nil && dreamt.Shut == "":
			n.h.o.Log.Info("notes consolidated", "scope", string(a.Scope), "agent", a.Agent, "change", dreamt.Change.ID, "edits", len(dreamt.Change.Edits), "sessions", dreamt.Sessions)
		}
	}
}

// dreamContext returns a context for a dream that is canceled on activity. It returns nil
// if the gateway has not been idle long enough.
func (n *dreamScheduler) dreamContext(ctx context.Context, c config.Memory) (context.Context, func()) {
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
