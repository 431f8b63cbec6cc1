package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/memory"
	"firn.dev/store"
	"firn.dev/wire"
)

// noteStore manages the folders of notes of all agents.
type noteStore struct {
	home   string
	env    func(name string) string
	fs     vfs.FS
	store  store.Store
	clock  func() time.Time
	report func(message string)

	mu      sync.Mutex
	folders map[string]*memory.Dir
	// headers caches session headers. asked holds the latest user message of each session.
	headers map[firn.ID]firn.Header
	asked   map[firn.ID]firn.EntryID
	// busy are the sessions from which facts are being extracted.
	busy map[firn.ID]bool

	// work waits for background work, which runs until ctx ends.
	work   sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc
	closed bool
}

func newNoteStore(home string, env func(string) string, fsys vfs.FS, st store.Store, clock func() time.Time, report func(string)) *noteStore {
	m := &noteStore{
		home: home, env: env, fs: fsys, store: st, clock: clock, report: report, folders: make(map[string]*memory.Dir),
		headers: make(map[firn.ID]firn.Header), asked: make(map[firn.ID]firn.EntryID), busy: make(map[firn.ID]bool),
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// place is the part of a conversation that is relevant for notes, and the bounds of the
// caller.
type place struct {
	agent string
	// person is the key of an external sender. It is empty for the agent's own
	// conversations. project is the working directory.
	person, project string
	// with is the key of the other party: person, unless the caller may not see those
	// notes. Then own is set, and person is the key whose conversations the caller may see,
	// if any. These have separate notes.
	with string
	own  bool
	// bounds limits the sessions and notes that are visible.
	bounds route.Bounds
}

// newPlace returns the place of an agent's session for a caller with the given bounds. A
// caller that may not see everything of the agent has separate notes for the conversations
// it may see, like external senders. A caller that may see none has no notes.
func newPlace(agent, key, project string, bounds route.Bounds) place {
	at := place{agent: agent, person: person(key), project: project, bounds: bounds}
	at.with = at.person
	if at.with != "" && !bounds.Admits(agent, at.with) || at.with == "" && !bounds.AdmitsAgent(agent) {
		at.person, at.own = "", true
		if cover := bounds.Cover(key); bounds.Admits(agent, key) && !isHookCall(cover) {
			at.person = cover
		}
	}
	if !bounds.Unbounded() {
		at.project = "" // project notes are shared by all agents
	}
	return at
}

// canSee reports whether a session is visible at a place: it has the same agent and the
// same other party and is within the bounds.
func (p place) canSee(agent, key string) bool {
	return agent == p.agent && person(key) == p.with && p.bounds.Admits(agent, key)
}

// hasNotes reports whether notes are kept at a place.
func (p place) hasNotes() bool { return p.person != "" || !p.own }

// isHookCall reports whether a key belongs to a single call of a hook. Such keys are never
// used again, so no notes are kept for them.
func isHookCall(key string) bool {
	k, err := route.Parse(key)
	return err == nil && k.Kind() == route.KindHook && k.Parts().Peer != ""
}

// folder returns the folder at a path. All callers share one instance.
func (m *noteStore) folder(root string) *memory.Dir {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.folders[root]
	if !ok {
		d = memory.Open(root, memory.Options{FS: m.fs, Clock: m.clock})
		m.folders[root] = d
	}
	return d
}

// Locations of folders. The names of people and projects may not be valid file names, so
// their folder names end in a hash.
const (
	workspaceDir = "workspace"
	usersDir     = "users"
	projectsDir  = "projects"
)

func (m *noteStore) agentRoot(c config.Memory, agent string) string {
	return filepath.Join(cmp.Or(c.Dir, filepath.Join(m.home, "agents")), agent, workspaceDir)
}

func (m *noteStore) userRoot(c config.Memory, agent, person string) string {
	return filepath.Join(cmp.Or(c.Dir, filepath.Join(m.home, "agents")), agent, usersDir, folderName(person))
}

func (m *noteStore) projectRoot(project string) string {
	return filepath.Join(m.home, projectsDir, folderName(project))
}

func folderName(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // cannot fail
	return fmt.Sprintf("%s-%016x", cmp.Or(memory.Slug(name), "x"), h.Sum64())
}

// shelf returns the folders that apply at a place. External senders have their own folder,
// and the agent's only if it is shared.
func (m *noteStore) shelf(c config.Memory, at place) memory.Shelf {
	var s memory.Shelf
	if !at.hasNotes() {
		return s
	}
	if at.person != "" {
		s.User = m.folder(m.userRoot(c, at.agent, at.person))
	}
	if at.person == "" || c.Shared && !at.own {
		s.Agent = m.folder(m.agentRoot(c, at.agent))
	}
	if at.person == "" && at.project != "" {
		s.Project = m.folder(m.projectRoot(at.project))
	}
	return s
}

// ownDir returns the primary folder of a place: that of the person or of the agent.
func (m *noteStore) ownDir(c config.Memory, at place) *memory.Dir {
	if at.person != "" {
		return m.folder(m.userRoot(c, at.agent, at.person))
	}
	return m.folder(m.agentRoot(c, at.agent))
}

// scopeOf returns the scope of a fact found at a place. Facts from external senders are
// kept for that sender; facts about the work are kept with the project.
func scopeOf(category memory.Category, at place) memory.Scope {
	switch {
	case at.person != "":
		return memory.ScopeUser
	case at.project != "" && category != memory.Preference && category != "":
		return memory.ScopeProject
	}
	return memory.ScopeAgent
}

// person returns the key of an external sender without its thread, or "" for the agent's
// own conversations.
func person(key string) string {
	k, err := route.Parse(key)
	if err != nil {
		return ""
	}
	switch k.Kind() {
	case route.KindDirect, route.KindGroup, route.KindChannel:
		if in := k.Parent(); !in.IsZero() {
			k = in
		}
		return k.String()
	}
	return ""
}

// placeOf returns the place of a session for a caller with the given bounds.
func (m *noteStore) placeOf(ctx context.Context, agent string, id firn.ID, workspace string, bounds route.Bounds) place {
	h := m.header(ctx, id)
	return newPlace(agent, h.Key, m.project(cmp.Or(h.CWD, workspace)), bounds)
}

// project returns the project directory, or "" if dir is the root or the user's home.
func (m *noteStore) project(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	dir = filepath.Clean(dir)
	if dir == filepath.Dir(dir) || dir == filepath.Clean(cmp.Or(m.env("HOME"), m.env("USERPROFILE"), "/")) || dir == filepath.Clean(m.home) {
		return ""
	}
	return dir
}

// maxHeaders limits the number of cached headers.
const maxHeaders = 4096

// header returns the header of a session. It is empty if the session cannot be read.
func (m *noteStore) header(ctx context.Context, id firn.ID) firn.Header {
	m.mu.Lock()
	h, ok := m.headers[id]
	m.mu.Unlock()
	if ok {
		return h
	}
	for rec, err := range m.store.Read(ctx, id, store.Start) {
		if err != nil || rec.Gap != nil {
			return h
		}
		e, err := rec.Entry()
		if found, ok := e.Body.(*firn.Header); err == nil && ok {
			h = *found
		}
		break
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.headers) >= maxHeaders {
		clear(m.headers)
	}
	m.headers[id] = h
	return h
}

// isBusy reports whether facts are being extracted from a session.
func (m *noteStore) isBusy(id firn.ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.busy[id]
}

// aboutFile is the file that describes the subject of a folder.
const aboutFile = ".about.json"

// about is the subject of a folder.
type about struct {
	Scope   memory.Scope `json:"scope"`
	Agent   string       `json:"agent,omitempty"`
	Key     string       `json:"key,omitempty"`
	Project string       `json:"project,omitempty"`
}

// writeAbout writes the about file of a folder, unless it exists.
func (m *noteStore) writeAbout(d *memory.Dir, a about) error {
	dir := filepath.Join(d.Root(), "memory")
	path := filepath.Join(dir, aboutFile)
	if _, err := m.fs.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := json.Marshal(a)
	if err == nil {
		err = m.fs.MkdirAll(dir)
	}
	if err == nil {
		err = vfs.WriteFile(m.fs, path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("create directory of notes: %w", err)
	}
	return nil
}

// target returns the folder of a scope at a place, and writes its about file.
func (m *noteStore) target(c config.Memory, at place, scope memory.Scope) (*memory.Dir, error) {
	if !at.hasNotes() {
		return nil, fmt.Errorf("this conversation has no notes: %w", firn.ErrUnsupported)
	}
	switch scope {
	case memory.ScopeUser:
		d := m.folder(m.userRoot(c, at.agent, at.person))
		return d, m.writeAbout(d, about{Scope: scope, Agent: at.agent, Key: at.person})
	case memory.ScopeProject:
		d := m.folder(m.projectRoot(at.project))
		return d, m.writeAbout(d, about{Scope: scope, Project: at.project})
	}
	d := m.folder(m.agentRoot(c, at.agent))
	return d, m.writeAbout(d, about{Scope: memory.ScopeAgent, Agent: at.agent})
}

// start runs do in the background, unless the store is closed.
func (m *noteStore) start(do func(ctx context.Context)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.work.Go(func() { do(m.ctx) })
}

// close waits for background work until ctx ends, and then cancels it.
func (m *noteStore) close(ctx context.Context) {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	done := make(chan struct{})
	go func() {
		m.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		m.cancel()
		<-done
	}
	m.cancel()
}

// memoryOf returns the memory settings of an agent.
func memoryOf(c config.Config, agent string) config.Memory {
	a, _ := c.Agent(agent)
	if a.Memory != nil {
		return *a.Memory
	}
	return c.Memory
}

// placeIn returns the place for a wire.MemoryPlace and the bounds of the caller. With a
// user scope, the key may also be one of the agent's own conversations.
func (m *noteStore) placeIn(at wire.MemoryPlace, bounds route.Bounds) place {
	here := newPlace(at.Agent, at.Key, m.project(at.Project), bounds)
	if at.Scope == wire.MemoryOfUser && at.Key != "" && here.person == "" && here.hasNotes() && !isHookCall(at.Key) {
		here.person, here.own = at.Key, true
	}
	return here
}
