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
	Home         string              `key:"home" is:"path" default:"~/.firn" restart:"yes" doc:"The directory that everything is kept in."`
	DefaultAgent string              `key:"default_agent" is:"id" default:"main" doc:"The agent that is meant if none is named."`
	Client       Client              `key:"client" doc:"How commands reach a gateway."`
	Chat         Chat                `key:"chat" doc:"The chat in a terminal."`
	Gateway      Gateway             `key:"gateway" doc:"The process that owns the sessions."`
	Store        Store               `key:"store" restart:"yes" doc:"How sessions are kept."`
	Session      Session             `key:"session" doc:"Which session a message belongs to, and how long a session lasts."`
	Bindings     []Binding           `key:"bindings" doc:"Which agent answers whom. Of several that fit, one that names a peer goes before one that names an account, and that before one that only names a channel. If none fits it is the default agent."`
	Defaults     Agent               `key:"defaults" doc:"What every agent has unless its own table says otherwise. Tables are laid over each other key by key, lists are replaced."`
	Agents       map[string]Agent    `key:"agents" name:"id" doc:"The agents, each in a table of its own. The default agent is there without one."`
	Providers    map[string]Provider `key:"providers" name:"id" doc:"Who has models. Those that firn knows need no table, only a key in the environment."`
	Models       map[string]Model    `key:"models" name:"model" doc:"What firn does not know of a model, or knows wrong, by provider/model in quotes."`
	Projects     map[string]Project  `key:"projects" doc:"What holds for chats in one project, by its directory in quotes: the root of the git repository, or else the directory itself. firn model set --project writes it."`
	Cron         []Cron              `key:"cron" doc:"Jobs that run at certain times, each run in a fresh session."`
	Hooks        map[string]Hook     `key:"hooks" name:"id" doc:"Addresses that other programs call to make an agent do something."`
	Maintenance  Maintenance         `key:"maintenance" doc:"What is cleared away. By default nothing is: everything is kept. What is removed goes to the bin, and is erased from there only by bin_retention and bin_max_bytes. Sessions that run, are pinned, or belong to main keys and groups are never touched."`
	Memory       Memory              `key:"memory" doc:"What agents note for good."`
	Log          Log                 `key:"log" doc:"What the gateway tells of itself. The text of messages is never in it."`
	Telemetry    Telemetry           `key:"telemetry" restart:"yes" doc:"Measures and traces. The text of messages is never in them."`
}

// Project has the settings of a project. Empty values mean those of the agent.
type Project struct {
	Model string `key:"model" is:"model" doc:"Who answers in chats of this project, as provider/model. Empty means the model of the agent."`
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
