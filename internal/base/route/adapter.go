package route

import (
	"fmt"
	"strings"
	"unicode"

	"firn.dev"
)

// Native is what another program calls a conversation, and the key that it has
// here. Native names do not always survive being a key, so keep Raw with it.
type Native struct {
	Key Key
	// Raw is the other program's own name for it, to the letter: claw0's key,
	// CrabTalk's sender.
	Raw string
}

// FromClaw0 makes a key of claw0's <agent>:<channel>:<peer>.
func FromClaw0(raw string) (Native, error) {
	agent, rest, _ := strings.Cut(raw, ":")
	channel, peer, ok := strings.Cut(rest, ":")
	channel = lower(strings.TrimSpace(channel))
	if !ok || agent == "" || peer == "" {
		return Native{}, fmt.Errorf("%w key of claw0 %.80q: want <agent>:<channel>:<peer>", firn.ErrInvalid, raw)
	}
	if !isChannel(channel) {
		return Native{}, fmt.Errorf("%w key of claw0 %.80q: %q cannot be the name of a channel", firn.ErrInvalid, raw, channel)
	}
	k, err := Parts{Agent: NormalizeAgent(agent), Kind: KindDirect, Channel: channel, Peer: Spell(peer)}.Key()
	if err != nil {
		return Native{}, fmt.Errorf("read a key of claw0: %w", err)
	}
	return Native{k, raw}, nil
}

// ToClaw0 spells a key as claw0 would. Only direct conversations on a channel
// have a name there.
func ToClaw0(k Key) (string, error) {
	p := k.Parts()
	if p.Kind != KindDirect || p.Channel == "" || p.Account != "" || p.Thread != "" {
		return "", fmt.Errorf("spell key %s for claw0: it only knows direct conversations on a channel: %w", k, firn.ErrUnsupported)
	}
	return p.Agent + ":" + p.Channel + ":" + Unspell(p.Peer), nil
}

// defaultSender is who speaks to CrabTalk when nobody is named.
const defaultSender = "user"

// FromCrabTalk makes a key of an agent and a sender, agent:<agent>:direct:<slug>,
// as its file names do. Slugs lose what they cannot spell: tg:1 and tg-1 are
// the same. So compare Raw with the sender of the session that the key points
// at, and take [FromCrabTalkExact] if it is another.
func FromCrabTalk(agent, sender string) (Native, error) {
	if sender == "" {
		sender = defaultSender
	}
	slug := Slug(sender)
	if slug == "" {
		return FromCrabTalkExact(agent, sender)
	}
	return fromSender(agent, sender, Spell(slug))
}

// FromCrabTalkExact makes a key that no other sender has.
func FromCrabTalkExact(agent, sender string) (Native, error) {
	if sender == "" {
		sender = defaultSender
	}
	return fromSender(agent, sender, Spell(sender))
}

func fromSender(agent, sender, peer string) (Native, error) {
	k, err := Parts{Agent: NormalizeAgent(agent), Kind: KindDirect, Peer: peer}.Key()
	if err != nil {
		return Native{}, fmt.Errorf("make a key of CrabTalk's sender %.80q: %w", sender, err)
	}
	return Native{k, sender}, nil
}

// ToCrabTalk gives the agent and the sender that a key stands for. It is the
// slug of the sender if that is all that the key knows.
func ToCrabTalk(k Key) (agent, sender string, err error) {
	p := k.Parts()
	if p.Kind != KindDirect || p.Channel != "" || p.Thread != "" {
		return "", "", fmt.Errorf("spell key %s for CrabTalk: it only knows agents and senders: %w", k, firn.ErrUnsupported)
	}
	return p.Agent, Unspell(p.Peer), nil
}

// Slug makes a file name's part of a sender as CrabTalk does: letters and
// digits of all scripts stay, those of ASCII in lower case, all else becomes
// dashes, of which none are doubled or at an end.
func Slug(sender string) string {
	dashed := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.Is(unicode.Other_Alphabetic, r):
			return r
		}
		return '-'
	}, sender)
	return strings.Join(strings.FieldsFunc(dashed, func(r rune) bool { return r == '-' }), "-")
}

// ProjectKey is the key of an agent's conversation about a directory, named by
// its absolute path.
func ProjectKey(agent, dir string) (Key, error) {
	if dir == "" {
		return Key{}, fmt.Errorf("%w project: it has no directory", firn.ErrInvalid)
	}
	return Parts{Agent: NormalizeAgent(agent), Kind: KindProject, Peer: Spell(dir)}.Key()
}

// ProjectDir is the directory that a key is about; empty if it is about none.
func ProjectDir(k Key) string {
	if p := k.Parts(); p.Kind == KindProject && p.Thread == "" {
		return Unspell(p.Peer)
	}
	return ""
}
