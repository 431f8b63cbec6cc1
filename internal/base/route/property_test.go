package route_test

import (
	"slices"
	"strings"
	"testing"

	"firn.dev/internal/base/route"
	"firn.dev/store"

	"pgregory.net/rapid"
)

// ids are IDs that are easily confused with each other: by case, Unicode form, spaces, words
// used in keys, or text that looks like an escape.
func ids() *rapid.Generator[string] {
	pieces := []string{
		"a", "A", "b", "1", ":", "::", "%", "%41", "%3a", "%25", " ", "\t", "\x00", "\xff", "-", "_", ",", "=", "/", ".", "..", "é", "e\u0301", "\u212a", "k", "İ", "i\u0307", "ß", "Σ",
		"thread", ":thread:", "topic", ":topic:", "direct", ":direct:", "dm", "group", "channel", "main", "alice", "unknown", "telegram:1", "x",
	}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 4).Draw(t, "pieces"), "")
	})
}

func envelopes() *rapid.Generator[route.Envelope] {
	return rapid.Custom(func(t *rapid.T) route.Envelope {
		e := route.Envelope{
			Channel:   rapid.SampledFrom([]string{"signal", "matrix", "telegram", "x", "mydirect"}).Draw(t, "channel"),
			AccountID: rapid.OneOf(rapid.Just(""), ids()).Draw(t, "account"),
			PeerKind:  rapid.SampledFrom([]route.PeerKind{"direct", "group", "channel"}).Draw(t, "kind"),
			PeerID:    ids().Draw(t, "peer"),
		}
		if rapid.Bool().Draw(t, "in a thread") {
			e.ThreadID = ids().Draw(t, "thread")
		}
		return e
	})
}

var scopes = []route.Scope{"", route.ScopeMain, route.ScopePerPeer, route.ScopePerChannelPeer, route.ScopePerAccountChannelPeer}

// owner identifies a conversation by the rules, independently of the code: only messages
// with the same owner may share a session.
type owner struct{ kind, channel, account, peer, thread string }

func ownerOf(c route.Config, e route.Envelope) owner {
	fold := func(s string) string {
		if slices.Contains(c.Folded, e.Channel) {
			return strings.ToLower(strings.ReplaceAll(s, "İ", "i\u0307"))
		}
		return s
	}
	o := owner{string(e.PeerKind), e.Channel, "", "id " + fold(e.PeerID), fold(e.ThreadID)}
	if strings.TrimSpace(e.ThreadID) == "" {
		o.thread = ""
	}
	if e.PeerKind != "direct" {
		return o
	}
	for _, l := range c.Links {
		for _, id := range l.IDs {
			channel, peer, of := strings.Cut(id, ":")
			if of && channel == e.Channel && fold(peer) == fold(e.PeerID) || !of && fold(id) == fold(e.PeerID) {
				o.peer = "name " + l.Name
			}
		}
	}
	switch c.Scope {
	case route.ScopeMain:
		o.channel, o.peer = "", ""
	case route.ScopePerPeer:
		o.channel = ""
	case route.ScopePerAccountChannelPeer:
		o.account = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(e.AccountID), "İ", "i\u0307"))
		if o.account == "" {
			o.account = "default"
		}
	}
	return o
}

// neighbors are messages that are easily mistaken for e.
func neighbors(e route.Envelope) []route.Envelope {
	var all []route.Envelope
	add := func(how func(*route.Envelope)) {
		near := e
		how(&near)
		all = append(all, near)
	}
	add(func(e *route.Envelope) {})
	add(func(e *route.Envelope) { e.PeerID, e.ThreadID = e.PeerID+":thread:"+e.ThreadID, "" })
	add(func(e *route.Envelope) { e.PeerID, e.ThreadID = e.PeerID+":topic:"+e.ThreadID, "" })
	add(func(e *route.Envelope) {
		e.PeerID, e.ThreadID = e.PeerID+":thread", strings.TrimPrefix(e.ThreadID, "thread:")
	})
	add(func(e *route.Envelope) { e.ThreadID = "thread:" + e.ThreadID })
	add(func(e *route.Envelope) { e.PeerID = strings.ToUpper(e.PeerID) })
	add(func(e *route.Envelope) { e.PeerID = e.PeerID + " " })
	add(func(e *route.Envelope) { e.PeerID = route.EncodeID(e.PeerID) })
	add(func(e *route.Envelope) { e.PeerID = e.AccountID + ":direct:" + e.PeerID })
	add(func(e *route.Envelope) { e.PeerID = e.Channel + ":" + e.PeerID })
	add(func(e *route.Envelope) { e.AccountID = e.AccountID + ":direct" })
	for _, name := range []string{"alice", "telegram:1", "telegram:telegram:1", "1", "k"} {
		add(func(e *route.Envelope) { e.PeerID = name })
	}
	return all
}

