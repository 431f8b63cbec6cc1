package serve

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/ops/mcpclient"
)

// mcpMember is the member of the file of approvals with the approved lists of MCP servers: the
// digest of each, by the directory of the project.
const mcpMember = "mcp"

// mcpDigests returns the digests of approved lists.
func (t *approvedTable) mcpDigests() (map[string]string, error) {
	digests := make(map[string]string)
	if raw, ok := t.rest[mcpMember]; ok {
		if err := json.Unmarshal(raw, &digests); err != nil {
			return nil, fmt.Errorf("the member %s is not valid: %w", mcpMember, err)
		}
	}
	return digests, nil
}

// mcpDigest returns the digest of the list of MCP servers that was approved for a project;
// empty if none was.
func (a *approvedRules) mcpDigest(root string) (string, error) {
	t, err := a.read()
	if err != nil {
		return "", err
	}
	digests, err := t.mcpDigests()
	if err != nil {
		return "", fmt.Errorf("read %s: %w", a.path(), err)
	}
	return digests[root], nil
}

// setMCPDigest approves a list of MCP servers for a project. An empty digest revokes that.
func (a *approvedRules) setMCPDigest(root, digest string) error {
	return a.change(func(t *approvedTable) error {
		digests, err := t.mcpDigests()
		if err != nil {
			return err
		}
		if delete(digests, root); digest != "" {
			digests[root] = digest
		}
		t.rest[mcpMember], err = json.Marshal(digests)
		return err
	})
}

// MCPProject is the list of MCP servers of a project.
type MCPProject struct {
	// File is the path of the list.
	File    string
	Servers []mcpclient.Server
	// Written are the same servers as the file has them, for showing: without the environment
	// of firn and the values of variables, which may be secret.
	Written  []mcpclient.Server
	Approved bool
	// Digest identifies the content of the file.
	Digest string

	home, root string
}

// ReadMCPProject reads the list of MCP servers of the project that a directory belongs to. The
// error is [firn.ErrNotFound] if there is none.
func ReadMCPProject(home, dir string, env func(string) string) (*MCPProject, error) {
	p, found, err := readMCPProject(sealfs.Home(home), home, dir, env)
	file := filepath.Join(p.root, mcpclient.ProjectFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if !found {
		return nil, fmt.Errorf("%s: %w", file, firn.ErrNotFound)
	}
	return &MCPProject{File: file, Servers: p.servers, Written: p.written, Approved: p.approved, Digest: p.digest, home: home, root: p.root}, nil
}

// Approve allows agents in the project to use the servers, as long as the file does not
// change. If approved is false, it takes that back.
func (p *MCPProject) Approve(approved bool) error {
	digest := p.Digest
	if !approved {
		digest = ""
	}
	return (&approvedRules{fs: sealfs.Home(p.home), home: p.home}).setMCPDigest(p.root, digest)
}
