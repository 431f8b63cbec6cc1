package route

import (
	"fmt"
	"strings"

	"firn.dev"
)

// Effect is what a rule does.
type Effect string

// The effects. An empty one as default allows.
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
)

// SendPolicy says which answers may be sent out to the chat they are for.
type SendPolicy struct {
	// Default holds if no rule fits.
	Default Effect
	Rules   []SendRule
}

// SendRule fits what agrees with everything that it names.
type SendRule struct {
	Effect   Effect
	Channel  string
	ChatType ChatType
	// KeyPrefix is how the key begins: with agent:, else behind its agent. Old
	// spellings, such as dm, fit too.
	KeyPrefix string
}

// Override is what was settled for one conversation against the policy.
type Override string

// The overrides. An empty one inherits.
const (
	Inherit    Override = ""
	AlwaysSend Override = "allow"
	NeverSend  Override = "deny"
)

// ParseOverride reads what stands behind /send: on, off or inherit.
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

// Check refuses effects and chat types that there are not.
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

// Outlet is where an answer would go. Channel and ChatType are taken from the
// key if they are empty.
type Outlet struct {
	Key      Key
	Channel  string
	ChatType ChatType
}

// Allowed decides whether an answer may be sent, and says in words why. An
// override decides alone; else the first rule that denies; else any rule that
// allows; else the default. A policy that is not clear denies.
func Allowed(p SendPolicy, o Override, to Outlet) (ok bool, why string) {
	switch o {
	case AlwaysSend:
		return true, "sending was switched on for this conversation"
	case NeverSend:
		return false, "sending was switched off for this conversation"
	case Inherit, "inherit":
	default:
		return false, fmt.Sprintf("the setting %q of this conversation is not known", o)
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
	for _, key := range []string{to.Key.String(), to.Key.Spell(V2026_1)} {
		if !strings.HasPrefix(prefix, "agent:") {
			key = strings.TrimPrefix(key, "agent:"+to.Key.Agent()+":")
		}
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// chatType is the rule's chat type in its present name.
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
