package config

import "time"

// Agent configures an agent: its model, instructions, tools and behavior.
type Agent struct {
	Model            string              `key:"model" is:"model" default:"firn/offline" doc:"The model, as provider/model."`
	Fallbacks        []string            `key:"fallbacks" is:"model" doc:"Fallback models, in order, if the model cannot be reached."`
	Summarizer       string              `key:"summarizer" is:"model" doc:"The model that writes summaries. Empty means the model of the turn."`
	Thinking         string              `key:"thinking" default:"off" allow:"off|minimal|low|medium|high|xhigh" doc:"The thinking level, unless set for the session."`
	Description      string              `key:"description" doc:"A description of what the agent does. Other agents see it and can delegate tasks to it. Empty means that they cannot."`
	Delegation       Delegation          `key:"delegation" doc:"How the agent works with other sessions and agents."`
	System           string              `key:"system" doc:"The system prompt. Empty means firn's own."`
	SystemFile       string              `key:"system_file" is:"path" doc:"A file with the system prompt, instead of system."`
	Instructions     Instructions        `key:"instructions" doc:"The instruction files of the project that the workspace belongs to."`
	Workspace        string              `key:"workspace" is:"path" doc:"The working directory of the tools. Empty means none, or the current directory for commands."`
	WorkspaceWrite   bool                `key:"workspace_write" default:"false" doc:"Whether tools may write to the workspace."`
	Tools            Tools               `key:"tools" doc:"Which tools are enabled."`
	Shell            Shell               `key:"shell" doc:"The shell tool."`
	Approvals        Approvals           `key:"approvals" doc:"Which tool calls need the user's approval."`
	WebFetch         WebFetch            `key:"web_fetch" doc:"Access to web pages."`
	CompactThreshold int64               `key:"compact_threshold" default:"0" range:"0.." doc:"The number of tokens above which the conversation is compacted. 0 means that only the model's window counts."`
	Compaction       Compaction          `key:"compaction" doc:"When the conversation is compacted, and how much of it is kept."`
	MemoryFlush      MemoryFlush         `key:"memory_flush" doc:"The hidden turn before a compaction in which the agent writes notes."`
	Memory           *Memory             `key:"memory" doc:"Like memory, for this agent. Replaces the whole table."`
	Pruning          Pruning             `key:"pruning" doc:"How old tool results are shortened in requests to the model. The log keeps them complete."`
	ResultBudget     int                 `key:"result_budget" default:"0" range:"0.." doc:"The maximum number of characters of all tool results in a request; the oldest are left out first. Results in the last six messages and results of up to 200 characters always stay. 0 means no limit."`
	ResultChars      int                 `key:"result_chars" default:"50000" range:"200.." doc:"The maximum number of characters of one tool result in a request."`
	ResultLines      int                 `key:"result_lines" default:"2000" range:"5.." doc:"The maximum number of lines of one tool result in a request."`
	HistoryLimit     int                 `key:"history_limit" default:"0" range:"0.." doc:"How many of the latest turns are sent to the model. 0 means all."`
	DMHistory        map[string]int      `key:"dm_history" range:"0.." doc:"Like history_limit, for direct messages, by channel or channel:peer."`
	Silence          string              `key:"silence" default:"mark" allow:"mark|exact|never" doc:"Which answers are hidden from the user: those that start or end with NO_REPLY, those that are exactly NO_REPLY, or none."`
	Titles           bool                `key:"titles" default:"true" doc:"Whether sessions are titled automatically."`
	Rounds           int                 `key:"rounds" default:"100" range:"1..10000" doc:"The maximum number of model requests in a turn."`
	Failures         int                 `key:"failures" default:"10" range:"1..1000" doc:"Stop a turn after this many failing tool calls in a row."`
	Retries          int                 `key:"retries" default:"3" range:"0..100" doc:"The number of retries if a model cannot be reached."`
	DMScope          string              `key:"dm_scope" allow:"|main|per-peer|per-channel-peer|per-account-channel-peer" doc:"Like session.dm_scope, for this agent. Empty means the value of session.dm_scope."`
	IdentityLinks    map[string][]string `key:"identity_links" doc:"Like session.identity_links, for this agent. Empty means those of session.identity_links."`
	Reset            *Reset              `key:"reset" doc:"Like session.reset, for this agent. Replaces the whole table."`
	SendPolicy       *SendPolicy         `key:"send_policy" doc:"Like session.send_policy, for this agent. Replaces the whole table."`
}

// Instructions selects the instruction files.
type Instructions struct {
	Files   []string `key:"files" default:"AGENTS.md,CLAUDE.md,FIRN.md" doc:"Names of instruction files. They are read from the workspace and its parents up to the root of the repository, and sent in every turn. @include PATH includes another file. An empty list turns this off."`
	Outside []string `key:"outside" is:"path" doc:"Directories and files outside the project that may be included. No others are read."`
}

// Tools selects tools by name. A * matches any characters.
type Tools struct {
	Allow []string `key:"allow" default:"*" doc:"The enabled tools. A * matches any characters."`
	Deny  []string `key:"deny" doc:"The disabled tools, even if allow matches them."`
}

// Delegation configures how an agent works with other sessions and agents.
type Delegation struct {
	Mode     string   `key:"mode" default:"auto" allow:"auto|on|off" doc:"Whether the agent has the tools sessions_list, sessions_history, sessions_send and sessions_spawn: if there is an agent to delegate to, always, or never."`
	Agents   []string `key:"agents" default:"*" doc:"The agents it can delegate tasks to, among those with a description. A * matches any characters."`
	Depth    int      `key:"depth" default:"3" range:"1..10" doc:"How deeply sessions may delegate to each other."`
	Children int      `key:"children" default:"8" range:"1..100" doc:"The maximum number of delegated tasks a session may have running."`
}

