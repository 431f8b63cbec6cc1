package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/store"
	"firn.dev/wire"
)

// Inbound takes in a message from outside: it finds the key it belongs to and
// the session of the key, begins a new one if the policy says that the old one
// is over, and says it there. The message is durable when it returns.
func (g *Gateway) Inbound(ctx context.Context, in wire.Inbound) (wire.Routed, error) {
	setup := g.setup.Load()
	r, err := setup.resolve(in)
	if err != nil {
		return wire.Routed{}, err
	}
	if _, err := setup.agent(r.Agent); err != nil {
		return wire.Routed{}, err
	}
	out := wire.Routed{Key: r.Key.String()}
	unlock := g.doors.lock(out.Key)
	defer unlock()
	if name := setup.forbidden(in); name != "" {
		return g.refuseCommand(ctx, setup, r, in, name, out)
	}
	text, err := g.room(ctx, setup, r, in, &out)
	if err != nil {
		return out, err
	}
	if err := g.nameAfter(ctx, r, in.Subject, out.Session); err != nil {
		return out, err
	}
	out.Deliver = g.deliverable(ctx, setup, r, in, out.Session)
	if name, denied := setup.deniedIn(in, text); denied {
		out.Reply = notHere(name)
		return out, nil
	}
	if reply, ok, err := g.command(ctx, setup, r, in, out.Session, text); ok || err != nil {
		out.Reply = reply
		// The answer to /send on is delivered, and so is that to /send off.
		out.Deliver = out.Deliver || g.deliverable(ctx, setup, r, in, out.Session)
		return out, err
	}
	if strings.TrimSpace(text) == "" && len(in.Images) == 0 {
		out.Reply = "A new session has begun."
		return out, nil
	}
	unlock()
	return g.deliver(ctx, askerOf(ctx).outside(r.Key), r, in, text, out)
}

// resolve finds where a message belongs.
func (s *Setup) resolve(in wire.Inbound) (route.Route, error) {
	kind, err := route.ParsePeerKind(in.PeerKind)
	if err != nil {
		return route.Route{}, err
	}
	return route.Resolve(s.Route, route.Envelope{
		Agent: in.Agent, Channel: in.Channel, AccountID: in.AccountID, PeerKind: kind, PeerID: in.PeerID,
		ThreadID: in.ThreadID, Sender: in.Sender, Text: in.Text,
	})
}

// room finds the session a message belongs to, or begins one, and returns
// what is left to be said there.
func (g *Gateway) room(ctx context.Context, setup *Setup, r route.Route, in wire.Inbound, out *wire.Routed) (string, error) {
	hit, asked := route.Trigger(in.Text, setup.triggers())
	text := in.Text
	cause := route.Cause("")
	if asked {
		if cause, text = hit.Cause, hit.Rest; g.alreadyBegan(ctx, r.Key, in.ID, out) {
			return text, nil
		}
	} else if id, err := store.LoadOrCreateIn(ctx, g.Store, r.Key.String(), g.workspaceOf(r.Key.Agent())); err != nil {
		return "", err
	} else if past, err := g.heardBefore(ctx, r.Key.String(), id, firn.EntryID(in.ID)); err != nil {
		return "", err
	} else if past != "" { // sent again, and the key has a new session meanwhile
		out.Session = past
		return text, nil
	} else if out.Session = id; !g.running(id) { // never in the middle of use
		if cause, err = g.staleFor(ctx, setup, r, in, id); err != nil {
			return "", err
		}
	}
	if cause == "" {
		return text, nil
	}
	id, err := g.begin(ctx, r.Key, cause, in.ID, "")
	if err != nil {
		return "", err
	}
	out.Session, out.Reset = id, string(cause)
	if hit.Model != "" {
		err = g.chooseModel(ctx, id, hit.Model)
	}
	return text, err
}

// staleFor tells why a session is over for a message, if it is: it is too old, or
// somebody removed it. For a message that it holds already it is not: its sender got no
// answer and sends it once more, and meanwhile the session may have ended for new ones.
func (g *Gateway) staleFor(ctx context.Context, setup *Setup, r route.Route, in wire.Inbound, id firn.ID) (route.Cause, error) {
	times, err := g.lifetimes(ctx, id)
	if err != nil {
		return "", err
	}
	v := route.Fresh(setup.resets(r.Agent).For(r.Key, in.Channel), g.now(), setup.Zone, times)
	away, err := g.removed(ctx, id)
	if err != nil || !away && !v.Stale {
		return "", err
	}
	if held, err := g.holds(ctx, id, firn.EntryID(in.ID)); held || err != nil {
		return "", err
	}
	if away {
		return route.CauseRemoved, nil
	}
	return v.Reason, nil
}

