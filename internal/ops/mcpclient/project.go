package mcpclient

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/pattern"
)

const (
	// ProjectFile is the name of a project's list of servers, as Claude Code has it.
	ProjectFile = ".mcp.json"
	// MaxProjectFile limits its size, maxProjectServers the servers in it.
	MaxProjectFile    = 256 << 10
	maxProjectServers = 64
)

// projectServer is a server in a project's file.
type projectServer struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// Digest identifies the content of a project's file.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Project is where the servers of a project run.
type Project struct {
	// Dir is the directory of the file, in which programs are started.
	Dir string
	// Base is the environment that programs get besides their own variables.
	Base []string
	// Env returns variables that the file refers to, as ${NAME} or ${NAME:-default}. If it is
	// nil, references stay as they are: for showing what a file says.
	Env func(name string) string
}

// Parse returns the servers in a project's file, sorted by name. A server that cannot be used
// has a Problem. The error is [firn.ErrInvalid] if the file cannot be read at all.
func (p Project) Parse(data []byte) ([]Server, error) {
	if len(data) > MaxProjectFile {
		return nil, fmt.Errorf("%s has more than %d bytes: %w", ProjectFile, MaxProjectFile, firn.ErrTooLarge)
	}
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &file); err != nil {
		return nil, fmt.Errorf("%s is not valid: %w: %w", ProjectFile, err, firn.ErrInvalid)
	}
	if len(file.Servers) > maxProjectServers {
		return nil, fmt.Errorf("%s has more than %d servers: %w", ProjectFile, maxProjectServers, firn.ErrTooLarge)
	}
	servers := make([]Server, 0, len(file.Servers))
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		servers = append(servers, p.server(name, file.Servers[name]))
	}
	return servers, nil
}

// server returns a server of the file.
func (p Project) server(name string, data json.RawMessage) Server {
	s := Server{Name: brief(name), Source: ProjectFile, Dir: p.Dir}
	var x projectServer
	if err := json.Unmarshal(data, &x); err != nil {
		s.Problem = "its entry in " + ProjectFile + " is not valid: " + brief(err.Error())
		return s
	}
	e := &expander{env: p.Env}
	s.Command, s.URL, s.Env = e.expand(x.Command), e.expand(x.URL), slices.Clone(p.Base)
	for _, a := range x.Args {
		s.Args = append(s.Args, e.expand(a))
	}
	for _, key := range slices.Sorted(maps.Keys(x.Env)) {
		s.Env = append(s.Env, key+"="+e.expand(x.Env[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(x.Headers)) {
		if s.Header == nil {
			s.Header = make(http.Header)
		}
		s.Header.Set(key, e.expand(x.Headers[key]))
	}
	if err := CheckKind(x.Type, s); err != nil {
		s.Problem = err.Error()
	} else if len(e.missing) > 0 {
		s.Problem = "the variable " + e.missing[0] + " is not set"
	}
	return s
}

// CheckKind returns an error if a server has no transport that firn knows. Kind is stdio,
// http, streamable-http or empty.
func CheckKind(kind string, s Server) error {
	switch {
	case !slices.Contains([]string{"", "stdio", "http", "streamable-http"}, kind):
		return fmt.Errorf("its type %.40q is not supported; use stdio or http", kind)
	case s.Command == "" && s.URL == "":
		return errors.New("it has neither a command nor a url")
	case s.Command != "" && s.URL != "":
		return errors.New("it has both a command and a url")
	case s.URL != "":
		u, err := url.Parse(s.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("its url does not start with http:// or https://")
		}
	}
	return nil
}

// reference is a variable in a value.
var reference = pattern.New(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// expander replaces variables.
type expander struct {
	env     func(string) string
	missing []string
}

// expand replaces the variables in a text. It records those that are not set and have no
// default.
func (e *expander) expand(text string) string {
	if e.env == nil {
		return text
	}
	return reference().ReplaceAllStringFunc(text, func(found string) string {
		m := reference().FindStringSubmatch(found)
		if value := e.env(m[1]); value != "" {
			return value
		}
		if m[2] == "" {
			e.missing = append(e.missing, m[1])
		}
		return strings.TrimPrefix(m[2], ":-")
	})
}

// References returns the names of the variables that the values of a server refer to, sorted.
// The server is one whose references were not replaced.
func References(s Server) []string {
	values := slices.Concat([]string{s.Command, s.URL}, s.Args, s.Env)
	for _, v := range s.Header {
		values = append(values, v...)
	}
	var names []string
	for _, v := range values {
		for _, m := range reference().FindAllStringSubmatch(v, -1) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
