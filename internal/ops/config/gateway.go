package config

import "time"

// Client configures how commands reach a gateway.
type Client struct {
	Gateway   string `key:"gateway" is:"gateway" doc:"Where the gateway is: a URL, or unix: and the path of its socket. Empty means the socket of the home, if somebody listens there, or else no gateway at all."`
	TokenEnv  string `key:"token_env" is:"variable" default:"FIRN_TOKEN" doc:"The variable that holds the token for a gateway over TCP."`
	TokenFile string `key:"token_file" is:"path" doc:"A file that holds the token, if the variable does not."`
}

// Gateway configures the listeners and limits of the daemon.
type Gateway struct {
	Socket         string        `key:"socket" is:"path" default:"<home>/gateway.sock" restart:"yes" doc:"The Unix socket it listens on. Empty means none."`
	Listen         string        `key:"listen" is:"listen" restart:"yes" doc:"A TCP address it listens on too, such as 127.0.0.1:7766. Empty means none. Only a loopback address, unless allow_remote says so."`
	AllowRemote    bool          `key:"allow_remote" default:"false" restart:"yes" doc:"Lets listen be an address that others on the network reach. Put TLS in front of it."`
	AllowedHosts   []string      `key:"allowed_hosts" is:"host" restart:"yes" doc:"Names that requests may call the gateway by, beside localhost and loopback addresses."`
	AllowedOrigins []string      `key:"allowed_origins" is:"origin" restart:"yes" doc:"Origins of web pages that may talk to it, beside its own pages."`
	Web            bool          `key:"web" default:"true" restart:"yes" doc:"Whether it serves pages to browsers, which firn open lets in. They get there over TCP only."`
	BodyLimit      Bytes         `key:"body_limit" default:"16mib" range:"1kb..2gb" restart:"yes" doc:"How large the body of a request may be."`
	HeaderTimeout  time.Duration `key:"header_timeout" default:"10s" range:"100ms..1h" restart:"yes" doc:"How long a client may take to send the head of a request."`
	BodyTimeout    time.Duration `key:"body_timeout" default:"1m" range:"100ms..1d" restart:"yes" doc:"How long the body of a request may take to come."`
	WriteTimeout   time.Duration `key:"write_timeout" default:"30s" range:"100ms..1d" restart:"yes" doc:"How long a client may leave an answer lying."`
	IdleTimeout    time.Duration `key:"idle_timeout" default:"2m" range:"1s..1d" restart:"yes" doc:"How long a connection without a request stays open."`
	Heartbeat      time.Duration `key:"heartbeat" default:"15s" range:"1s..1h" restart:"yes" doc:"How often a quiet stream of events shows that it is alive."`
	Patience       time.Duration `key:"patience" default:"5s" range:"100ms..1h" restart:"yes" doc:"How long one who listens may take no event before it is told that there is a gap."`
	Requests       int           `key:"requests" default:"256" range:"1..1000000" restart:"yes" doc:"How many requests are answered at a time."`
	Streams        int           `key:"streams" default:"1024" range:"1..1000000" restart:"yes" doc:"How many clients may listen at a time."`
	Turns          int           `key:"turns" default:"1024" range:"1..1000000" restart:"yes" doc:"How many clients may wait for a model at a time."`
	Connections    int           `key:"connections" default:"2048" range:"1..1000000" restart:"yes" doc:"How many TCP connections there may be at a time. A newcomer displaces the one that has been idle longest, or is answered 503."`
	Strangers      int           `key:"unauthenticated_connections" default:"256" range:"1..1000000" restart:"yes" doc:"How many of the TCP connections may be ones that have not shown a valid token; never more than a quarter of connections. A newcomer displaces the oldest of the address that has the most."`
	StrangerTime   time.Duration `key:"unauthenticated_timeout" default:"5s" range:"100ms..1h" restart:"yes" doc:"How long a TCP connection that has not shown a valid token may take for a request, its body, or an answer, and how long it may be idle."`
	OnSocket       int           `key:"socket_connections" default:"1024" range:"1..1000000" restart:"yes" doc:"How many connections through the Unix socket there may be at a time. They do not count as TCP connections."`
	AnswerMemory   Bytes         `key:"answer_memory" default:"32mib" range:"1mib.." restart:"yes" doc:"How much memory large answers may take while they are made and sent over TCP, and as much again through the socket. Others wait, and are answered 503 after write_timeout."`
	Drain          time.Duration `key:"drain" default:"30s" range:"0s..1h" restart:"yes" doc:"How long turns that run may take to end when the gateway is told to stop. What is not done by then goes on after the next start."`
	Resident       Bytes         `key:"resident" default:"64mb" range:"1mb.." restart:"yes" doc:"How much of the ends of live sessions, and of the shapes of sessions that are looked at, is kept in memory. What does not fit is read again when it is needed."`
}