// nameAfter calls a session after the group or channel it is with, unless it has a
// title. What one person writes is better called by what it is about.
func (g *Gateway) nameAfter(ctx context.Context, r route.Route, subject string, id firn.ID) error {
	name := firn.CutText(strings.Join(strings.Fields(subject), " "), maxTitle)
	if name == "" || r.ChatType == route.ChatDirect {
		return nil
	}
	if info, err := g.Info(ctx, id); err != nil || info.Title != "" {
		return err
	}
	_, err := g.Store.Append(ctx, id, store.Any, firn.Entry{Body: &firn.Title{Name: name, Source: firn.SourceAuto}})
	return err
}

// holds reports whether a message is in a session, said or waiting.
func (g *Gateway) holds(ctx context.Context, id firn.ID, message firn.EntryID) (bool, error) {
	if message == "" {
		return false, nil
	}
	for rec, err := range store.Recent(ctx, g.Store, id, store.End, store.Heard(message, g.now())) {
		if err != nil {
			return false, fmt.Errorf("look for message %s in session %s: %w", message, id, err)
		}
		if rec.Gap != nil {
			continue
		}
		heard := rec.Glance.ID == message || said(&rec, message) // what a machine said is no message
		if heard || rec.Glance.Kind == firn.KindCustom && waits(&rec, message) {
			return true, nil
		}
	}
	return false, nil
}

// waits reports whether a record is a message that waits.
func waits(rec *firn.Record, message firn.EntryID) bool {
	entry, err := rec.Entry()
	if err != nil {
		return false
	}
	c, ok := entry.Body.(*firn.Custom)
	if !ok {
		return false
	}
	w, ok := waitingOf(c)
	return ok && w.ID == message
}

// alreadyBegan reports whether a session of a key was begun by that very
// message, which is sent once more because its sender got no answer.
func (g *Gateway) alreadyBegan(ctx context.Context, k route.Key, message string, out *wire.Routed) bool {
	keyed, err := g.keyed()
	if message == "" || err != nil {
		return false
	}
	id, err := keyed.Lookup(ctx, k.String())
	if err != nil {
		return false
	}
	err = g.earlier(ctx, k.String(), id, func(id firn.ID, s *pastSession) (bool, error) {
		if s.message == message {
			out.Session, out.Reset, out.Repeated = id, s.reason, true
		}
		return out.Repeated, nil
	})
	return err == nil && out.Repeated
}

// chooseModel chooses who answers in a session, by provider/model.
func (g *Gateway) chooseModel(ctx context.Context, id firn.ID, name string) error {
	a, err := g.agentOf(ctx, id)
	if err != nil {
		return err
	}
	providerName, model, _ := strings.Cut(name, "/")
	return a.Override(ctx, id, agent.Override{Provider: providerName, Model: model})
}

// deliver says a message in its session.
func (g *Gateway) deliver(ctx context.Context, who Asker, r route.Route, in wire.Inbound, text string, out wire.Routed) (wire.Routed, error) {
	wait := in.Wait
	turn := wire.Turn{Text: text, Images: in.Images, Sender: in.Sender}
	if in.ID != "" {
		turn.ID = firn.EntryID(in.ID)
	}
	from := sourceOf{channel: in.Channel}
	if r.Key.Kind() == route.KindDirect { // a main conversation may be with several
		from.chat = string(route.ChatDirect)
	}
	ticket, repeated, err := g.acceptFrom(ctx, who, out.Session, turn, from)
	if err != nil {
		return out, err
	}
	answer, err := ticket.await(ctx, out.Session, wait)
	if errors.Is(err, firn.ErrConflict) && in.ID != "" { // it was answered, longer ago than anybody looked
		repeated = true
		answer, _, err = g.answerTo(ctx, out.Session, turn.ID, turn.ID)
	}
	out.Repeated = out.Repeated || repeated || ticket.repeated.Load()
	if err != nil {
		return out, err
	}
	out.Message = answer.Message
	if wait {
		out.Answer = &answer
		if !answer.Silent {
			out.Reply = g.verboseLines(ctx, answer) + answer.Text
		}
		out.Deliver = out.Deliver && !answer.Silent
	}
	return out, nil
}

// deliverable reports whether answers may be sent to where a message came from.
func (g *Gateway) deliverable(ctx context.Context, setup *Setup, r route.Route, in wire.Inbound, id firn.ID) bool {
	override := route.Inherit
	if path, err := g.Path(ctx, id); err == nil {
		override = route.Override(path.Chosen.Send)
	}
	ok, _ := route.Allowed(setup.send(r.Agent), override, route.Outlet{Key: r.Key, Channel: in.Channel, ChatType: r.ChatType})
	return ok
}

