package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"

	"firn"
	"firn/tool"
)

// notebook is where an agent takes notes: a directory in the home, since a
// project's directory is the user's, and notes are about more than one project.
// It is made when it is first needed.
type notebook struct {
	staff *staff
	agent string

	mu  sync.Mutex
	dir *tool.Workspace
}

// open opens the directory, and makes it if need be.
func (n *notebook) open() (*tool.Workspace, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dir != nil {
		return n.dir, nil
	}
	base := n.staff.settings.Memory.Dir
	if base == "" {
		base = filepath.Join(n.staff.home, "agents")
	}
	dir := filepath.Join(base, n.agent, "workspace")
	if err := n.staff.fs.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("make the directory of notes: %w", err)
	}
	w, err := tool.OpenWorkspace(dir, tool.WorkspaceOptions{})
	if err != nil {
		return nil, err
	}
	n.dir = w
	n.staff.keep(n)
	return w, nil
}

// Close lets go of the directory.
func (n *notebook) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dir == nil {
		return nil
	}
	err := n.dir.Close()
	n.dir = nil
	return err
}

// write is the tool that notes something.
func (n *notebook) write() tool.Tool {
	spec := tool.MemoryWrite(nil, tool.MemoryOptions{Clock: n.staff.clock}).Spec()
	return tool.Func(spec.Name, spec.Description, spec.Schema, func(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
		dir, err := n.open()
		if err != nil {
			return tool.Result{}, err
		}
		return tool.MemoryWrite(dir, tool.MemoryOptions{Clock: n.staff.clock}).Run(ctx, arguments)
	})
}

// remember notes something, as the agent itself would, and says what it did.
func (n *notebook) remember(ctx context.Context, text string) (string, error) {
	arguments, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return "", fmt.Errorf("note something: %w", err)
	}
	result, err := n.write().Run(ctx, arguments)
	if err != nil {
		return "", err
	}
	return firn.JoinText(result.Parts), nil
}
