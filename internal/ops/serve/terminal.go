package serve

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/base/approve"
	"firn.dev/internal/disk/filehistory"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/gateway/filerewind"
	"firn.dev/internal/ops/mcpclient"
	"firn.dev/tool"
	"firn.dev/wire"
)

// Terminal runs the tools of turns that a gateway in another process runs: where the user
// types, as that user, in that environment. File changes are recorded in the home of this
// process.
type Terminal struct {
	builder *agentBuilder
	history *filehistory.History
	tools   map[string]tool.Tool
	offer   wire.ClientTools
	// servers has the tools of MCP servers that this process runs; nil if there are none.
	servers *clientServers
	// compare records the files that commands in the background changed.
	compare func()
}

// OpenTerminal returns the tools that o.Local allows an agent, or none. Close must be called
// after use.
func OpenTerminal(o Options, agentName string) (*Terminal, error) {
	if o.Report == nil {
		o.Report = func(string) {}
	}
	c, _ := o.Settings.Agent(agentName)
	t := &Terminal{
		builder: &agentBuilder{home: o.Settings.Home, settings: o.Settings.Config, env: o.Env, clock: time.Now, report: o.Report, fs: sealfs.Home(o.Settings.Home)},
		history: fileHistory(o.Settings.Home), tools: make(map[string]tool.Tool), compare: func() {},
	}
	t.offer = wire.ClientTools{Secret: newSecret(), Directory: o.Local.Workspace, Tools: []wire.ClientTool{}, Outside: o.Local.Shell && !o.Local.NoTools}
	if !o.Local.NoTools {
		tools, compare, err := t.builder.workspaceTools(*o.Local, c)
		if err != nil {
			return nil, err
		}
		t.compare = compare
		for _, x := range tools {
			t.add(x, allowed(c.Tools, x.Spec().Name))
		}
		t.servers = newClientServers(t.builder, o, c.Tools, func() []mcpclient.Server {
			servers, notice := t.builder.projectServers(o.Local.Workspace)
			if notice != "" {
				t.builder.reportOnce(notice)
			}
			return servers
		})
	}
	for _, f := range t.builder.instructions(c.Instructions, o.Local.Workspace) {
		if text := instructionText(f); text != "" {
			t.offer.Instructions = append(t.offer.Instructions, text)
		}
	}
	return t, nil
}

// add adds a tool to the offer if it is allowed.
func (t *Terminal) add(x tool.Tool, allowed bool) {
	if !allowed {
		return
	}
	t.tools[x.Spec().Name] = x
	t.offer.Tools = append(t.offer.Tools, offered(x))
}

// offered describes a tool to the gateway.
func offered(x tool.Tool) wire.ClientTool {
	spec := x.Spec()
	_, preview := x.(tool.Previewer)
	reader, ok := x.(tool.ReadOnly)
	return wire.ClientTool{
		ToolSpec: wire.ToolSpec{Name: spec.Name, Description: spec.Description, Schema: spec.Schema},
		Preview:  preview, ReadOnly: ok && reader.ReadOnly(),
	}
}

// Offer returns the tools to send with a turn. MCP servers are started, and it waits for them
// as long as their settings say.
func (t *Terminal) Offer() *wire.ClientTools {
	t.compare()
	offer := t.offer
	offer.Tools = slices.Clone(offer.Tools)
	for _, x := range t.servers.offer() {
		if t.tools[x.Spec().Name] == nil && len(offer.Tools) < mostOffered {
			offer.Tools = append(offer.Tools, offered(x))
		}
	}
	return &offer
}

// Close ends the commands that are still running.
func (t *Terminal) Close() error { return t.builder.close() }

