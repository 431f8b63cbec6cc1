package config

import "time"

// Provider configures a model provider.
type Provider struct {
	Kind       string             `key:"kind" allow:"|anthropic|openai-chat|openai-responses|offline" doc:"The API it speaks. Empty means that of the provider of this name, which firn must know."`
	URL        string             `key:"url" is:"url" doc:"Its base address, as far as the version, such as https://host/v1; for the kind anthropic the version may be left out. Empty means that of the provider of this name."`
	KeyEnv     string             `key:"key_env" is:"variable" doc:"The variable that holds the key. Empty means the usual one of the provider of this name."`
	KeyFile    string             `key:"key_file" is:"path" doc:"A file that holds the key, if the variable does not."`
	HeadersEnv map[string]string  `key:"headers_env" is:"variable" doc:"Headers to send with each request, and the variables that hold them."`
	Stall      time.Duration      `key:"stall" default:"0" doc:"How long it may be silent in the middle of an answer. 0 means what is usual for it."`
	Profile    string             `key:"profile" allow:"|mistral|gemini" doc:"Whose rules for conversations hold behind openai-chat. Empty means OpenAI's."`
	Quirks     Quirks             `key:"quirks" doc:"Where a server behind openai-chat differs from others. What is left out is found out from its address."`
	Profiles   map[string]Profile `key:"profiles" name:"id" doc:"Other credentials for it, by name. A session chooses one with /auth NAME; without a choice key_env and key_file count."`
	Models     map[string]Model   `key:"models" doc:"What firn does not know of its models, by their names."`
}

// Profile is a set of credentials for a provider. Omitted values are not sent: they are
// never replaced by the provider's default key.
type Profile struct {
	KeyEnv     string            `key:"key_env" is:"variable" doc:"The variable that holds the key."`
	KeyFile    string            `key:"key_file" is:"path" doc:"A file that holds the key, if the variable does not."`
	HeadersEnv map[string]string `key:"headers_env" is:"variable" doc:"Headers to send with each request, and the variables that hold them, instead of the provider's own."`
}

// Quirks are deviations of servers with OpenAI's older API. Nil and empty values select the
// default.
type Quirks struct {
	MaxTokensField string `key:"max_tokens_field" allow:"|max_tokens|max_completion_tokens" doc:"The member that bounds an answer."`
	EffortField    string `key:"effort_field" allow:"|reasoning_effort|reasoning|none" doc:"The member that says how hard to think."`
	StreamUsage    *bool  `key:"stream_usage" doc:"Whether usage must be asked for."`
	Developer      *bool  `key:"developer" doc:"Whether the system prompt is said by developer, not by system."`
	CacheKey       *bool  `key:"cache_key" doc:"Whether it takes a key that keeps the requests of a session together."`
	ToolNames      *bool  `key:"tool_names" doc:"Whether results must name their tools."`
}

// Model overrides the known properties of a model. Nil means no override.
type Model struct {
	Window    *int64 `key:"window" range:"1.." doc:"How many tokens a request and its answer may have together."`
	MaxOutput *int64 `key:"max_output" range:"0.." doc:"How many of them the answer may have."`
	Price     Price  `key:"price" doc:"What it costs, in US dollars for a million tokens."`
	Thinks    *bool  `key:"thinks" doc:"Whether it can be asked to think."`
	Sees      *bool  `key:"sees" doc:"Whether it takes images."`
}

// Price is in US dollars per million tokens. Nil means unknown.
type Price struct {
	Input      *float64 `key:"input" range:"0.." doc:"What it is sent."`
	Output     *float64 `key:"output" range:"0.." doc:"What it answers."`
	CacheRead  *float64 `key:"cache_read" range:"0.." doc:"What it finds in its cache."`
	CacheWrite *float64 `key:"cache_write" range:"0.." doc:"What it puts there."`
}

// over merges m over other.
func (m Model) over(other Model) Model {
	overrideField(&other.Window, m.Window)
	overrideField(&other.MaxOutput, m.MaxOutput)
	overrideField(&other.Price.Input, m.Price.Input)
	overrideField(&other.Price.Output, m.Price.Output)
	overrideField(&other.Price.CacheRead, m.Price.CacheRead)
	overrideField(&other.Price.CacheWrite, m.Price.CacheWrite)
	overrideField(&other.Thinks, m.Thinks)
	overrideField(&other.Sees, m.Sees)
	return other
}

func overrideField[T any](under **T, over *T) {
	if over != nil {
		*under = over
	}
}
