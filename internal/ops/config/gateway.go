package config

import "time"

// Client configures how commands reach a gateway.
type Client struct {
	Gateway   string `key:"gateway" is:"gateway" doc:"The address of the gateway: a URL, or unix: and the path of its socket. Empty means the socket in the home if a gateway listens there, and otherwise no gateway."`
	TokenEnv  string `key:"token_env" is:"variable" default:"FIRN_TOKEN" doc:"The environment variable that holds the token for a gateway over TCP."`
	TokenFile string `key:"token_file" is:"path" doc:"A file that holds the token, used if the variable is not set."`
}

// Gateway configures the listeners and limits of the daemon.
type Gateway struct {
	Socket         string        `key:"socket" is:"path" default:"<home>/gateway.sock" restart:"yes" doc:"The Unix socket it listens on. Empty means none."`
	Listen         string        `key:"listen" is:"listen" restart:"yes" doc:"A TCP address to listen on as well, such as 127.0.0.1:7766. Empty means none. It must be a loopback address unless allow_remote is set."`
	AllowRemote    bool          `key:"allow_remote" default:"false" restart:"yes" doc:"Allow listen to be an address that is reachable from the network. Put TLS in front of it."`
	AllowedHosts   []string      `key:"allowed_hosts" is:"host" restart:"yes" doc:"Host names that requests may use for the gateway, besides localhost and loopback addresses."`
	AllowedOrigins []string      `key:"allowed_origins" is:"origin" restart:"yes" doc:"Origins of web pages that may call the gateway, besides its own pages."`
	Web            bool          `key:"web" default:"true" restart:"yes" doc:"Whether it serves the web UI, which firn open opens. It is available over TCP only."`
	Protocols      []string      `key:"protocols" is:"protocol" default:"openai,anthropic,ag-ui,mcp" restart:"yes" doc:"The other protocols that it serves besides firn's own API: openai, anthropic, ag-ui, mcp."`
	BodyLimit      Bytes         `key:"body_limit" default:"16mib" range:"1kb..2gb" restart:"yes" doc:"The largest size of a request body."`
	HeaderTimeout  time.Duration `key:"header_timeout" default:"10s" range:"100ms..1h" restart:"yes" doc:"Timeout for reading the request header."`
	BodyTimeout    time.Duration `key:"body_timeout" default:"1m" range:"100ms..1d" restart:"yes" doc:"Timeout for reading the request body."`
	WriteTimeout   time.Duration `key:"write_timeout" default:"30s" range:"100ms..1d" restart:"yes" doc:"Timeout for a client to read a response."`
	IdleTimeout    time.Duration `key:"idle_timeout" default:"2m" range:"1s..1d" restart:"yes" doc:"How long an idle connection stays open."`
	Heartbeat      time.Duration `key:"heartbeat" default:"15s" range:"1s..1h" restart:"yes" doc:"The interval of keep-alives on an idle event stream."`
	Patience       time.Duration `key:"patience" default:"5s" range:"100ms..1h" restart:"yes" doc:"How long a slow event subscriber may block before events are dropped and a gap is reported to it."`
	Requests       int           `key:"requests" default:"256" range:"1..1000000" restart:"yes" doc:"The maximum number of requests handled at a time."`
	Streams        int           `key:"streams" default:"1024" range:"1..1000000" restart:"yes" doc:"The maximum number of event streams."`
	Turns          int           `key:"turns" default:"1024" range:"1..1000000" restart:"yes" doc:"The maximum number of requests waiting for a model."`
	Connections    int           `key:"connections" default:"2048" range:"1..1000000" restart:"yes" doc:"The maximum number of TCP connections. A new one replaces the one idle the longest, or is answered with 503."`
	Strangers      int           `key:"unauthenticated_connections" default:"256" range:"1..1000000" restart:"yes" doc:"The maximum number of TCP connections without a valid token; never more than a quarter of connections. A new one replaces the oldest from the address that has the most."`
	StrangerTime   time.Duration `key:"unauthenticated_timeout" default:"5s" range:"100ms..1h" restart:"yes" doc:"Timeout of a TCP connection without a valid token: for a request, its body and its response, and for being idle."`
	OnSocket       int           `key:"socket_connections" default:"1024" range:"1..1000000" restart:"yes" doc:"The maximum number of connections through the Unix socket. They are not counted as TCP connections."`
	AnswerMemory   Bytes         `key:"answer_memory" default:"32mib" range:"1mib.." restart:"yes" doc:"Memory for large responses over TCP, and as much again for the Unix socket. Further requests wait and are answered with 503 after write_timeout."`
	Drain          time.Duration `key:"drain" default:"30s" range:"0s..1h" restart:"yes" doc:"How long the gateway waits for running turns when it shuts down. Unfinished turns continue after the next start."`
	Resident       Bytes         `key:"resident" default:"64mb" range:"1mb.." restart:"yes" doc:"Memory for the cached ends and tree shapes of sessions. Anything that does not fit is read again when needed."`
}

