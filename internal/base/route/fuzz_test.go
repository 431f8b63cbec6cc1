package route_test

import (
	"strings"
	"testing"

	"firn.dev/internal/base/route"
	"firn.dev/store"
)

// FuzzParse parses any input as a key. An accepted key is canonical: it parses and formats
// to itself, and is valid for stores and file systems.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"agent:main:main", "agent:A:B:dm:C:thread:d", "agent:x:telegram:group:-1:topic:7", "agent:a:%41:İ", "agent::", "main", "agent:0: 0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := route.Parse(s)
		if err != nil {
			if !k.IsZero() {
				t.Fatal("an error is returned together with a key")
			}
			return
		}
		if again, err := route.Parse(k.String()); err != nil || again != k {
			t.Fatalf("%q is %s, and that is %s, %v", s, k, again, err)
		}
		if err := store.CheckKey(k.String()); err != nil {
			t.Fatal(err)
		}
		if agent := store.AgentOf(k.String()); agent != k.Agent() {
			t.Fatalf("%s is %s's here and %s's in a store", k, k.Agent(), agent)
		}
		if again, err := k.Parts().Key(); err != nil || again != k {
			t.Fatalf("the parts of %s make %s, %v", k, again, err)
		}
		if again, err := route.FromFileName(route.FileName(k)); err != nil || again != k {
			t.Fatalf("the file of %s is that of %s, %v", k, again, err)
		}
	})
}

// FuzzFromFileName parses any input as a file name. An accepted name is the only one of its
// key.
func FuzzFromFileName(f *testing.F) {
	for _, s := range []string{"agent,main,main", "agent,main,x=/=y", "agent,main,%2e", "../x", "agent,a,%41"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		k, err := route.FromFileName(name)
		if err == nil && route.FileName(k) != name {
			t.Fatalf("%q and %q are both %s", name, route.FileName(k), k)
		}
	})
}

// FuzzResolve routes any input. An accepted message gets a key of the requested agent, and
// never a shared one.
func FuzzResolve(f *testing.F) {
	f.Add("main", "telegram", "bot", "direct", "12", "")
	f.Add("", "Slack", "", "room", "C1", "1.2")
	f.Add("a b", "cron", ":", "dm", "x:thread:y", "topic:")
	f.Fuzz(func(t *testing.T, agent, channel, account, kind, peer, thread string) {
		c := route.Config{Scope: route.ScopePerAccountChannelPeer}
		r, err := route.Resolve(c, route.Envelope{Agent: agent, Channel: channel, AccountID: account, PeerKind: route.PeerKind(kind), PeerID: peer, ThreadID: thread})
		if err != nil {
			return
		}
		if r.Agent != route.NormalizeAgent(agent) || r.Key.Channel() == "" || r.Key.Parts().Peer == "" || r.ChatType == "" {
			t.Fatalf("%+v", r)
		}
		if (r.Key.Thread() != "") != (strings.TrimSpace(thread) != "") || r.Parent.IsZero() != (r.Key.Thread() == "") {
			t.Fatalf("thread %q: %+v", thread, r)
		}
	})
}

// FuzzText parses any text for triggers and commands. No text is lost or added.
func FuzzText(f *testing.F) {
	for _, s := range []string{"/new x", "@firn, /RESET@firn\nx", "/compact: hint", "/queue collect cap:3", "/né"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		hit, ok := route.Trigger(text, route.Triggers{Mentions: []string{"@firn"}})
		if ok && (!strings.HasSuffix(strings.TrimSpace(text), hit.Rest) || hit.Rest != strings.TrimSpace(hit.Rest)) {
			t.Fatalf("%q: %+v", text, hit)
		}
		name, args, ok := route.ParseCommand(text)
		if ok != (name != "") || !strings.HasSuffix(strings.TrimSpace(text), args) {
			t.Fatalf("%q: %q, %q", text, name, args)
		}
		if q, err := route.ParseQueue(args, route.Queue{}); err == nil {
			if again, err := route.ParseQueue(q.String(), route.Queue{}); err != nil || again.String() != q.String() {
				t.Fatalf("%s is read as %s, %v", q, again, err)
			}
		}
	})
}