// TestKeysOfDifferentPeopleDiffer sends messages from people with similar IDs. Two of them
// get the same key if and only if the rules allow it.
func TestKeysOfDifferentPeopleDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := route.Config{
			Scope:  rapid.SampledFrom(scopes).Draw(t, "scope"),
			Folded: rapid.SampledFrom([][]string{{}, {"telegram", "x"}}).Draw(t, "folded"),
			Links:  []route.Link{{Name: "alice", IDs: []string{"telegram:1", "signal:A", "k"}}, {Name: "a:thread:b", IDs: []string{"x:b"}}},
		}
		owners, keys := make(map[route.Key]owner), make(map[owner]route.Key)
		for _, e := range rapid.SliceOfN(envelopes(), 1, 4).Draw(t, "messages") {
			for _, e := range neighbors(e) {
				r, err := route.Resolve(c, e)
				if err != nil && strings.TrimSpace(e.PeerID) != "" {
					t.Fatalf("%+v: %v", e, err)
				}
				if err != nil {
					continue
				}
				o := ownerOf(c, e)
				if other, ok := owners[r.Key]; ok && other != o {
					t.Fatalf("%+v and %+v share %s", o, other, r.Key)
				}
				if other, ok := keys[o]; ok && other != r.Key {
					t.Fatalf("%+v has both %s and %s", o, r.Key, other)
				}
				owners[r.Key], keys[o] = o, r.Key
				if err := store.CheckKey(r.Key.String()); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestKeysRoundTrip splits routed keys and encodes them in all forms.
func TestKeysRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := route.Config{Scope: rapid.SampledFrom(scopes).Draw(t, "scope"), Default: rapid.SampledFrom([]string{"", "Crab_2"}).Draw(t, "agent")}
		e := envelopes().Draw(t, "envelope")
		r, err := route.Resolve(c, e)
		if err != nil {
			return
		}
		again, err := r.Key.Parts().Key()
		if err != nil || again != r.Key {
			t.Fatalf("the parts of %s make %s, %v", r.Key, again, err)
		}
		for _, p := range []route.Profile{route.Current, route.V2026_1} {
			if back := parse(t, r.Key.Format(p)); back != r.Key {
				t.Fatalf("%s is read as %s", r.Key.Format(p), back)
			}
		}
		if k, err := c.Key(r.Key.Rest()); err != nil || k != r.Key {
			t.Fatalf("without its agent it is %s, %v", k, err)
		}
		if e.PeerKind != "direct" && !slices.Contains(route.FoldedChannels(), e.Channel) {
			p := r.Key.Parts()
			if route.DecodeID(p.Peer) != e.PeerID || strings.TrimSpace(e.ThreadID) != "" && route.DecodeID(p.Thread) != e.ThreadID {
				t.Fatalf("%+v is read back as %q, %q", e, route.DecodeID(p.Peer), route.DecodeID(p.Thread))
			}
		}
		if p := r.Parent; !p.IsZero() {
			if k, err := p.Under(r.Key.Thread()); err != nil || k.Thread() != r.Key.Thread() || k.Parent() != p {
				t.Fatalf("%s under its parent is %s, %v", r.Key, k, err)
			}
		}
	})
}

// TestFileNamesNeverCollide draws pairs of keys and checks that their file names never
// collide on any file system and are never special.
func TestFileNamesNeverCollide(t *testing.T) {
	keys := rapid.Custom(func(t *rapid.T) route.Key {
		rest := ids().Draw(t, "rest") + strings.Repeat(ids().Draw(t, "fill"), rapid.IntRange(0, 60).Draw(t, "times"))
		k, err := route.Parse("agent:a:" + rest)
		if err != nil {
			return parse(t, "agent:a:direct:"+route.EncodeID(firstRunes(rest, 60)))
		}
		return k
	})
	rapid.Check(t, func(t *rapid.T) {
		one, two := keys.Draw(t, "one"), keys.Draw(t, "two")
		first, second := route.FileName(one), route.FileName(two)
		if one != two && strings.EqualFold(first, second) {
			t.Fatalf("%s and %s are both %s", one, two, first)
		}
		if strings.HasPrefix(second+"/", first+"/") && one != two {
			t.Fatalf("%s is the directory of %s", first, second)
		}
		for _, e := range strings.Split(first, "/") {
			if e == "" || len(e) > 200 || strings.Trim(e, "abcdefghijklmnopqrstuvwxyz0123456789,.-@+%=") != "" || strings.HasSuffix(e, ".") || strings.HasPrefix(e, ".") {
				t.Fatalf("%s has the element %q", first, e)
			}
		}
		if back, err := route.FromFileName(first); err != nil || back != one {
			t.Fatalf("%s is read as %s, %v", first, back, err)
		}
	})
}

