package config

import "time"

// Session configures the assignment of messages to sessions, and how long sessions last.
type Session struct {
	Scope          string              `key:"scope" default:"per-sender" allow:"per-sender|global" doc:"Whether keys tell senders apart, or all of an agent's messages share one session."`
	DMScope        string              `key:"dm_scope" default:"per-channel-peer" allow:"main|per-peer|per-channel-peer|per-account-channel-peer" doc:"How far direct messages are kept apart: not at all, so that all who write to an agent share a session (main), by person, by channel and person, or by our own account as well."`
	MainKey        string              `key:"main_key" is:"id" default:"main" doc:"The last part of the key that direct messages share."`
	IdentityLinks  map[string][]string `key:"identity_links" doc:"People who are known by several names: the name to use, and the ids it stands for, as peer or channel:peer. They count unless dm_scope is main."`
	TimeZone       string              `key:"time_zone" is:"zone" doc:"The time zone in which days begin, such as Europe/Berlin. Empty means that of the machine."`
	Reset          Reset               `key:"reset" doc:"When a session ends and the next message begins a new one. Chats at a terminal last until somebody ends them. A session that is in use is never ended."`
	ResetByType    map[string]Reset    `key:"reset_by_type" names:"direct|group|thread" doc:"The same for one kind of chat, instead."`
	ResetByChannel map[string]Reset    `key:"reset_by_channel" name:"channel" doc:"The same for one channel, instead of everything else."`
	ResetTriggers  []string            `key:"reset_triggers" default:"/new,/reset" doc:"What somebody says to begin a new session. What follows it is the first message there."`
	ThreadHistory  int                 `key:"thread_history" default:"100000" range:"0..100000000" doc:"A new thread in a group, channel or chat starts with a copy of that conversation, unless it is larger than this, in tokens. 0 means that threads start empty."`
	SendPolicy     SendPolicy          `key:"send_policy" doc:"Which answers are sent out."`
	Commands       Commands            `key:"commands" doc:"Who may use which commands in messages, such as /model or /new. Commands are named without the slash."`
	Queue          Queue               `key:"queue" doc:"What becomes of messages that come while a turn runs."`
	QueueByChannel map[string]Queue    `key:"queue_by_channel" name:"channel" doc:"The same for one channel, instead."`
}

// Reset configures when a session ends automatically. The earliest condition applies.
type Reset struct {
	Mode   string        `key:"mode" default:"daily" allow:"daily|idle|both|none" doc:"Daily ends it at at_hour, and after idle too if that is set; idle only after idle; both at whichever comes first; none never."`
	AtHour int           `key:"at_hour" default:"4" range:"0..23" doc:"The hour of the day at which it ends."`
	Idle   time.Duration `key:"idle" default:"0" doc:"How long nobody must have said anything. 0 means that it does not count or, if mode is idle or both, an hour. Less than a minute counts as a minute."`
	TTL    time.Duration `key:"ttl" default:"0" doc:"How long it lasts at most, whatever is said. 0 means any time. It does not count if mode is none."`
	Quiet  time.Duration `key:"quiet" default:"15m" doc:"How long nobody must have said anything before at_hour or ttl ends it, so that it never does in the middle of a talk."`
}

// SendPolicy decides which answers are sent. The first denying rule decides, then any
// allowing rule, then Default.
type SendPolicy struct {
	Default string     `key:"default" default:"allow" allow:"allow|deny" doc:"What holds if no rule fits."`
	Rules   []SendRule `key:"rules" doc:"Rules. One that denies goes before all that allow."`
}

// SendRule is one rule of a send policy. It matches if all its set fields match.
type SendRule struct {
	Action    string `key:"action" need:"yes" allow:"allow|deny" doc:"What to do with what fits."`
	Channel   string `key:"channel" doc:"The channel. Empty means any."`
	ChatType  string `key:"chat_type" allow:"|direct|group|channel" doc:"The kind of chat. Empty means any."`
	KeyPrefix string `key:"key_prefix" doc:"How the session's key begins. Empty means any."`
}

// Commands configures the permissions for commands in messages.
type Commands struct {
	Direct []string      `key:"direct" default:"*" doc:"Those of everybody in direct chats. A * stands for any characters."`
	Group  []string      `key:"group" default:"help,status,usage,queue,stop,compact" doc:"Those of everybody in groups and channels: none that changes which session is used, the model, or rights."`
	Rules  []CommandRule `key:"rules" doc:"Rules for some senders or chats. The first that fits decides, instead of direct and group."`
}

// CommandRule is one rule for command permissions. It matches if all its set fields match.
type CommandRule struct {
	Channel  string   `key:"channel" doc:"The channel. Empty means any."`
	ChatType string   `key:"chat_type" allow:"|direct|group|channel" doc:"The kind of chat. Empty means any."`
	Senders  []string `key:"senders" doc:"The senders, as the bridge names them, or the peer of a direct chat. None means any."`
	Commands []string `key:"commands" doc:"The commands that they may use. None means none."`
}

// Queue configures the handling of messages that arrive during a turn.
type Queue struct {
	Mode     string        `key:"mode" default:"collect" allow:"steer|followup|collect|interrupt" doc:"Steer tells the running turn; followup gives each a turn of its own afterwards; collect gives all of them one; interrupt stops the turn."`
	Debounce time.Duration `key:"debounce" default:"1s" range:"0s..10m" doc:"How long it must be quiet before they are answered."`
	Cap      int           `key:"cap" default:"20" range:"1..10000" doc:"How many may wait."`
	Drop     string        `key:"drop" default:"summarize" allow:"old|new|summarize" doc:"What becomes of those that are too many: the oldest or the newest are left out, or the oldest are summed up."`
}
