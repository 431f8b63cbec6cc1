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
	"firn.dev/memory"
	"firn.dev/store"
	"firn.dev/wire"
)

// mind is the memory of all agents: folders of notes, by whom they are about.
type mind struct {
	home   string
	env    func(name string) string
	fs     vfs.FS
	store  store.Store
	clock  func() time.Time
	report func(message string)

	mu      sync.Mutex
	folders map[string]*memory.Dir
	// headers are those of sessions that were asked for, asked the latest message
	// of the user in them.
	headers map[firn.ID]firn.Header
	asked   map[firn.ID]firn.EntryID
	// busy are the sessions that facts are looked for in.
	busy map[firn.ID]bool

	// work is what is done in the background, until ctx ends.
	work   sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc
	closed bool
}

func newMind(home string, env func(string) string, fsys vfs.FS, st store.Store, clock func() time.Time, report func(string)) *mind {
	m := &mind{
		home: home, env: env, fs: fsys, store: st, clock: clock, report: report, folders: make(map[string]*memory.Dir),
		headers: make(map[firn.ID]firn.Header), asked: make(map[firn.ID]firn.EntryID), busy: make(map[firn.ID]bool),
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// place is a conversation, as far as it matters for notes, and what the one who asks
// in it may see.
type place struct {
	agent string
	// person is the key of somebody who writes from outside; empty for the
	// agent's own conversations. project is the directory that is worked on.
	person, project string
	// with is who the conversation is with: person, unless those notes are not for who
	// asks. Then own is set, and person is the key whose conversations they may see, if
	// there is one, which have notes of their own.
	with string
	own  bool
	// bounds is what may be seen: sessions that are found, and notes.
	bounds route.Bounds
}

// newPlace is the place of a session of an agent, for who may see what bounds admit.
// Who may not see all that is the agent's has notes of the conversations that they may
// see, as people who write from outside have; who may see none has no notes.
func newPlace(agent, key, project string, bounds route.Bounds) place {
	at := place{agent: agent, person: person(key), project: project, bounds: bounds}
	at.with = at.person
	if at.with != "" && !bounds.Admits(agent, at.with) || at.with == "" && !bounds.AdmitsAgent(agent) {
		at.person, at.own = "", true
		if cover := bounds.Cover(key); bounds.Admits(agent, key) && !passing(cover) {
			at.person = cover
		}
	}
	if !bounds.Unbounded() {
		at.project = "" // whose notes are those of all agents
	}
	return at
}

// sees reports whether a session may be found at a place: it is one of the same
// agent with the same people, and within the bounds.
func (p place) sees(agent, key string) bool {
	return agent == p.agent && person(key) == p.with && p.bounds.Admits(agent, key)
}

// noted reports whether there are notes at a place at all.
func (p place) noted() bool { return p.person != "" || !p.own }

// passing reports whether a key is that of one call of a hook, which nobody comes back
// to: nothing is noted for it.
func passing(key string) bool {
	k, err := route.Parse(key)
	return err == nil && k.Kind() == route.KindHook && k.Parts().Peer != ""
}

// folder is the folder at a path, the same for all who ask.
func (m *mind) folder(root string) *memory.Dir {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.folders[root]
	if !ok {
		d = memory.Open(root, memory.Options{FS: m.fs, Clock: m.clock})
		m.folders[root] = d
	}
	return d
}

// Where folders are. People and projects have names that no file can have, so
// the names of their folders end in a sum of them.
const (
	workspaceDir = "workspace"
	usersDir     = "users"
	projectsDir  = "projects"
)

func (m *mind) agentRoot(c config.Memory, agent string) string {
	return filepath.Join(cmp.Or(c.Dir, filepath.Join(m.home, "agents")), agent, workspaceDir)
}

func (m *mind) userRoot(c config.Memory, agent, person string) string {
	return filepath.Join(cmp.Or(c.Dir, filepath.Join(m.home, "agents")), agent, usersDir, folderName(person))
}

func (m *mind) projectRoot(project string) string {
	return filepath.Join(m.home, projectsDir, folderName(project))
}

func folderName(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // which cannot fail
	return fmt.Sprintf("%s-%016x", cmp.Or(memory.Slug(name), "x"), h.Sum64())
}

// shelf is the folders that count at a place. Who writes from outside has their
// own, and the agent's only if that is shared.
func (m *mind) shelf(c config.Memory, at place) memory.Shelf {
	var s memory.Shelf
	if !at.noted() {
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

// own is the folder that a place itself has: that of the person or of the
// agent.
func (m *mind) own(c config.Memory, at place) *memory.Dir {
	if at.person != "" {
		return m.folder(m.userRoot(c, at.agent, at.person))
	}
	return m.folder(m.agentRoot(c, at.agent))
}

// scopeOf says where a fact belongs that was found at a place: what a person
// from outside said is theirs, what is about the work stays with the project.
func scopeOf(category memory.Category, at place) memory.Scope {
	switch {
	case at.person != "":
		return memory.ScopeUser
	case at.project != "" && category != memory.Preference && category != "":
		return memory.ScopeProject
	}
	return memory.ScopeAgent
}

// person is the key of somebody who writes from outside, without its thread;
// empty for an agent's own conversations.
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

// placeOf is the place of a session, for who may see what bounds admit.
func (m *mind) placeOf(ctx context.Context, agent string, id firn.ID, workspace string, bounds route.Bounds) place {
	h := m.header(ctx, id)
	return newPlace(agent, h.Key, m.project(cmp.Or(h.CWD, workspace)), bounds)
}

// project is the directory that is worked on; empty if it is nobody's project:
// the root and the user's home are not.
func (m *mind) project(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	dir = filepath.Clean(dir)
	if dir == filepath.Dir(dir) || dir == filepath.Clean(cmp.Or(m.env("HOME"), m.env("USERPROFILE"), "/")) || dir == filepath.Clean(m.home) {
		return ""
	}
	return dir
}

// maxHeaders bounds how many are remembered.
const maxHeaders = 4096

// header is that of a session; empty if it cannot be read.
func (m *mind) header(ctx context.Context, id firn.ID) firn.Header {
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

// aboutFile says whom a folder is about, beside its notes.
const aboutFile = ".about.json"

// about is whom a folder is about.
type about struct {
	Scope   memory.Scope `json:"scope"`
	Agent   string       `json:"agent,omitempty"`
	Key     string       `json:"key,omitempty"`
	Project string       `json:"project,omitempty"`
}

// sign writes down whom a folder is about, once.
func (m *mind) sign(d *memory.Dir, a about) error {
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
		return fmt.Errorf("make a folder of notes: %w", err)
	}
	return nil
}

// target is the folder of a scope at a place, signed.
func (m *mind) target(c config.Memory, at place, scope memory.Scope) (*memory.Dir, error) {
	if !at.noted() {
		return nil, fmt.Errorf("no notes are kept in this conversation: %w", firn.ErrUnsupported)
	}
	switch scope {
	case memory.ScopeUser:
		d := m.folder(m.userRoot(c, at.agent, at.person))
		return d, m.sign(d, about{Scope: scope, Agent: at.agent, Key: at.person})
	case memory.ScopeProject:
		d := m.folder(m.projectRoot(at.project))
		return d, m.sign(d, about{Scope: scope, Project: at.project})
	}
	d := m.folder(m.agentRoot(c, at.agent))
	return d, m.sign(d, about{Scope: memory.ScopeAgent, Agent: at.agent})
}

// start does something in the background, unless the mind is closed.
func (m *mind) start(do func(ctx context.Context)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.work.Go(func() { do(m.ctx) })
}

// wait lets what is done in the background finish until ctx ends, and then ends
// it.
func (m *mind) close(ctx context.Context) {
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

// memoryOf is what the settings say of an agent's memory.
func memoryOf(c config.Config, agent string) config.Memory {
	a, _ := c.Agent(agent)
	if a.Memory != nil {
		return *a.Memory
	}
	return c.Memory
}

// placeIn is a place as the protocol names it, for who may see what bounds admit. The
// notes of one of the agent's own conversations are meant if that is said.
func (m *mind) placeIn(at wire.MemoryPlace, bounds route.Bounds) place {
	here := newPlace(at.Agent, at.Key, m.project(at.Project), bounds)
	if at.Scope == wire.MemoryOfUser && at.Key != "" && here.person == "" && here.noted() && !passing(at.Key) {
		here.person, here.own = at.Key, true
	}
	return here
}
