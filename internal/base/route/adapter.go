package route

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode"

	"firn.dev"
)

// Native is another program's name of a conversation with its key here. The conversion to a
// key may lose information, so keep Raw with it.
type Native struct {
	Key Key
	// Raw is the exact name in the other program: claw0's key, CrabTalk's sender.
	Raw string
}

// FromClaw0 converts claw0's <agent>:<channel>:<peer> to a key.
func FromClaw0(raw string) (Native, error) {
	agent, rest, _ := strings.Cut(raw, ":")
	channel, peer, ok := strings.Cut(rest, ":")
	channel = lower(strings.TrimSpace(channel))
	if !ok || agent == "" || peer == "" {
		return Native{}, fmt.Errorf("%w claw0 key %.80q: want <agent>:<channel>:<peer>", firn.ErrInvalid, raw)
	}
	if !isChannel(channel) {
		return Native{}, fmt.Errorf("%w claw0 key %.80q: %q is not a valid channel name", firn.ErrInvalid, raw, channel)
	}
	k, err := Parts{Agent: NormalizeAgent(agent), Kind: KindDirect, Channel: channel, Peer: EncodeID(peer)}.Key()
	if err != nil {
		return Native{}, fmt.Errorf("read a claw0 key: %w", err)
	}
	return Native{k, raw}, nil
}

// ToClaw0 converts a key to claw0's format, which supports only direct conversations on a
// channel.
func ToClaw0(k Key) (string, error) {
	p := k.Parts()
	if p.Kind != KindDirect || p.Channel == "" || p.Account != "" || p.Thread != "" {
		return "", fmt.Errorf("convert key %s to claw0: claw0 only supports direct conversations on a channel: %w", k, firn.ErrUnsupported)
	}
	return p.Agent + ":" + p.Channel + ":" + DecodeID(p.Peer), nil
}

// defaultSender is CrabTalk's sender if none is named.
const defaultSender = "user"

// FromCrabTalk converts an agent and a sender to a key, agent:<agent>:direct:<slug>, like
// its file names. Different senders may have the same slug, such as tg:1 and tg-1. So
// compare Raw with the sender of the session that the key points to, and use
// [FromCrabTalkExact] if they differ.
func FromCrabTalk(agent, sender string) (Native, error) {
	if sender == "" {
		sender = defaultSender
	}
	slug := Slug(sender)
	if slug == "" {
		return FromCrabTalkExact(agent, sender)
	}
	return fromSender(agent, sender, EncodeID(slug))
}

// FromCrabTalkExact returns a key that is unique to the sender.
func FromCrabTalkExact(agent, sender string) (Native, error) {
	if sender == "" {
		sender = defaultSender
	}
	return fromSender(agent, sender, EncodeID(sender))
}

func fromSender(agent, sender, peer string) (Native, error) {
	k, err := Parts{Agent: NormalizeAgent(agent), Kind: KindDirect, Peer: peer}.Key()
	if err != nil {
		return Native{}, fmt.Errorf("make a key from CrabTalk's sender %.80q: %w", sender, err)
	}
	return Native{k, sender}, nil
}

// ToCrabTalk returns the agent and the sender of a key. If the key has only the slug of the
// sender, that is returned.
func ToCrabTalk(k Key) (agent, sender string, err error) {
	p := k.Parts()
	if p.Kind != KindDirect || p.Channel != "" || p.Thread != "" {
		return "", "", fmt.Errorf("convert key %s to CrabTalk: CrabTalk only supports agents and senders: %w", k, firn.ErrUnsupported)
	}
	return p.Agent, DecodeID(p.Peer), nil
}

// Slug converts a sender to a part of a file name as CrabTalk does: letters and digits of
// all scripts are kept, ASCII letters in lower case; everything else becomes dashes,
// without repeated, leading or trailing ones.
func Slug(sender string) string {
	dashed := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.Is(unicode.Other_Alphabetic, r):
			return r
		}
		return '-'
	}, lowerASCII(sender))
	return strings.Join(strings.FieldsFunc(dashed, func(r rune) bool { return r == '-' }), "-")
}

// ProjectKey returns the key of an agent's conversation about a directory, identified by
// its absolute path. A path that is too long for a key is represented by its end and a hash.
func ProjectKey(agent, dir string) (Key, error) {
	if dir == "" {
		return Key{}, fmt.Errorf("%w project: the directory is missing", firn.ErrInvalid)
	}
	peer := EncodeID(dir)
	if len(peer) > maxProject {
		sum := sha256.Sum256([]byte(dir))
		peer = EncodeID(fmt.Sprintf("…%s#%x", strings.ToValidUTF8(dir[len(dir)-projectEnd:], ""), sum[:8]))
	}
	return Parts{Agent: NormalizeAgent(agent), Kind: KindProject, Peer: peer}.Key()
}

const (
	// maxProject is the maximum length of an encoded path in a project key, and projectEnd
	// how much of the end of a longer path is in it.
	maxProject = 900
	projectEnd = 80
)

// RepositoryKey returns the key of an agent's conversation about a git repository, identified
// by the address of its remote without scheme, user and password, such as host/name.
func RepositoryKey(agent, address string) (Key, error) {
	if address == "" || len(address) > maxProject {
		return Key{}, fmt.Errorf("%w repository: the address has %d bytes", firn.ErrInvalid, len(address))
	}
	return Parts{Agent: NormalizeAgent(agent), Kind: KindRepository, Peer: EncodeID(address)}.Key()
}

// ProjectDir returns the directory of a project key, for a long path its end; empty for
// other keys.
func ProjectDir(k Key) string {
	if p := k.Parts(); p.Kind == KindProject && p.Thread == "" {
		return DecodeID(p.Peer)
	}
	return ""
}