// Binding assigns messages to an agent.
type Binding struct {
	Agent    string `key:"agent" is:"id" need:"yes" doc:"Who answers."`
	Channel  string `key:"channel" doc:"The channel that a message comes from, such as telegram. Empty means any."`
	Account  string `key:"account" doc:"The account on our side of the channel. Empty means any."`
	PeerKind string `key:"peer_kind" allow:"|direct|group|channel" doc:"The kind of chat. Empty means any."`
	Peer     string `key:"peer" doc:"The person, group or channel on the other side. Empty means any."`
}

// Cron is a scheduled job.
type Cron struct {
	ID        string        `key:"id" is:"id" need:"yes" doc:"The name of the job: its sessions are under cron:<id>."`
	Schedule  string        `key:"schedule" is:"schedule" need:"yes" doc:"When: five fields as in crontab (minute, hour, day, month, weekday), or @hourly, @daily, @weekly, @monthly."`
	Zone      string        `key:"zone" is:"zone" doc:"The time zone of the schedule, such as Europe/Berlin. Empty means that of session.time_zone."`
	Agent     string        `key:"agent" is:"id" doc:"Who runs it. Empty means the default agent."`
	Message   string        `key:"message" need:"yes" doc:"What the agent is told."`
	Model     string        `key:"model" is:"model" doc:"Who answers. Empty means the agent's model."`
	Timeout   time.Duration `key:"timeout" default:"30m" range:"1s..7d" doc:"How long a run may take."`
	Retention time.Duration `key:"retention" default:"0" doc:"How long the session of a run is listed before it is archived. The latest always is. 0 means for ever."`
	Keep      int           `key:"keep" default:"0" range:"0.." doc:"How many runs are listed, the latest ones; the others are archived. 0 means all."`
	Enabled   bool          `key:"enabled" default:"true" doc:"Whether it runs at all."`
	CatchUp   bool          `key:"catch_up" default:"false" doc:"Runs once after the gateway was down while it should have run."`
}

// Maintenance configures the removal of old data. Zero values disable it.
type Maintenance struct {
	Mode                  string        `key:"mode" default:"warn" allow:"warn|enforce" doc:"Whether what follows is only reported or also done."`
	PruneAfter            time.Duration `key:"prune_after" default:"0" doc:"How long ago a session must have been used last to be removed. 0 means never."`
	MaxEntries            int           `key:"max_entries" default:"0" range:"0.." doc:"How many keys an agent may have; those used longest ago are removed. 0 means any number."`
	MaxDiskBytes          Bytes         `key:"max_disk_bytes" default:"0" doc:"How much space sessions may take, with the contents of files that their tools changed; the oldest are removed first, which moves them to the bin. If they and the bin take more together, maintenance and the log say so. 0 means any."`
	HighWater             float64       `key:"high_water" default:"0.8" range:"0.1..1" doc:"Down to which part of max_disk_bytes is cleared once it is passed."`
	ResetArchiveRetention time.Duration `key:"reset_archive_retention" default:"0" doc:"How long sessions that a reset has ended are kept. 0 means for ever."`
	SubagentIdle          time.Duration `key:"subagent_idle" default:"1h" doc:"After how long without a message the sessions of sub-agents are archived, whatever mode says. 0 means never."`
	BinRetention          time.Duration `key:"bin_retention" default:"0" doc:"How long sessions stay in the bin before they are erased for good. 0 means for ever."`
	BinMaxBytes           Bytes         `key:"bin_max_bytes" default:"0" doc:"How much space the bin may take; the sessions removed longest ago are erased first, for good. 0 means any."`
	Every                 time.Duration `key:"every" default:"1h" range:"1m..30d" doc:"How often it is looked."`
}

