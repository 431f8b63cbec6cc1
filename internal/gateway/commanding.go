package gateway

import (
	"context"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/wire"
)

// commander is who sends a message, as far as it matters for commands.
func commander(in wire.Inbound) route.Commander {
	by := route.Commander{Channel: in.Channel, ChatType: route.ChatGroup, Names: []string{in.Sender}}
	kind, err := route.ParsePeerKind(in.PeerKind)
	switch {
	case err != nil: // which the routing refuses
	case kind == route.PeerDirect:
		by.ChatType, by.Names = route.ChatDirect, append(by.Names, in.PeerID)
	case kind == route.PeerChannel:
		by.ChatType = route.ChatChannel
	}
	return by
}

// forbidden returns the command that would begin a new session, if the sender may not use
// it; empty if the message begins none, or they may.
func (s *Setup) forbidden(in wire.Inbound) string {
	hit, ok := route.Trigger(in.Text, s.triggers())
	if !ok {
		return ""
	}
	by := commander(in)
	switch {
	case !s.Commands.Allows(hit.Word, by) && !(hit.Cause == route.CauseTrigger && s.Commands.Allows("new", by)):
		return hit.Word
	case hit.Model != "" && !s.Commands.Allows("model", by):
		return "/model"
	}
	return ""
}

// deniedIn returns the command that a message is, and whether its sender may not use it.
func (s *Setup) deniedIn(in wire.Inbound, text string) (name string, denied bool) {
	name, _, ok := route.ParseCommand(text)
	return "/" + name, ok && !s.Commands.Allows(name, commander(in))
}

// notHere is what somebody is told who may not use a command.
func notHere(name string) string { return fmt.Sprintf("You may not use %s here.", name) }

// refuseCommand answers a message that would begin a new session. Nothing is written.
func (g *Gateway) refuseCommand(ctx context.Context, setup *Setup, r route.Route, in wire.Inbound, name string, out wire.Routed) (wire.Routed, error) {
	keyed, err := g.keyed()
	if err != nil {
		return out, err
	}
	if out.Session, err = keyed.Lookup(ctx, out.Key); err != nil && !errors.Is(err, firn.ErrNotFound) {
		return out, err
	}
	out.Reply, out.Deliver = notHere(name), g.deliverable(ctx, setup, r, in, out.Session)
	return out, nil
}

// overrules reports whether /send with these arguments would send answers that the
// settings do not allow: those are the operator's, and a chat does not change them.
func overrules(setup *Setup, r route.Route, in wire.Inbound, args string) bool {
	word, ok := sendWord(args)
	if !ok || word != sendAllow {
		return false
	}
	may, _ := route.Allowed(setup.send(r.Agent), route.Inherit, route.Outlet{Key: r.Key, Channel: in.Channel, ChatType: r.ChatType})
	return !may
}
