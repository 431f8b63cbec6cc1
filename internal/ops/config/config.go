// Package config reads firn's settings from firn.toml, from environment variables that
// begin with FIRN_, and from flags. Flags take precedence over variables, variables over
// the file, and the file over the defaults. The file is optional.
//
// [Open] reads all of them into a [Config] of validated values. It reports all problems
// together, each with its position and a suggestion; see [Problems]. Unknown keys are
// errors: a misspelled key would otherwise have no effect.
//
// The settings are described once, by the tags of the fields of Config. Their names,
// defaults, allowed values, documentation ([Markdown]) and variable names are derived from
// them.
//
// Secrets are never in the settings, which only name a variable or a file for [Secret] to
// read. The package has no global state and starts no goroutines.
package config

import (
	"maps"
	"slices"
)

// Config holds all settings. Use [Default] or [Open] to create one: a setting explicitly
// set to zero is zero and has the meaning given in its description.
//
// A nil pointer field was not set; its description names the value used instead.
type Config struct {
	Home         string               `key:"home" is:"path" default:"~/.firn" restart:"yes" doc:"The home directory, which holds all data."`
	DefaultAgent string               `key:"default_agent" is:"id" default:"main" doc:"The agent to use if none is given."`
	Client       Client               `key:"client" doc:"How commands connect to a gateway."`
	Chat         Chat                 `key:"chat" doc:"The chat in a terminal."`
	Gateway      Gateway              `key:"gateway" doc:"The process that owns the sessions."`
	Store        Store                `key:"store" restart:"yes" doc:"How sessions are stored."`
	Session      Session              `key:"session" doc:"Which session a message belongs to, and how long a session lasts."`
	Bindings     []Binding            `key:"bindings" doc:"Which agent answers which messages. If several match, one with a peer precedes one with an account, which precedes one with only a channel. If none matches, the default agent answers."`
	Defaults     Agent                `key:"defaults" doc:"Defaults for every agent. An agent's own table overrides them key by key; lists are replaced."`
	Agents       map[string]Agent     `key:"agents" name:"id" doc:"The agents, one table each. The default agent needs no table."`
	Providers    map[string]Provider  `key:"providers" name:"id" doc:"Model providers. Known providers need no table, only an API key in the environment."`
	Models       map[string]Model     `key:"models" name:"model" doc:"Model properties that firn does not know or has wrong, by provider/model in quotes."`
	Projects     map[string]Project   `key:"projects" doc:"Settings for chats in one project, by its directory in quotes: the root of the git repository, or else the directory itself. firn model set --project writes it."`
	Cron         []Cron               `key:"cron" doc:"Scheduled jobs; each run gets a new session."`
	Hooks        map[string]Hook      `key:"hooks" name:"id" doc:"Webhooks: addresses that other programs call to run an agent."`
	MCPServers   map[string]MCPServer `key:"mcp_servers" name:"id" doc:"Servers of the Model Context Protocol whose tools agents can use, by name. firn mcp add writes it."`
	Maintenance  Maintenance          `key:"maintenance" doc:"What is removed automatically. By default nothing is. Removed sessions go to the trash bin and are erased from it only by bin_retention and bin_max_bytes. Sessions that are running or pinned, or belong to main keys and groups, are never removed."`
	Memory       Memory               `key:"memory" doc:"The agents' long-term memory."`
	Search       Search               `key:"search" restart:"yes" doc:"How messages are searched."`
	Log          Log                  `key:"log" doc:"The gateway's log. It never contains the text of messages."`
	Telemetry    Telemetry            `key:"telemetry" restart:"yes" doc:"Metrics and traces. They never contain the text of messages."`
}

// Project has the settings of a project. Empty values mean those of the agent.
type Project struct {
	Model string `key:"model" is:"model" doc:"The model for chats in this project, as provider/model. Empty means the agent's model."`
}

// Agent returns the settings of an agent and reports whether it is known. The default agent
// and agents with a table are known. Others have [Config.Defaults].
func (c Config) Agent(id string) (Agent, bool) {
	a, ok := c.Agents[id]
	if !ok {
		return c.Defaults, id == c.DefaultAgent
	}
	return a, true
}

// AgentIDs returns the known agents: the default agent first, the others sorted.
func (c Config) AgentIDs() []string {
	ids := slices.Sorted(maps.Keys(c.Agents))
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == c.DefaultAgent })
	return append([]string{c.DefaultAgent}, ids...)
}

// Model returns the overrides of a model by the names of its provider and model. The models
// table takes precedence over the provider's own table.
func (c Config) Model(provider, model string) Model {
	return c.Models[provider+"/"+model].over(c.Providers[provider].Models[model])
}