func firstRunes(s string, n int) string {
	runes := []rune(s)
	return string(runes[:min(n, len(runes))])
}

// TestSpellIsReversible spells any bytes and finds them again.
func TestSpellIsReversible(t *testing.T) {
	anything := rapid.OneOf(ids(), rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		id := anything.Draw(t, "id")
		encoded := route.EncodeID(id)
		if back := route.DecodeID(encoded); back != id {
			t.Fatalf("%q is encoded %q and read as %q", id, encoded, back)
		}
		if id == "" || len(encoded) > 900 {
			return
		}
		k, err := route.Parts{Kind: route.KindGroup, Channel: "x", Peer: encoded}.Key()
		if err != nil || k.Parts().Peer != encoded || k.Parts().Thread != "" {
			t.Fatalf("%q is encoded %q, which makes %s, %v", id, encoded, k, err)
		}
	})
}

// TestAdaptersRoundTrip converts names of other programs to keys and back.
func TestAdaptersRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sender := ids().Draw(t, "sender")
		n, err := route.FromClaw0("crab:cli:" + sender)
		if err != nil || n.Raw != "crab:cli:"+sender {
			t.Fatalf("%+v, %v", n, err)
		}
		if back, err := route.ToClaw0(n.Key); err != nil || back != n.Raw {
			t.Fatalf("%s is %q for claw0, %v, want %q", n.Key, back, err, n.Raw)
		}
		other := ids().Draw(t, "other")
		a, err := route.FromCrabTalkExact("crab", sender)
		if err != nil {
			t.Fatal(err)
		}
		b, err := route.FromCrabTalkExact("crab", other)
		if err != nil || (a.Key == b.Key) != (sender == other) {
			t.Fatalf("%q and %q have %s and %s, %v", sender, other, a.Key, b.Key, err)
		}
		if agent, back, err := route.ToCrabTalk(a.Key); err != nil || agent != "crab" || back != sender {
			t.Fatalf("%s is %s, %q for CrabTalk, %v", a.Key, agent, back, err)
		}
		lossy, err := route.FromCrabTalk("crab", sender)
		if err != nil || lossy.Raw != sender {
			t.Fatalf("%+v, %v", lossy, err)
		}
		if route.Slug(sender) != "" && lossy.Key == b.Key && route.Slug(sender) != other {
			t.Fatalf("the slug of %q is the exact key of %q", sender, other)
		}
		if slug := route.Slug(sender); route.Slug(slug) != slug {
			t.Fatalf("the slug of %q is %q, and of that %q", sender, slug, route.Slug(slug))
		}
	})
}

// TestDecideKeepsTheCap applies random operations to queues.
func TestDecideKeepsTheCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := route.Queue{
			Mode: rapid.SampledFrom([]route.QueueMode{"", "steer", "followup", "collect", "interrupt"}).Draw(t, "mode"),
			Cap:  rapid.IntRange(0, 5).Draw(t, "cap"),
			Drop: rapid.SampledFrom([]route.DropPolicy{"", "old", "new", "summarize"}).Draw(t, "drop"),
		}
		waiting, running, lost, taken := 0, false, 0, 0
		for range rapid.IntRange(0, 60).Draw(t, "messages") {
			if rapid.IntRange(0, 5).Draw(t, "ends") == 0 {
				running = false
			}
			d := q.Decide(running, waiting)
			waiting -= d.Drop
			lost += d.Drop
			switch d.Action {
			case route.ActRun, route.ActInterrupt:
				if waiting != 0 {
					t.Fatalf("%+v passes %d that wait", d, waiting)
				}
				running, taken = true, taken+1
			case route.ActSteer:
				if !running {
					t.Fatal("there is no turn to steer")
				}
			case route.ActWait:
				waiting++
			case route.ActRefuse:
				if q.Drop != route.DropNew {
					t.Fatalf("refused by %+v", q)
				}
			}
			if waiting < 0 || waiting > q.WithDefaults().Cap {
				t.Fatalf("%d wait, of %d", waiting, q.WithDefaults().Cap)
			}
		}
		if q.Drop == route.DropNew && q.Mode != route.QueueInterrupt && lost > 0 {
			t.Fatalf("%d were dropped though new ones are refused", lost)
		}
	})
}
