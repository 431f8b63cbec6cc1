package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"firn.dev/client"
	"firn.dev/internal/base/route"
	"firn.dev/internal/ops/sessionsync"
	"firn.dev/internal/render/prose"
)

// syncedRepository returns the address of the remote of a project's git repository if the
// sessions of the home are synced; empty if not, or if there is no such address.
func syncedRepository(home, root string) string {
	if home == "" {
		return ""
	}
	c, err := sessionsync.ReadConfig(syncFiles(sessionsync.Dir(home)), sessionsync.Dir(home), "")
	if err != nil || len(c.Targets) == 0 || c.Exclude.HasProject(root) {
		return "" // firn sync reports the error
	}
	return repositoryAddress(root)
}

// elsewhereNote returns a line about the session of a directory's repository that was started
// on another machine, and how to list the sessions of that directory; empty if there is none.
func (p overviewCommands) elsewhereNote(ctx context.Context, c *client.Client, q client.Query) string {
	if q.Directory == "" {
		return ""
	}
	key, err := route.RepositoryKey(cmp.Or(q.Agent, "main"), syncedRepository(chatCommands(p).knownHome(), projectRoot(q.Directory)))
	if err != nil {
		return ""
	}
	s, err := c.Session(ctx, "@"+key.String())
	if err != nil || s.Hidden || s.CWD == "" { // on errors the note is left out
		return ""
	}
	if _, err := os.Stat(s.CWD); err == nil { // it is another directory of this machine
		return ""
	}
	return fmt.Sprintf("%s%s, of the same repository, was started on another machine: firn ls --cwd %s\n", prose.Short(s.ID), quotedName(nameOf(s)), quote(prose.Clean(s.CWD)))
}

// repositoryAddress returns the address of the remote of the git repository at root: that of
// origin, or of the first remote. Git is not run.
func repositoryAddress(root string) string {
	file, err := os.Open(filepath.Join(commonDir(filepath.Join(root, ".git")), "config"))
	if err != nil {
		return ""
	}
	defer file.Close() // only read
	var first, origin, section string
	for scan := bufio.NewScanner(io.LimitReader(file, maxGitConfig)); scan.Scan(); {
		line := strings.TrimSpace(scan.Text())
		if strings.HasPrefix(line, "[") {
			section = line
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || !strings.HasPrefix(section, `[remote "`) || !strings.EqualFold(strings.TrimSpace(name), "url") {
			continue
		}
		address := normalRemote(strings.Trim(strings.TrimSpace(value), `"`))
		if first == "" {
			first = address
		}
		if origin == "" && section == `[remote "origin"]` {
			origin = address
		}
	}
	if origin != "" {
		return origin
	}
	return first
}

// maxGitConfig is how much of a configuration of git is read.
const maxGitConfig = 1 << 20

// commonDir returns the directory with the configuration of a repository: .git itself, or for
// a worktree or submodule the one that the file .git points at.
func commonDir(git string) string {
	info, err := os.Stat(git)
	if err != nil || info.IsDir() || !info.Mode().IsRegular() {
		return git
	}
	dir, err := readLink(git)
	if err != nil {
		return git
	}
	dir = relativeTo(filepath.Dir(git), strings.TrimSpace(strings.TrimPrefix(dir, gitPointer)))
	if common, err := readLink(filepath.Join(dir, "commondir")); err == nil {
		return relativeTo(dir, common)
	}
	return dir
}

// readLink returns the text of a small file.
func readLink(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() { // reading a pipe could block
		return "", errors.ErrUnsupported
	}
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(file, 8<<10))
	return strings.TrimSpace(string(text)), errors.Join(err, file.Close())
}

// relativeTo returns a path, which may be relative to a directory.
func relativeTo(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// normalRemote returns host and path of a remote, the same for all ways to reach it, without
// user and password; empty for a remote on this machine.
func normalRemote(remote string) string {
	host, path := "", ""
	if u, err := url.Parse(remote); err == nil && u.Host != "" {
		host, path = u.Hostname(), u.Path
	} else if before, after, ok := strings.Cut(remote, ":"); ok && !strings.ContainsAny(before, `/\`) && !strings.HasPrefix(after, "//") {
		host, path = before[strings.LastIndexByte(before, '@')+1:], after // user@host:path
	}
	host, path = strings.ToLower(host), strings.ToLower(strings.Trim(path, "/")) // clones differ in case
	path = strings.TrimSuffix(path, ".git")
	if path == "" || isLocalHost(host) {
		return ""
	}
	return host + "/" + path
}

// isLocalHost reports whether a host may be another one elsewhere: a drive letter, a name or
// address of this machine or its network.
func isLocalHost(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".local")
}
