package agent

import (
	"context"
	"encoding/hex"
	"slices"
	"sync"

	"firn.dev"
	"firn.dev/tool"
)

// FileChange is a change of a file as stored with the result of a tool call. The hashes are
// those of the contents, SHA-256 in hexadecimal, or empty if there was no file.
type FileChange struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// recordChanges returns a context in which file changes of a call are recorded, and a
// function that returns them.
func recordChanges(ctx context.Context, t *turn, run Run, call firn.ToolCall) (context.Context, func() []FileChange) {
	c := &changeCollector{}
	ctx = context.WithValue(ctx, collectorKey{}, c)
	if t.a.Changes == nil {
		return ctx, c.collected
	}
	c.ChangeRecorder = t.a.Changes(run.Session, t.answer, call)
	return tool.WithChangeRecorder(ctx, c), c.collected
}

type collectorKey struct{}

// AddFileChanges adds changes to the result of the running call, for a tool whose changes
// are recorded by another program.
func AddFileChanges(ctx context.Context, changes ...FileChange) {
	c, ok := ctx.Value(collectorKey{}).(*changeCollector)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = append(c.changes, changes...)
}

// changeCollector records changes and collects them for the result.
type changeCollector struct {
	tool.ChangeRecorder

	mu      sync.Mutex
	changes []FileChange
}

// After implements [tool.ChangeRecorder].
func (c *changeCollector) After(ctx context.Context, before, after tool.FileState) error {
	err := c.ChangeRecorder.After(ctx, before, after)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = append(c.changes, FileChange{Path: after.Path, Before: hashOf(before), After: hashOf(after)})
	return err
}

// Changed implements [tool.BatchRecorder].
func (c *changeCollector) Changed(ctx context.Context, changes []tool.RecordedChange) error {
	var err error
	if r, ok := c.ChangeRecorder.(tool.BatchRecorder); ok {
		err = r.Changed(ctx, changes)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range changes {
		c.changes = append(c.changes, FileChange{Path: x.After.Path, Before: hashOf(x.Before), After: hashOf(x.After)})
	}
	return err
}

func (c *changeCollector) collected() []FileChange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.changes)
}

func hashOf(s tool.FileState) string {
	if !s.Exists {
		return ""
	}
	return hex.EncodeToString(s.Hash[:])
}