// Run runs a call and returns its result.
func (t *Terminal) Run(ctx context.Context, session firn.ID, call wire.ClientCall, progress func(string)) (r wire.ClientResult) {
	defer func() {
		if p := recover(); p != nil {
			r.Error = fmt.Sprintf("the tool panicked: %v", p)
		}
		r.Secret, r.Digest, r.Preview = t.offer.Secret, call.Digest, call.Preview
	}()
	x, ok := t.tools[call.Name]
	if !ok {
		x, ok = t.servers.find(call.Name)
	}
	if !ok || call.Digest != approve.Digest(call.Name, call.Arguments) {
		return wire.ClientResult{Error: "the terminal did not offer this call"}
	}
	if call.Outside != "" {
		if !t.offer.Outside { // without commands, the gateway cannot reach other files either
			return wire.ClientResult{Error: "the terminal did not offer calls outside its directory"}
		}
		ctx = tool.WithOutside(ctx, call.Outside)
	}
	if call.Preview {
		return previewHere(ctx, x, call)
	}
	if err := session.Check(); err != nil {
		return wire.ClientResult{Error: err.Error()}
	}
	files := &changedFiles{recorder: changeRecorder{t.history, session, call.Entry, firn.ToolCall{ID: call.Call, Name: call.Name, Arguments: call.Arguments}}}
	ctx = tool.WithProgress(tool.WithChangeRecorder(ctx, files), progress)
	result, err := x.Run(ctx, call.Arguments)
	r = wire.ClientResult{IsError: result.IsError, Details: result.Details, Files: files.collected()}
	for _, p := range result.Parts {
		if i, ok := p.(firn.Image); ok {
			r.Images = append(r.Images, wire.Image{MimeType: i.MimeType, Data: i.Data})
		}
	}
	r.Text, _ = firn.CleanText(firn.JoinText(result.Parts))
	if err != nil {
		r.Error, _ = firn.CleanText(err.Error())
	}
	return r
}

// previewHere returns the change that a call would make.
func previewHere(ctx context.Context, x tool.Tool, call wire.ClientCall) wire.ClientResult {
	p, ok := x.(tool.Previewer)
	if !ok {
		return wire.ClientResult{}
	}
	diff, err := p.Preview(ctx, call.Arguments)
	if err != nil {
		text, _ := firn.CleanText(err.Error())
		return wire.ClientResult{Error: text}
	}
	diff, _ = firn.CleanText(diff)
	return wire.ClientResult{Text: diff}
}

// changedFiles records changes and collects them for the result.
type changedFiles struct {
	recorder changeRecorder
	mu       sync.Mutex
	files    []wire.ChangedFile
}

// Before implements [tool.ChangeRecorder].
func (c *changedFiles) Before(ctx context.Context, s tool.FileState) error {
	return c.recorder.Before(ctx, s)
}

// After implements [tool.ChangeRecorder].
func (c *changedFiles) After(ctx context.Context, before, after tool.FileState) error {
	err := c.recorder.After(ctx, before, after)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files = append(c.files, wire.ChangedFile{Path: after.Path, Before: fileStateOf(before).Hash, After: fileStateOf(after).Hash})
	return err
}

// Changed implements [tool.BatchRecorder].
func (c *changedFiles) Changed(ctx context.Context, changes []tool.RecordedChange) error {
	err := c.recorder.Changed(ctx, changes)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range changes {
		c.files = append(c.files, wire.ChangedFile{Path: x.After.Path, Before: fileStateOf(x.Before).Hash, After: fileStateOf(x.After).Hash})
	}
	return err
}

func (c *changedFiles) collected() []wire.ChangedFile {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.files)
}

// LocalFiles has the files that tools of this machine changed for sessions of a gateway with
// another home. It implements [client.LocalFiles].
type LocalFiles struct{ rewinder *filerewind.Rewinder }

// OpenLocalFiles returns the files whose contents are stored in a home.
func OpenLocalFiles(home string, env func(string) string) LocalFiles {
	return LocalFiles{&filerewind.Rewinder{History: fileHistory(home), Disk: fileDisk{}, Git: gitFiles{env}}}
}

// Rewind implements [client.LocalFiles].
func (f LocalFiles) Rewind(ctx context.Context, done wire.FilesRewound, q wire.FileRewind) (wire.FilesRewound, error) {
	return f.rewinder.RewindCalls(ctx, done, q)
}

// Changes implements [client.LocalFiles].
func (f LocalFiles) Changes(id firn.ID, answers []firn.EntryID, diff bool) ([]wire.FileStep, error) {
	return f.rewinder.ChangesOfCalls(id, answers, diff)
}

// Blame implements [client.LocalFiles].
func (f LocalFiles) Blame(path string) (wire.Blame, error) { return f.rewinder.Blame(path) }