// Shell configures the execution of commands.
type Shell struct {
	Enabled    bool          `key:"enabled" default:"false" doc:"Whether the agent may run commands. They run with all your permissions."`
	Timeout    time.Duration `key:"timeout" default:"2m" range:"1s..1d" doc:"Timeout of a command if the agent gives none."`
	MaxTimeout time.Duration `key:"max_timeout" default:"10m" range:"1s..7d" doc:"The longest timeout that the agent may request."`
	Background time.Duration `key:"max_background" default:"1h" range:"1s..7d" doc:"Timeout of a background command."`
	WatchFiles int           `key:"watch_files" default:"20000" range:"0..1000000" doc:"File changes made by commands are recorded, so that they can be rewound, if the workspace has at most this many files. 0 turns it off."`
	Env        []string      `key:"env" is:"variable" doc:"Environment variables passed to commands, besides the common ones such as PATH and HOME."`
}

// Approvals configures which tool calls need approval.
type Approvals struct {
	Mode  string   `key:"mode" allow:"|read-only|ask|accept-edits|everything" doc:"The mode: read-only denies everything but reading; ask asks before anything else; accept-edits also allows changes to files in the workspace; everything allows all. Empty means ask in an interactive chat, and everything otherwise."`
	Allow []string `key:"allow" doc:"Calls that need no approval: TOOL or TOOL(PATTERN), such as shell(git diff *), edit(src/**) or web_fetch(*.go.dev)."`
	Deny  []string `key:"deny" doc:"Calls that are denied in every mode, in the same syntax as allow."`
}

// WebFetch configures the tool web_fetch.
type WebFetch struct {
	Enabled bool          `key:"enabled" default:"false" doc:"Whether the web_fetch tool is enabled."`
	Hosts   []string      `key:"hosts" doc:"The hosts that may be fetched, such as example.org or *.example.org. Empty means all."`
	Private bool          `key:"private" default:"false" doc:"Whether addresses of this machine and of private networks may be fetched."`
	Timeout time.Duration `key:"timeout" default:"30s" range:"1s..10m" doc:"Timeout for fetching a page."`
}

// Compaction configures when a conversation is compacted.
type Compaction struct {
	Mode         string        `key:"mode" default:"auto" allow:"auto|suggest|off" doc:"The mode: auto compacts when needed; suggest only suggests it; off compacts only on request."`
	Fraction     float64       `key:"fraction" default:"0" range:"0..1" doc:"Compact when this fraction of the window is in use. 0 means that only reserve counts."`
	Reserve      int64         `key:"reserve" default:"16384" range:"1.." doc:"Tokens of the window reserved for the answer."`
	ReserveFloor int64         `key:"reserve_floor" default:"20000" range:"0.." doc:"The lowest effective reserve, though at most a quarter of the window. 0 means none."`
	KeepRecent   int64         `key:"keep_recent" default:"20000" range:"1.." doc:"Approximate number of tokens of the latest messages that are kept verbatim."`
	Failures     int           `key:"failures" default:"3" range:"1..100" doc:"After this many failures in a row, summaries are extracted without a model until cooldown has passed or the user requests a compaction."`
	Cooldown     time.Duration `key:"cooldown" default:"10m" range:"1s..1d" doc:"How long after the last of these failures the model is used again."`
	Timeout      time.Duration `key:"timeout" default:"2m" range:"1s..1h" doc:"Timeout of a summary. After it, the rest is summarized without a model."`
}

// MemoryFlush configures the silent turn before a compaction.
type MemoryFlush struct {
	Enabled bool     `key:"enabled" default:"true" doc:"Whether it is enabled."`
	Soft    int64    `key:"soft" default:"4000" range:"1.." doc:"How many tokens before the compaction threshold it runs."`
	System  string   `key:"system" doc:"Text appended to the system prompt. Empty means firn's default."`
	Prompt  string   `key:"prompt" doc:"The prompt. Empty means firn's default."`
	Tools   []string `key:"tools" default:"remember" doc:"The tools it may use. If none of them is available, the turn is skipped."`
}

// Pruning configures how old tool results are shortened.
type Pruning struct {
	After         time.Duration `key:"after" default:"0" doc:"Results are shortened only after this long without a request, when the provider's cache has expired; typically 5m. 0 means that nothing is shortened."`
	KeepLast      int           `key:"keep_last" default:"3" range:"0.." doc:"Results after this many of the latest assistant messages are never shortened."`
	SoftRatio     float64       `key:"soft_ratio" default:"0.3" range:"0..1" doc:"The fraction of the window that must be in use before results are shortened."`
	HardRatio     float64       `key:"hard_ratio" default:"0.5" range:"0..1" doc:"The fraction of the window that must be in use before results are cleared."`
	MinChars      int           `key:"min_chars" default:"50000" range:"0.." doc:"Results are cleared only if those that can be cleared have at least this many characters in total."`
	SoftMaxChars  int           `key:"soft_max_chars" default:"4000" range:"0.." doc:"Results up to this many characters are not shortened."`
	SoftHeadChars int           `key:"soft_head_chars" default:"1500" range:"0.." doc:"Characters kept from the start of a longer result."`
	SoftTailChars int           `key:"soft_tail_chars" default:"1500" range:"0.." doc:"Characters kept from its end."`
	HardClear     bool          `key:"hard_clear" default:"true" doc:"Whether results are cleared at all."`
	Placeholder   string        `key:"placeholder" default:"[Old tool result content cleared]" doc:"The text that replaces a cleared result."`
	Allow         []string      `key:"allow" doc:"The tools whose results may be shortened. Empty means all; a * matches any characters."`
	Deny          []string      `key:"deny" doc:"The tools whose results are never shortened, even if allow matches them."`
}