// Binding assigns messages to an agent.
type Binding struct {
	Agent    string `key:"agent" is:"id" need:"yes" doc:"The agent that answers."`
	Channel  string `key:"channel" doc:"The channel that a message comes from, such as telegram. Empty means any."`
	Account  string `key:"account" doc:"The receiving account on the channel. Empty means any."`
	PeerKind string `key:"peer_kind" allow:"|direct|group|channel" doc:"The kind of chat. Empty means any."`
	Peer     string `key:"peer" doc:"The person, group or channel on the other side. Empty means any."`
}

// Cron is a scheduled job.
type Cron struct {
	ID        string        `key:"id" is:"id" need:"yes" doc:"The name of the job; its sessions have keys under cron:<id>."`
	Schedule  string        `key:"schedule" is:"schedule" need:"yes" doc:"When: five fields as in crontab (minute, hour, day, month, weekday), or @hourly, @daily, @weekly, @monthly."`
	Zone      string        `key:"zone" is:"zone" doc:"The time zone of the schedule, such as Europe/Berlin. Empty means session.time_zone."`
	Agent     string        `key:"agent" is:"id" doc:"The agent that runs it. Empty means the default agent."`
	Message   string        `key:"message" need:"yes" doc:"The prompt."`
	Model     string        `key:"model" is:"model" doc:"The model. Empty means the agent's model."`
	Timeout   time.Duration `key:"timeout" default:"30m" range:"1s..7d" doc:"Timeout of a run."`
	Retention time.Duration `key:"retention" default:"0" doc:"How long the session of a run is listed before it is archived. The latest is always listed. 0 means forever."`
	Keep      int           `key:"keep" default:"0" range:"0.." doc:"How many of the latest runs are listed; older ones are archived. 0 means all."`
	Enabled   bool          `key:"enabled" default:"true" doc:"Whether it is enabled."`
	CatchUp   bool          `key:"catch_up" default:"false" doc:"Run once after start if a run was missed while the gateway was down."`
}

// Maintenance configures the removal of old data. Zero values disable it.
type Maintenance struct {
	Mode                  string        `key:"mode" default:"warn" allow:"warn|enforce" doc:"The mode: warn only reports what would be removed; enforce removes it."`
	PruneAfter            time.Duration `key:"prune_after" default:"0" doc:"Remove sessions that have not been used for this long. 0 means never."`
	MaxEntries            int           `key:"max_entries" default:"0" range:"0.." doc:"The maximum number of keys of an agent; the least recently used are removed. 0 means no limit."`
	MaxDiskBytes          Bytes         `key:"max_disk_bytes" default:"0" doc:"Disk space for sessions, including the saved contents of files that their tools changed. The oldest are moved to the trash bin first. If sessions and trash bin together exceed it, maintenance and the log report it. 0 means no limit."`
	HighWater             float64       `key:"high_water" default:"0.8" range:"0.1..1" doc:"Once max_disk_bytes is exceeded, sessions are removed until this fraction of it is reached."`
	ResetArchiveRetention time.Duration `key:"reset_archive_retention" default:"0" doc:"How long sessions ended by a reset are kept. 0 means forever."`
	SubagentIdle          time.Duration `key:"subagent_idle" default:"1h" doc:"Archive sessions of sub-agents after this long without a message, regardless of mode. 0 means never."`
	BinRetention          time.Duration `key:"bin_retention" default:"0" doc:"How long sessions stay in the trash bin before they are erased permanently. 0 means forever."`
	BinMaxBytes           Bytes         `key:"bin_max_bytes" default:"0" doc:"Disk space for the trash bin; the sessions removed first are erased first, permanently. 0 means no limit."`
	Every                 time.Duration `key:"every" default:"1h" range:"1m..30d" doc:"How often maintenance runs."`
}