// Memory configures the notes of agents.
type Memory struct {
	Enabled bool   `key:"enabled" default:"true" doc:"Whether agents note and recall something."`
	Dir     string `key:"dir" is:"path" default:"<home>/agents" doc:"The directory of the notes; each agent has its own in it, <agent>/workspace, and one for each person who writes to it, <agent>/users."`
	Shared  bool   `key:"shared" default:"false" doc:"Whether people who write from outside also get what the agent noted in its own conversations. Else they get what was noted in theirs."`
	Index   bool   `key:"index" default:"true" doc:"Whether a model is shown MEMORY.md in every turn, up to 200 lines and 25,000 bytes."`
	Recall  Recall `key:"recall" doc:"What a model is shown of notes and earlier conversations, by what is said."`
	Extract bool   `key:"extract" default:"true" doc:"Whether facts are noted by themselves after long turns, with the entries they came from."`
	Dream   Dream  `key:"dream" doc:"The tidying up of notes when nobody talks."`
}

// Recall limits the context recalled before a turn.
type Recall struct {
	Count int     `key:"count" default:"5" range:"0..100" doc:"How many notes and earlier messages at most. 0 means none."`
	Bytes int     `key:"bytes" default:"4096" range:"0..1000000" doc:"How many bytes they may have together."`
	Share float64 `key:"share" default:"0.05" range:"0..1" doc:"Which part of the model's window they may take."`
	Floor float64 `key:"floor" default:"0.25" range:"0..1" doc:"How well something must fit to be recalled. Nothing is recalled if nothing fits."`
	Past  bool    `key:"past" default:"true" doc:"Whether earlier conversations are recalled too, and not only notes."`
}

// Dream configures the consolidation of notes in the background.
type Dream struct {
	Enabled  bool          `key:"enabled" default:"true" doc:"Whether the gateway does it. It can always be asked for."`
	Every    time.Duration `key:"every" default:"24h" range:"1m..365d" doc:"How long ago the last time must be."`
	Sessions int           `key:"sessions" default:"5" range:"1..1000" doc:"How many conversations must be new since."`
	Idle     time.Duration `key:"idle" default:"5m" range:"1s..1d" doc:"For how long nobody must have talked. A turn that begins ends it, and nothing has changed."`
}

// Log configures the log of the gateway.
type Log struct {
	Level  string `key:"level" default:"info" allow:"debug|info|warn|error" doc:"From which importance on."`
	Format string `key:"format" default:"auto" allow:"auto|text|json" restart:"yes" doc:"How it looks. Auto is text on a terminal and JSON elsewhere."`
}

// Telemetry configures metrics and traces.
type Telemetry struct {
	Metrics bool   `key:"metrics" default:"true" doc:"Whether /metrics tells numbers for Prometheus."`
	Traces  string `key:"traces" default:"auto" allow:"auto|off" doc:"Whether spans are sent: auto sends them if the OTEL_ variables say where to."`
	Service string `key:"service" default:"firn" doc:"What the process is called in traces, unless OTEL_SERVICE_NAME says otherwise."`
}