// KeyOf is the key that a message from outside would be routed to.
func (g *Gateway) KeyOf(in wire.Inbound) (string, error) {
	r, err := g.setup.Load().resolve(in)
	if err != nil {
		return "", err
	}
	return r.Key.String(), nil
}

// command does what a message asks of the gateway itself. It is false if the
// message is for the agent.
func (g *Gateway) command(ctx context.Context, setup *Setup, r route.Route, in wire.Inbound, id firn.ID, text string) (reply string, ok bool, err error) {
	name, args, ok := route.ParseCommand(text)
	if !ok {
		return "", false, nil
	}
	if name == "send" && overrules(setup, r, in, args) {
		return "That was not done: the settings do not allow answers in this chat.", true, nil
	}
	do, ok := commands[name]
	if !ok {
		return "", false, nil
	}
	reply, err = do(g, ctx, id, args)
	if err == nil {
		return reply, true, nil
	}
	if p := ProblemOf(err); p.Kind == wire.Invalid { // who typed it can mend it; whoever carries messages cannot
		return "That was not done: " + p.Message + ".", true, nil
	}
	return "", true, err
}

// commands are what can be asked of the gateway in a message.
var commands = map[string]func(g *Gateway, ctx context.Context, id firn.ID, args string) (string, error){
	"stop": func(g *Gateway, ctx context.Context, id firn.ID, _ string) (string, error) {
		stopped, err := g.Stop(ctx, id)
		if err != nil || !stopped {
			return "Nothing was running.", err
		}
		return "Stopped.", nil
	},
	"compact": func(g *Gateway, ctx context.Context, id firn.ID, hint string) (string, error) {
		c, err := g.Compact(ctx, id, wire.Compact{Hint: hint})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Compacted: about %d tokens became %d.", c.Before, c.After), nil
	},
	"model":   override(func(v string) wire.Patch { return wire.Patch{Model: &v} }),
	"think":   override(func(v string) wire.Patch { return wire.Patch{Thinking: &v} }),
	"verbose": override(func(v string) wire.Patch { return wire.Patch{Verbose: &v} }),
	"send":    override(func(v string) wire.Patch { return wire.Patch{Send: &v} }),
	"auth":    override(func(v string) wire.Patch { return wire.Patch{Auth: &v} }),
	"status":  status,
	"usage":   status,
	"queue": func(g *Gateway, _ context.Context, _ firn.ID, _ string) (string, error) {
		return "Messages during a turn: " + g.setup.Load().queue("").String() + ". The settings decide that.", nil
	},
	"help": func(*Gateway, context.Context, firn.ID, string) (string, error) {
		lines := []string{"/new, /reset: begin a new conversation"}
		for _, c := range route.Commands() {
			lines = append(lines, strings.TrimRight("/"+c.Name+" "+c.Args, " ")+": "+c.Help)
		}
		return strings.Join(lines, "\n"), nil
	},
}

// override makes a command that changes a session, or tells how it is set if it
// is not told to what.
func override(patch func(string) wire.Patch) func(*Gateway, context.Context, firn.ID, string) (string, error) {
	return func(g *Gateway, ctx context.Context, id firn.ID, value string) (string, error) {
		if value == "" {
			return status(g, ctx, id, "")
		}
		if _, err := g.Patch(ctx, id, patch(value)); err != nil {
			return "", err
		}
		return "Set to " + value + ".", nil
	}
}

// status tells how a session is, in a few lines. Where its files are is nobody's
// business over a channel.
func status(g *Gateway, ctx context.Context, id firn.ID, _ string) (string, error) {
	s, err := g.Session(ctx, string(id))
	if err != nil || s.State == nil {
		return "", err
	}
	st := s.State
	percent := int64(0)
	if st.Window.Window > 0 {
		percent = st.Window.Tokens * 100 / st.Window.Window
	}
	paused := ""
	if b := st.Breaker; b != nil {
		paused = fmt.Sprintf("\nCompaction failed %d times in a row", b.Failures)
		if b.Open {
			paused += ", paused until " + b.Until.Local().Format("15:04")
		}
	}
	return fmt.Sprintf("Model: %s/%s\nThinking %s, verbose %s, send %s, auth %s\nWindow: %d of %d tokens (%d%%), %d compactions%s\nUsed: %d in, %d out, $%.4f\nKey: %s\nSession: %s",
		st.Provider, st.Model, cmp.Or(st.Thinking, "off"), cmp.Or(st.Verbose, "off"), cmp.Or(st.Send, "inherit"), cmp.Or(st.Auth, wire.Default), st.Window.Tokens, st.Window.Window, percent, st.Compactions, paused,
		st.Counters.Input, st.Counters.Output, st.Counters.Cost, cmp.Or(s.Key, "none"), id), nil
}
