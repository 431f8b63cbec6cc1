package route

import (
	"fmt"
	"strings"

	"firn.dev"
)

// Effect is the effect of a rule.
type Effect string

// The effects. An empty default means allow.
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
)

// SendPolicy controls which answers may be sent to their chat.
type SendPolicy struct {
	// Default applies if no rule matches.
	Default Effect
	Rules   []SendRule
}

// SendRule matches answers that match all its fields.
type SendRule struct {
	Effect   Effect
	Channel  string
	ChatType ChatType
	// KeyPrefix is a prefix of the key: from agent: on, or else of the rest after the
	// agent. Legacy words, such as dm, match too.
	KeyPrefix string
}

// Override is the setting of a single conversation, which overrides the policy.
type Override string

// The overrides. An empty one inherits.
const (
	Inherit    Override = ""
	AlwaysSend Override = "allow"
	NeverSend  Override = "deny"
)

// ParseOverride parses the argument of /send: on, off or inherit.
func ParseOverride(s string) (Override, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "on", "allow":
		return AlwaysSend, nil
	case "off", "deny":
		return NeverSend, nil
	case "inherit", "default", "reset":
		return Inherit, nil
	}
	return "", fmt.Errorf("%w send policy %q: want on, off or inherit", firn.ErrInvalid, s)
}

// Check rejects unknown effects and chat types.
func (p SendPolicy) Check() error {
	if p.Default != "" && p.Default != Allow && p.Default != Deny {
		return fmt.Errorf("%w send policy %q: want allow or deny", firn.ErrInvalid, p.Default)
	}
	for i, r := range p.Rules {
		if r.Effect != Allow && r.Effect != Deny {
			return fmt.Errorf("%w send rule %d: its effect is %q, want allow or deny", firn.ErrInvalid, i+1, r.Effect)
		}
		switch r.chatType() {
		case "", ChatDirect, ChatGroup, ChatChannel:
		default:
			return fmt.Errorf("%w send rule %d: its chat type is %q, want direct, group or channel", firn.ErrInvalid, i+1, r.ChatType)
		}
	}
	return nil
}

// Outlet is the destination of an answer. Channel and ChatType default to those of the key.
type Outlet struct {
	Key      Key
	Channel  string
	ChatType ChatType
}

// Allowed decides whether an answer may be sent, and returns the reason. An override
// decides alone; else the first rule that denies; else any rule that allows; else the
// default. An ambiguous policy denies.
func Allowed(p SendPolicy, o Override, to Outlet) (ok bool, why string) {
	switch o {
	case AlwaysSend:
		return true, "sending was switched on for this conversation"
	case NeverSend:
		return false, "sending was switched off for this conversation"
	case Inherit, "inherit":
	default:
		return false, fmt.Sprintf("unknown send policy %q for this conversation", o)
	}
	if to.Channel == "" {
		to.Channel = to.Key.Channel()
	}
	if to.ChatType == "" {
		to.ChatType = to.Key.ChatType()
	}
	allow := -1
	for i, r := range p.Rules {
		if !r.fits(to) {
			continue
		}
		if r.Effect != Allow {
			return false, fmt.Sprintf("send rule %d denies it", i+1)
		}
		if allow < 0 {
			allow = i
		}
	}
	if allow >= 0 {
		return true, fmt.Sprintf("send rule %d allows it", allow+1)
	}
	return p.Default == "" || p.Default == Allow, "the send policy's default"
}

func (r SendRule) fits(to Outlet) bool {
	if r.Channel != "" && lower(strings.TrimSpace(r.Channel)) != lower(to.Channel) {
		return false
	}
	if r.ChatType != "" && r.chatType() != to.ChatType {
		return false
	}
	prefix := lower(strings.TrimSpace(r.KeyPrefix))
	for _, key := range []string{to.Key.String(), to.Key.Format(V2026_1)} {
		if !strings.HasPrefix(prefix, "agent:") {
			key = strings.TrimPrefix(key, "agent:"+to.Key.Agent()+":")
		}
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// chatType returns the rule's chat type under its current name.
func (r SendRule) chatType() ChatType {
	switch t := ChatType(strings.ToLower(strings.TrimSpace(string(r.ChatType)))); t {
	case "dm":
		return ChatDirect
	case "room":
		return ChatChannel
	default:
		return t
	}
}
