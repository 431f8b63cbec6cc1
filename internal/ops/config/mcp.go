package config

import (
	"maps"
	"slices"
	"time"
)

// MCPServer is a server of the Model Context Protocol: a program that firn starts, or an
// address.
type MCPServer struct {
	Command       string            `key:"command" doc:"The program to start. It gets messages on stdin and answers on stdout."`
	Args          []string          `key:"args" doc:"Its arguments."`
	Directory     string            `key:"directory" is:"path" doc:"The directory it is started in. Empty means your home directory."`
	Env           map[string]string `key:"env" doc:"Environment variables for it. Not for secrets: use pass_env."`
	PassEnv       []string          `key:"pass_env" is:"variable" doc:"Environment variables passed to it, besides the common ones such as PATH and HOME."`
	URL           string            `key:"url" is:"url" doc:"Instead of command: the address of a server over streamable HTTP."`
	TokenEnv      string            `key:"token_env" is:"variable" doc:"The environment variable that holds the bearer token for url."`
	TokenFile     string            `key:"token_file" is:"path" doc:"A file that holds the token, used if the variable is not set."`
	HeadersEnv    map[string]string `key:"headers_env" is:"variable" doc:"Extra request headers by name, each with the environment variable that holds its value."`
	ClientID      string            `key:"oauth_client_id" doc:"The client ID for OAuth (client credentials grant). Empty means no OAuth."`
	SecretEnv     string            `key:"oauth_secret_env" is:"variable" doc:"The environment variable that holds the OAuth client secret."`
	SecretFile    string            `key:"oauth_secret_file" is:"path" doc:"A file that holds the OAuth client secret, used if the variable is not set."`
	Enabled       bool              `key:"enabled" default:"true" doc:"Whether the server is used."`
	Agents        []string          `key:"agents" default:"*" doc:"The agents that can use it. A * matches any characters."`
	Tools         Tools             `key:"tools" doc:"Which of its tools are enabled, by the server's own names. The tools of an agent are mcp__SERVER__TOOL, to which its own tools settings apply too."`
	Shared        bool              `key:"shared" default:"false" doc:"Whether turns of people from outside, of hooks and of tokens bound to agents or keys can use it. It acts with your rights, regardless of the requester."`
	TrustReadOnly bool              `key:"trust_read_only" default:"false" doc:"Whether a tool that the server declares read-only needs no approval."`
	Wait          time.Duration     `key:"wait" default:"5s" range:"0s..10m" doc:"How long a turn waits for the server to start. After that the turn runs without its tools."`
	StartTimeout  time.Duration     `key:"start_timeout" default:"30s" range:"1s..10m" doc:"How long the server may take to start."`
	Timeout       time.Duration     `key:"timeout" default:"2m" range:"1s..1d" doc:"How long a call may take."`
}

// checkMCPServers checks for contradictory settings of MCP servers.
func (d *decoder) checkMCPServers(s *Settings) {
	for _, name := range slices.Sorted(maps.Keys(s.MCPServers)) {
		m := s.MCPServers[name]
		at := func(key string) string { return joinPath([]string{"mcp_servers", name, key}) }
		switch {
		case m.Command == "" && m.URL == "":
			d.at(s, joinPath([]string{"mcp_servers", name}), "set one of them", "neither command nor url is set")
		case m.Command != "" && m.URL != "":
			d.at(s, at("url"), "keep one of them", "command is already set")
		case m.URL == "" && (m.TokenEnv != "" || m.TokenFile != "" || m.ClientID != "" || len(m.HeadersEnv) > 0):
			d.at(s, at("command"), "use pass_env to pass a variable to the program", "a program needs no token and no headers")
		case m.ClientID != "" && m.SecretEnv == "" && m.SecretFile == "":
			d.at(s, at("oauth_client_id"), "set oauth_secret_env or oauth_secret_file", "the client secret is missing")
		}
	}
}
