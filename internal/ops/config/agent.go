package config

import "time"

// Agent configures an agent: its model, instructions, tools and behavior.
type Agent struct {
	Model            string              `key:"model" is:"model" default:"firn/offline" doc:"Who answers, as provider/model."`
	Fallbacks        []string            `key:"fallbacks" is:"model" doc:"Who is asked, in this order, if the model cannot be reached."`
	Summarizer       string              `key:"summarizer" is:"model" doc:"Who writes summaries. Empty means the model of the turn."`
	Thinking         string              `key:"thinking" default:"off" allow:"off|minimal|low|medium|high|xhigh" doc:"How hard the model thinks unless a session chose otherwise."`
	Description      string              `key:"description" doc:"What the agent is good at. Other agents see it and can give it tasks. Empty means that they cannot."`
	Delegation       Delegation          `key:"delegation" doc:"How the agent works with other sessions and agents."`
	System           string              `key:"system" doc:"The system prompt. Empty means firn's own."`
	SystemFile       string              `key:"system_file" is:"path" doc:"A file with the system prompt, instead of system."`
	Instructions     Instructions        `key:"instructions" doc:"The instruction files of the project that the workspace belongs to."`
	Workspace        string              `key:"workspace" is:"path" doc:"The directory that the tools see. Empty means none, or where a command is run."`
	WorkspaceWrite   bool                `key:"workspace_write" default:"false" doc:"Whether tools may write there."`
	Tools            Tools               `key:"tools" doc:"Which tools there are."`
	Shell            Shell               `key:"shell" doc:"Whether it may run commands, and how."`
	Approvals        Approvals           `key:"approvals" doc:"Which tool calls need a user's yes."`
	WebFetch         WebFetch            `key:"web_fetch" doc:"Whether it may read pages of the web, and which."`
	CompactThreshold int64               `key:"compact_threshold" default:"0" range:"0.." doc:"The number of tokens above which the conversation is compacted. 0 means that only the model's window counts."`
	Compaction       Compaction          `key:"compaction" doc:"When the conversation is compacted, and how much of it is kept."`
	MemoryFlush      MemoryFlush         `key:"memory_flush" doc:"The silent turn before a compaction in which the agent takes notes."`
	Memory           *Memory             `key:"memory" doc:"Like memory, for this agent, instead of everything said there."`
	Pruning          Pruning             `key:"pruning" doc:"How old tool results are shortened in what the model is sent. The log keeps them whole."`
	ResultBudget     int                 `key:"result_budget" default:"0" range:"0.." doc:"How many characters all tool results together may have in what the model is sent: the oldest are left out. Those among the last six messages, and those of up to 200 characters, always stay. 0 means any number."`
	ResultChars      int                 `key:"result_chars" default:"50000" range:"200.." doc:"How many characters of one tool result the model is shown."`
	ResultLines      int                 `key:"result_lines" default:"2000" range:"5.." doc:"How many lines of one tool result the model is shown."`
	HistoryLimit     int                 `key:"history_limit" default:"0" range:"0.." doc:"How many turns the model is sent. 0 means all."`
	DMHistory        map[string]int      `key:"dm_history" range:"0.." doc:"Like history_limit, for direct messages, by channel or channel:peer."`
	Silence          string              `key:"silence" default:"mark" allow:"mark|exact|never" doc:"Which answers are kept from the user: those that begin or end with NO_REPLY, those that are nothing else, or none."`
	Titles           bool                `key:"titles" default:"true" doc:"Whether sessions are named by themselves."`
	Rounds           int                 `key:"rounds" default:"100" range:"1..10000" doc:"How often the model may be asked within a turn."`
	Failures         int                 `key:"failures" default:"10" range:"1..1000" doc:"After how many failing calls of a tool in a row a turn is stopped."`
	Retries          int                 `key:"retries" default:"3" range:"0..100" doc:"How often a model that cannot be reached is asked again."`
	DMScope          string              `key:"dm_scope" allow:"|main|per-peer|per-channel-peer|per-account-channel-peer" doc:"Like session.dm_scope, for this agent. Empty means what is said there."`
	IdentityLinks    map[string][]string `key:"identity_links" doc:"Like session.identity_links, for this agent. None means those named there."`
	Reset            *Reset              `key:"reset" doc:"Like session.reset, for this agent, instead of everything said there."`
	SendPolicy       *SendPolicy         `key:"send_policy" doc:"Like session.send_policy, for this agent, instead."`
}

// Instructions selects the instruction files.
type Instructions struct {
	Files   []string `key:"files" default:"AGENTS.md,CLAUDE.md,FIRN.md" doc:"Names of files that are read in the workspace and its parents up to the root of the repository, and sent in every turn. @include PATH in them includes another file. None means that none are read."`
	Outside []string `key:"outside" is:"path" doc:"Directories and files outside the project that may be included. Nothing else outside is read."`
}

// Tools selects tools by name. A * matches any characters.
type Tools struct {
	Allow []string `key:"allow" default:"*" doc:"Those there are. A * stands for any characters."`
	Deny  []string `key:"deny" doc:"Those there are not, even if they are allowed."`
}

// Delegation configures how an agent works with other sessions and agents.
type Delegation struct {
	Mode     string   `key:"mode" default:"auto" allow:"auto|on|off" doc:"Whether the agent has the tools sessions_list, sessions_history, sessions_send and sessions_spawn: if there is an agent to give tasks to, always, or never."`
	Agents   []string `key:"agents" default:"*" doc:"The agents it can give tasks to, of those with a description. A * stands for any characters."`
	Depth    int      `key:"depth" default:"3" range:"1..10" doc:"How deep sessions may ask one another."`
	Children int      `key:"children" default:"8" range:"1..100" doc:"How many delegated tasks a session may have running."`
}