// Memory configures the notes of agents.
type Memory struct {
	Enabled bool   `key:"enabled" default:"true" doc:"Whether agents can save and recall notes."`
	Dir     string `key:"dir" is:"path" default:"<home>/agents" doc:"The directory of notes. Each agent has the directory <agent>/workspace, and <agent>/users with a directory per user."`
	Shared  bool   `key:"shared" default:"false" doc:"Whether people on channels also see notes from the agent's own conversations. Otherwise they see only notes from theirs."`
	Index   bool   `key:"index" default:"true" doc:"Whether MEMORY.md is sent to the model in every turn, up to 200 lines and 25,000 bytes."`
	Recall  Recall `key:"recall" doc:"Which relevant notes and earlier messages are shown to the model."`
	Extract bool   `key:"extract" default:"true" doc:"Whether facts are extracted automatically after long turns, with references to their entries."`
	Dream   Dream  `key:"dream" doc:"The consolidation of notes while all conversations are idle."`
}

// Recall limits the context recalled before a turn.
type Recall struct {
	Count int     `key:"count" default:"5" range:"0..100" doc:"The maximum number of notes and earlier messages. 0 means none."`
	Bytes int     `key:"bytes" default:"4096" range:"0..1000000" doc:"The largest total size in bytes."`
	Share float64 `key:"share" default:"0.05" range:"0..1" doc:"The fraction of the model's window they may use."`
	Floor float64 `key:"floor" default:"0.25" range:"0..1" doc:"The lowest relevance score for a result to be recalled."`
	Past  bool    `key:"past" default:"true" doc:"Whether earlier conversations are recalled too, and not only notes."`
}

// Dream configures the consolidation of notes in the background.
type Dream struct {
	Enabled  bool          `key:"enabled" default:"true" doc:"Whether the gateway does this automatically. It can always be requested."`
	Every    time.Duration `key:"every" default:"24h" range:"1m..365d" doc:"The shortest time between two runs."`
	Sessions int           `key:"sessions" default:"5" range:"1..1000" doc:"The minimum number of new conversations since the last run."`
	Idle     time.Duration `key:"idle" default:"5m" range:"1s..1d" doc:"How long all conversations must be idle. A turn that starts cancels the run and nothing is changed."`
}

// Search configures the search for messages.
type Search struct {
	Embeddings Embeddings `key:"embeddings" doc:"A model that computes vectors of texts, so that questions find messages with similar meanings: an embeddings endpoint (url and model), or files on this machine (dir). Optional: without it, or if it fails, search works as usual. The gateway passes it all messages in the background, and questions when they are asked; hidden messages and secrets are left out."`
}

// Embeddings configures an embeddings endpoint, or a model in a directory.
type Embeddings struct {
	URL     string `key:"url" is:"url" doc:"The address of the endpoint: a base URL with OpenAI's API, such as https://api.openai.com/v1 or http://localhost:11434/v1, or Ollama's own, such as http://localhost:11434/api/embed. Empty means none."`
	Model   string `key:"model" doc:"The model, such as text-embedding-3-small or nomic-embed-text. If it changes, all vectors are computed again."`
	Dir     string `key:"dir" is:"path" doc:"A directory with a model in Model2Vec's format (model.safetensors and tokenizer.json), such as a copy of minishlab/potion-base-8M, instead of an endpoint. A relative path starts at the home. Nothing is sent. If the model changes, all vectors are computed again."`
	KeyEnv  string `key:"key_env" is:"variable" doc:"The environment variable that holds the API key. Empty means none."`
	KeyFile string `key:"key_file" is:"path" doc:"A file that holds the key, used if the variable is not set."`
	Batch   int    `key:"batch" default:"32" range:"1..1000" doc:"The maximum number of messages of a request."`
}

// Log configures the log of the gateway.
type Log struct {
	Level  string `key:"level" default:"info" allow:"debug|info|warn|error" doc:"The lowest level that is logged."`
	Format string `key:"format" default:"auto" allow:"auto|text|json" restart:"yes" doc:"The log format. auto is text on a terminal and JSON elsewhere."`
}

// Telemetry configures metrics and traces.
type Telemetry struct {
	Metrics bool   `key:"metrics" default:"true" doc:"Serve Prometheus metrics at /metrics."`
	Traces  string `key:"traces" default:"auto" allow:"auto|off" doc:"Whether traces are exported. auto exports them if an OTEL_ endpoint is set."`
	Service string `key:"service" default:"firn" doc:"The service name in traces, unless OTEL_SERVICE_NAME is set."`
}
