package config

import "time"

// Session configures the assignment of messages to sessions, and how long sessions last.
type Session struct {
	Scope          string              `key:"scope" default:"per-sender" allow:"per-sender|global" doc:"How messages are grouped: per-sender uses a session key per sender; global uses one session for all messages of an agent."`
	DMScope        string              `key:"dm_scope" default:"per-channel-peer" allow:"main|per-peer|per-channel-peer|per-account-channel-peer" doc:"How direct messages are grouped into sessions: one session for all senders (main), one per sender, one per channel and sender, or one per account, channel and sender."`
	MainKey        string              `key:"main_key" is:"id" default:"main" doc:"The last part of the key that direct messages share."`
	IdentityLinks  map[string][]string `key:"identity_links" doc:"People with several IDs: a name, and the IDs it stands for, as peer or channel:peer. Ignored if dm_scope is main."`
	TimeZone       string              `key:"time_zone" is:"zone" doc:"The time zone for daily resets, such as Europe/Berlin. Empty means the system's."`
	Reset          Reset               `key:"reset" doc:"When a session ends and the next message starts a new one. Terminal chats are not reset. A session in use is never reset."`
	ResetByType    map[string]Reset    `key:"reset_by_type" names:"direct|group|thread" doc:"The reset settings of one type of chat. Replaces the whole table."`
	ResetByChannel map[string]Reset    `key:"reset_by_channel" name:"channel" doc:"The reset settings of one channel. Replaces the whole table."`
	ResetTriggers  []string            `key:"reset_triggers" default:"/new,/reset" doc:"Messages that start a new session. Text after the trigger becomes its first message."`
	ThreadHistory  int                 `key:"thread_history" default:"100000" range:"0..100000000" doc:"The largest conversation, in tokens, that a new thread in it copies as its start. 0 means that threads start empty."`
	Redact         bool                `key:"redact" default:"false" doc:"Replace secrets with [secret] before anything is stored: keys, tokens and passwords that can be recognized by their form or name, also in tool calls and results. Each entry counts those replaced in it. The text cannot be restored. Entries that are stored already, and those from other machines, stay as they are."`
	SendPolicy     SendPolicy          `key:"send_policy" doc:"Which answers are sent out."`
	Commands       Commands            `key:"commands" doc:"Which senders may use which commands in messages, such as /model or /new. Commands are written without the slash."`
	Queue          Queue               `key:"queue" doc:"How messages that arrive during a turn are handled."`
	QueueByChannel map[string]Queue    `key:"queue_by_channel" name:"channel" doc:"The queue settings of one channel. Replaces the whole table."`
}

// Reset configures when a session ends automatically. The earliest condition applies.
type Reset struct {
	Mode   string        `key:"mode" default:"daily" allow:"daily|idle|both|none" doc:"When to reset: daily resets at at_hour, and also after idle if that is set; idle resets only after idle; both resets at whichever is first; none never resets."`
	AtHour int           `key:"at_hour" default:"4" range:"0..23" doc:"The hour of the daily reset."`
	Idle   time.Duration `key:"idle" default:"0" doc:"Reset after this long without a message. 0 means off or, if mode is idle or both, one hour. The minimum is one minute."`
	TTL    time.Duration `key:"ttl" default:"0" doc:"The longest lifetime of a session, regardless of activity. 0 means no limit. Ignored if mode is none."`
	Quiet  time.Duration `key:"quiet" default:"15m" doc:"The session must be idle for this long before at_hour or ttl resets it, so that no conversation is interrupted."`
}

// SendPolicy decides which answers are sent. A matching deny rule takes precedence over a
// matching allow rule. If no rule matches, Default applies.
type SendPolicy struct {
	Default string     `key:"default" default:"allow" allow:"allow|deny" doc:"The default if no rule matches."`
	Rules   []SendRule `key:"rules" doc:"The rules. Deny rules take precedence over allow rules."`
}

// SendRule is one rule of a send policy. It matches if all its set fields match.
type SendRule struct {
	Action    string `key:"action" need:"yes" allow:"allow|deny" doc:"Whether matching answers are sent."`
	Channel   string `key:"channel" doc:"The channel. Empty means any."`
	ChatType  string `key:"chat_type" allow:"|direct|group|channel" doc:"The kind of chat. Empty means any."`
	KeyPrefix string `key:"key_prefix" doc:"The prefix of the session's key. Empty means any."`
}

// Commands configures the permissions for commands in messages.
type Commands struct {
	Direct []string      `key:"direct" default:"*" doc:"The commands that everyone may use in direct chats. A * matches any characters."`
	Group  []string      `key:"group" default:"help,status,usage,queue,stop,compact" doc:"The commands that everyone may use in groups and channels. The default excludes commands that change the session, the model or permissions."`
	Rules  []CommandRule `key:"rules" doc:"Rules for some senders or chats. The first that matches decides and overrides direct and group."`
}

// CommandRule is one rule for command permissions. It matches if all its set fields match.
type CommandRule struct {
	Channel  string   `key:"channel" doc:"The channel. Empty means any."`
	ChatType string   `key:"chat_type" allow:"|direct|group|channel" doc:"The kind of chat. Empty means any."`
	Senders  []string `key:"senders" doc:"The senders, as named by the bridge, or the peer of a direct chat. Empty means any."`
	Commands []string `key:"commands" doc:"The commands that they may use. An empty list allows none."`
}

// Queue configures the handling of messages that arrive during a turn.
type Queue struct {
	Mode     string        `key:"mode" default:"collect" allow:"steer|followup|collect|interrupt" doc:"What happens to these messages: steer passes them to the running turn; followup runs one turn for each when it ends; collect runs one turn for all of them when it ends; interrupt stops the running turn."`
	Debounce time.Duration `key:"debounce" default:"1s" range:"0s..10m" doc:"The quiet time after the last message before the queued messages are answered."`
	Cap      int           `key:"cap" default:"20" range:"1..10000" doc:"The maximum number of queued messages."`
	Drop     string        `key:"drop" default:"summarize" allow:"old|new|summarize" doc:"What to do when the queue is full: drop the oldest, drop the newest, or summarize the oldest."`
}