// Shell configures the execution of commands.
type Shell struct {
	Enabled    bool          `key:"enabled" default:"false" doc:"Whether it may, with all that you may do yourself."`
	Timeout    time.Duration `key:"timeout" default:"2m" range:"1s..1d" doc:"How long a command may take if the agent does not say."`
	MaxTimeout time.Duration `key:"max_timeout" default:"10m" range:"1s..7d" doc:"How long it may say."`
	Background time.Duration `key:"max_background" default:"1h" range:"1s..7d" doc:"How long a command in the background may run."`
	WatchFiles int           `key:"watch_files" default:"20000" range:"0..1000000" doc:"Up to how many files the workspace may have for the changes of a command to be found and recorded, so that files can be rewound; 0 turns it off."`
	Env        []string      `key:"env" is:"variable" doc:"Variables of the environment that commands get, beside the common ones such as PATH and HOME."`
}

// Approvals configures which tool calls need approval.
type Approvals struct {
	Mode  string   `key:"mode" allow:"|read-only|ask|accept-edits|everything" doc:"The mode: read-only refuses everything but reading; ask asks before anything else; accept-edits also allows changes of files in the workspace; everything allows all. Empty means ask in an interactive chat, and everything otherwise."`
	Allow []string `key:"allow" doc:"Calls that need no yes: TOOL or TOOL(PATTERN), such as shell(git diff *), edit(src/**) or web_fetch(*.go.dev)."`
	Deny  []string `key:"deny" doc:"Calls that are refused in every mode, written like those in allow."`
}

// WebFetch configures the tool web_fetch.
type WebFetch struct {
	Enabled bool          `key:"enabled" default:"false" doc:"Whether there is a tool web_fetch."`
	Hosts   []string      `key:"hosts" doc:"The hosts that may be read, such as example.org or *.example.org. None means all."`
	Private bool          `key:"private" default:"false" doc:"Whether addresses of this machine and of private networks may be read."`
	Timeout time.Duration `key:"timeout" default:"30s" range:"1s..10m" doc:"How long a page may take."`
}

// Compaction configures when a conversation is compacted.
type Compaction struct {
	Mode         string        `key:"mode" default:"auto" allow:"auto|suggest|off" doc:"Whether it is done when it is due, only suggested, or only done when asked for."`
	Fraction     float64       `key:"fraction" default:"0" range:"0..1" doc:"The part of the window above which it is due. 0 means that only reserve counts."`
	Reserve      int64         `key:"reserve" default:"16384" range:"1.." doc:"How many tokens of the window are left free for the answer."`
	ReserveFloor int64         `key:"reserve_floor" default:"20000" range:"0.." doc:"What reserve is raised to, though not above a quarter of the window. 0 means that it is not raised."`
	KeepRecent   int64         `key:"keep_recent" default:"20000" range:"1.." doc:"About how many tokens of the latest messages are kept as they are."`
	Failures     int           `key:"failures" default:"3" range:"1..100" doc:"After how many failures in a row no model is asked for a summary: summaries are then extracted without one, unless the user asks for one."`
	Cooldown     time.Duration `key:"cooldown" default:"10m" range:"1s..1d" doc:"How long after the last of these failures a model is asked again."`
	Timeout      time.Duration `key:"timeout" default:"2m" range:"1s..1h" doc:"How long a summary may take. When time is up the rest is summed up without a model."`
}

// MemoryFlush configures the silent turn before a compaction.
type MemoryFlush struct {
	Enabled bool     `key:"enabled" default:"true" doc:"Whether there is one."`
	Soft    int64    `key:"soft" default:"4000" range:"1.." doc:"How many tokens before the compaction it happens."`
	System  string   `key:"system" doc:"What is added to the system prompt. Empty means firn's own words."`
	Prompt  string   `key:"prompt" doc:"What the agent is told. Empty means firn's own words."`
	Tools   []string `key:"tools" default:"remember" doc:"The tools it may use. If none of them is there, there is no such turn."`
}

// Pruning configures how old tool results are shortened.
type Pruning struct {
	After         time.Duration `key:"after" default:"0" doc:"How long nothing must have been asked, so that the provider has forgotten what it was sent; 5m is usual. 0 means that nothing is shortened."`
	KeepLast      int           `key:"keep_last" default:"3" range:"0.." doc:"How many of the assistant's last messages protect what comes after them."`
	SoftRatio     float64       `key:"soft_ratio" default:"0.3" range:"0..1" doc:"How much of the window must be in use for results to be shortened."`
	HardRatio     float64       `key:"hard_ratio" default:"0.5" range:"0..1" doc:"How much of it for them to be cleared."`
	MinChars      int           `key:"min_chars" default:"50000" range:"0.." doc:"How many characters the results that may be cleared must have together for any of them to be."`
	SoftMaxChars  int           `key:"soft_max_chars" default:"4000" range:"0.." doc:"How many characters a result may have and stay whole."`
	SoftHeadChars int           `key:"soft_head_chars" default:"1500" range:"0.." doc:"How many are kept from the beginning of a longer one."`
	SoftTailChars int           `key:"soft_tail_chars" default:"1500" range:"0.." doc:"How many are kept from its end."`
	HardClear     bool          `key:"hard_clear" default:"true" doc:"Whether results are cleared at all."`
	Placeholder   string        `key:"placeholder" default:"[Old tool result content cleared]" doc:"What is left of one that is cleared."`
	Allow         []string      `key:"allow" doc:"The tools whose results may be touched. None means all; a * stands for any characters."`
	Deny          []string      `key:"deny" doc:"Those whose results may not, even if they are allowed."`
}
