package config

import "time"

// Provider configures a model provider.
type Provider struct {
	Kind       string             `key:"kind" allow:"|anthropic|openai-chat|openai-responses|offline" doc:"The API of the provider. Empty means the API of the known provider of this name."`
	URL        string             `key:"url" is:"url" doc:"The base URL up to the version, such as https://host/v1; for the kind anthropic the version may be left out. Empty means the URL of the known provider of this name."`
	KeyEnv     string             `key:"key_env" is:"variable" doc:"The environment variable that holds the API key. Empty means the usual one of the known provider of this name."`
	KeyFile    string             `key:"key_file" is:"path" doc:"A file that holds the key, used if the variable is not set."`
	HeadersEnv map[string]string  `key:"headers_env" is:"variable" doc:"Extra request headers by name, each with the environment variable that holds its value."`
	Stall      time.Duration      `key:"stall" default:"0" doc:"How long a response stream may stall before the request fails. 0 means the provider's default."`
	Profile    string             `key:"profile" allow:"|mistral|gemini" doc:"The conversation rules of an openai-chat server. Empty means OpenAI's."`
	Quirks     Quirks             `key:"quirks" doc:"Differences of an openai-chat server from OpenAI's API. Values left out are derived from its address."`
	Profiles   map[string]Profile `key:"profiles" name:"id" doc:"Additional credentials for this provider, by name. A session selects one with /auth NAME; the default is key_env and key_file."`
	Models     map[string]Model   `key:"models" doc:"Properties of its models that firn does not know, by model name."`
}

// Profile is a set of credentials for a provider. Omitted values are not sent: they are
// never replaced by the provider's default key.
type Profile struct {
	KeyEnv     string            `key:"key_env" is:"variable" doc:"The environment variable that holds the API key."`
	KeyFile    string            `key:"key_file" is:"path" doc:"A file that holds the key, used if the variable is not set."`
	HeadersEnv map[string]string `key:"headers_env" is:"variable" doc:"Extra request headers by name, each with the environment variable that holds its value; they replace the provider's."`
}

// Quirks are deviations of servers with OpenAI's older API. Nil and empty values select the
// default.
type Quirks struct {
	MaxTokensField string `key:"max_tokens_field" allow:"|max_tokens|max_completion_tokens" doc:"The request field for the maximum number of output tokens."`
	EffortField    string `key:"effort_field" allow:"|reasoning_effort|reasoning|none" doc:"The request field for the thinking level."`
	StreamUsage    *bool  `key:"stream_usage" doc:"Whether usage must be requested explicitly."`
	Developer      *bool  `key:"developer" doc:"Whether the system prompt uses the role developer instead of system."`
	CacheKey       *bool  `key:"cache_key" doc:"Whether it accepts a prompt cache key."`
	ToolNames      *bool  `key:"tool_names" doc:"Whether tool results must include the tool's name."`
}

// Model overrides the known properties of a model. Nil means no override.
type Model struct {
	Window    *int64 `key:"window" range:"1.." doc:"The size of the context window in tokens: the request and its answer."`
	MaxOutput *int64 `key:"max_output" range:"0.." doc:"The maximum number of output tokens of a response."`
	Price     Price  `key:"price" doc:"The price in US dollars per million tokens."`
	Thinks    *bool  `key:"thinks" doc:"Whether the model supports thinking."`
	Sees      *bool  `key:"sees" doc:"Whether the model accepts images."`
}

// Price is in US dollars per million tokens. Nil means unknown.
type Price struct {
	Input      *float64 `key:"input" range:"0.." doc:"Input tokens."`
	Output     *float64 `key:"output" range:"0.." doc:"Output tokens."`
	CacheRead  *float64 `key:"cache_read" range:"0.." doc:"Input tokens read from the cache."`
	CacheWrite *float64 `key:"cache_write" range:"0.." doc:"Input tokens written to the cache."`
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
