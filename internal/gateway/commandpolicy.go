package gateway

import (
	"context"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/wire"
)

// commander returns the sender of a message in terms of the command policy.
func commander(in wire.Inbound) route.Commander {
	by := route.Commander{Channel: in.Channel, ChatType: route.ChatGroup, Names: []string{in.Sender}}
	kind, err := route.ParsePeerKind(in.PeerKind)
	switch {
	case err != nil: // rejected by the routing
	case kind == route.PeerDirect:
		by.ChatType, by.Names = route.ChatDirect, append(by.Names, in.PeerID)
	case kind == route.PeerChannel:
		by.ChatType = route.ChatChannel
	}
	return by
}

// deniedTrigger returns the command that would start a new session if the sender may not
// use it, else "".
func (s *Setup) deniedTrigger(in wire.Inbound) string {
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

// deniedCommand returns the command in a message and whether the sender may not use it.
func (s *Setup) deniedCommand(in wire.Inbound, text string) (name string, denied bool) {
	name, _, ok := route.ParseCommand(text)
	return "/" + name, ok && !s.Commands.Allows(name, commander(in))
}

// commandDenied returns the reply to a denied command.
func commandDenied(name string) string {
	return fmt.Sprintf("You are not allowed to use %s here.", name)
}

// refuseCommand answers a message whose trigger is denied. It writes nothing.
func (g *inbox) refuseCommand(ctx context.Context, setup *Setup, r route.Route, in wire.Inbound, name string, out wire.Routed) (wire.Routed, error) {
	keyed, err := g.keyed()
	if err != nil {
		return out, err
	}
	if out.Session, err = keyed.Lookup(ctx, out.Key); err != nil && !errors.Is(err, firn.ErrNotFound) {
		return out, err
	}
	out.Reply, out.Deliver = commandDenied(name), g.deliverable(ctx, setup, r, in, out.Session)
	return out, nil
}

// exceedsSendPolicy reports whether /send with these arguments would allow answers that the
// configuration does not. A chat cannot override the operator's policy.
func exceedsSendPolicy(setup *Setup, r route.Route, in wire.Inbound, args string) bool {
	word, ok := sendWord(args)
	if !ok || word != sendAllow {
		return false
	}
	may, _ := route.Allowed(setup.send(r.Agent), route.Inherit, route.Outlet{Key: r.Key, Channel: in.Channel, ChatType: r.ChatType})
	return !may
}
