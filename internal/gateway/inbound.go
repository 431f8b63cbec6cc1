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
	"firn.dev/internal/find/lookback"
	"firn.dev/store"
	"firn.dev/wire"
)

// Inbound accepts a message from a channel. It resolves the key and its session, starts a
// new session if the reset policy requires it, and queues the message there. The message is
// durable when Inbound returns.
func (g *inbox) Inbound(ctx context.Context, in wire.Inbound) (wire.Routed, error) {
	setup := g.setup.Load()
	r, err := setup.resolve(in)
	if err != nil {
		return wire.Routed{}, err
	}
	if _, err := setup.agent(r.Agent); err != nil {
		return wire.Routed{}, err
	}
	out := wire.Routed{Key: r.Key.String()}
	unlock := g.locks.lock(out.Key)
	defer unlock()
	if name := setup.deniedTrigger(in); name != "" {
		return g.refuseCommand(ctx, setup, r, in, name, out)
	}
	text, err := g.resolveSession(ctx, setup, r, in, &out)
	if err != nil {
		return out, err
	}
	if err := g.titleAfterSubject(ctx, r, in.Subject, out.Session); err != nil {
		return out, err
	}
	out.Deliver = g.deliverable(ctx, setup, r, in, out.Session)
	if name, denied := setup.deniedCommand(in, text); denied {
		out.Reply = commandDenied(name)
		return out, nil
	}
	if reply, ok, err := g.command(ctx, setup, r, in, out.Session, text); ok || err != nil {
		out.Reply = reply
		// The reply to /send on is delivered, and so is the reply to /send off.
		out.Deliver = out.Deliver || g.deliverable(ctx, setup, r, in, out.Session)
		return out, err
	}
	if strings.TrimSpace(text) == "" && len(in.Images) == 0 {
		out.Reply = "New session started."
		return out, nil
	}
	unlock()
	return g.deliver(ctx, askerOf(ctx).outside(r.Key), r, in, text, out)
}

// resolve returns the route of a message.
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

// resolveSession finds or starts the session of a message and returns the text left after a
// trigger.
func (g *inbox) resolveSession(ctx context.Context, setup *Setup, r route.Route, in wire.Inbound, out *wire.Routed) (string, error) {
	hit, asked := route.Trigger(in.Text, setup.triggers())
	text := in.Text
	cause := route.Cause("")
	if asked {
		if cause, text = hit.Cause, hit.Rest; g.startedBy(ctx, r.Key, in.ID, out) {
			return text, nil
		}
	} else if id, err := g.editor.threadSession(ctx, setup, r, in.Subject); err != nil {
		return "", err
	} else if past, err := g.history.findDelivered(ctx, r.Key.String(), id, firn.EntryID(in.ID)); err != nil {
		return "", err
	} else if past != "" { // a retry; the key has a new session in the meantime
		out.Session = past
		return text, nil
	} else if out.Session = id; !g.lanes.running(id) { // a session in use is not reset
		if cause, err = g.resetCause(ctx, setup, r, in, id); err != nil {
			return "", err
		}
	}
	if cause == "" {
		return text, nil
	}
	id, err := g.keys.startSession(ctx, r.Key, sessionStart{cause: cause, message: in.ID})
	if err != nil {
		return "", err
	}
	out.Session, out.Reset = id, string(cause)
	if hit.Model != "" {
		err = g.chooseModel(ctx, id, hit.Model)
	}
	return text, err
}

// resetCause returns why the session must be reset before it takes a message, or "": it is
// stale or was removed. It returns "" if the session already holds the message, because
// then the message is a retry.
func (g *inbox) resetCause(ctx context.Context, setup *Setup, r route.Route, in wire.Inbound, id firn.ID) (route.Cause, error) {
	times, err := g.keys.lifetimes(ctx, id)
	if err != nil {
		return "", err
	}
	v := route.CheckExpiry(setup.resets(r.Agent).For(r.Key, in.Channel), g.now(), setup.Zone, times)
	away, err := g.remover.removed(ctx, id)
	if err != nil || !away && !v.Stale {
		return "", err
	}
	if held, err := g.hasMessage(ctx, id, firn.EntryID(in.ID)); held || err != nil {
		return "", err
	}
	if away {
		return route.CauseRemoved, nil
	}
	return v.Reason, nil
}

// titleAfterSubject titles an untitled session after its group or channel. Direct
// conversations are titled by content instead.
func (g *inbox) titleAfterSubject(ctx context.Context, r route.Route, subject string, id firn.ID) error {
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

// hasMessage reports whether a session holds a message, delivered or queued.
func (g *core) hasMessage(ctx context.Context, id firn.ID, message firn.EntryID) (bool, error) {
	if message == "" {
		return false, nil
	}
	for rec, err := range lookback.Records(ctx, g.Store, id, store.End, lookback.EarliestAppend(message, g.now())) {
		if err != nil {
			return false, fmt.Errorf("find message %s in session %s: %w", message, id, err)
		}
		if rec.Gap != nil {
			continue
		}
		received := rec.Glance.ID == message || isMessage(&rec, message) // isMessage does not match machine messages
		if received || rec.Glance.Kind == firn.KindCustom && isQueued(&rec, message) {
			return true, nil
		}
	}
	return false, nil
}

// isQueued reports whether a record stores the queued message.
func isQueued(rec *firn.Record, message firn.EntryID) bool {
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

// startedBy reports whether a message, sent again by a client without an answer, already
// started a session of a key.
func (g *inbox) startedBy(ctx context.Context, k route.Key, message string, out *wire.Routed) bool {
	keyed, err := g.keyed()
	if message == "" || err != nil {
		return false
	}
	id, err := keyed.Lookup(ctx, k.String())
	if err != nil {
		return false
	}
	err = g.history.eachEarlier(ctx, k.String(), id, func(id firn.ID, s *pastSession) (bool, error) {
		if s.message == message {
			out.Session, out.Reset, out.Repeated = id, s.reason, true
		}
		return out.Repeated, nil
	})
	return err == nil && out.Repeated
}

// chooseModel sets the model of a session, by provider/model.
func (g *inbox) chooseModel(ctx context.Context, id firn.ID, name string) error {
	a, err := g.agentOf(ctx, id)
	if err != nil {
		return err
	}
	providerName, model, _ := strings.Cut(name, "/")
	return a.Override(ctx, id, agent.Override{Provider: providerName, Model: model})
}

// deliver queues a message in its session and, with Wait, waits for the answer.
func (g *inbox) deliver(ctx context.Context, who Asker, r route.Route, in wire.Inbound, text string, out wire.Routed) (wire.Routed, error) {
	wait := in.Wait
	turn := wire.Turn{Text: text, Images: in.Images, Sender: in.Sender}
	if in.ID != "" {
		turn.ID = firn.EntryID(in.ID)
	}
	from := messageSource{channel: in.Channel}
	if r.Key.Kind() == route.KindDirect { // a main conversation may have several participants
		from.chat = string(route.ChatDirect)
	}
	ticket, repeated, err := g.lanes.acceptFrom(ctx, who, out.Session, turn, from)
	if err != nil {
		return out, err
	}
	answer, err := ticket.await(ctx, out.Session, wait)
	if errors.Is(err, firn.ErrConflict) && in.ID != "" { // it was answered, longer ago than the search went back
		repeated = true
		answer, _, err = g.lanes.answerTo(ctx, out.Session, turn.ID, turn.ID)
	}
	out.Repeated = out.Repeated || repeated || ticket.wasRepeated()
	if err != nil {
		return out, err
	}
	out.Message = answer.Message
	if wait {
		out.Answer = &answer
		if !answer.Silent {
			out.Reply = g.lanes.verboseLines(ctx, answer) + answer.Text
		}
		out.Deliver = out.Deliver && !answer.Silent
	}
	return out, nil
}

// deliverable reports whether answers may be sent to the origin of a message.
func (g *inbox) deliverable(ctx context.Context, setup *Setup, r route.Route, in wire.Inbound, id firn.ID) bool {
	override := route.Inherit
	if path, err := g.Path(ctx, id); err == nil {
		override = route.Override(path.Chosen.Send)
	}
	ok, _ := route.Allowed(setup.send(r.Agent), override, route.Outlet{Key: r.Key, Channel: in.Channel, ChatType: r.ChatType})
	return ok
}

// KeyOf returns the key that a message would be routed to.
func (g *inbox) KeyOf(in wire.Inbound) (string, error) {
	r, err := g.setup.Load().resolve(in)
	if err != nil {
		return "", err
	}
	return r.Key.String(), nil
}

// command runs a command addressed to the gateway. It returns false if the message is for
// the agent.
func (g *inbox) command(ctx context.Context, setup *Setup, r route.Route, in wire.Inbound, id firn.ID, text string) (reply string, ok bool, err error) {
	name, args, ok := route.ParseCommand(text)
	if !ok {
		return "", false, nil
	}
	if name == "send" && exceedsSendPolicy(setup, r, in, args) {
		return "Not done: the settings do not allow answers in this chat.", true, nil
	}
	do, ok := commands[name]
	if !ok {
		return "", false, nil
	}
	reply, err = do(g, ctx, id, args)
	if err == nil {
		return reply, true, nil
	}
	if p := ProblemOf(err); p.Kind == wire.Invalid { // the sender can correct it; the channel adapter cannot
		return "Not done: " + p.Message + ".", true, nil
	}
	return "", true, err
}

// commands are the commands that the gateway handles itself.
var commands = map[string]func(g *inbox, ctx context.Context, id firn.ID, args string) (string, error){
	"stop": func(g *inbox, ctx context.Context, id firn.ID, _ string) (string, error) {
		stopped, err := g.lanes.Stop(ctx, id)
		if err != nil || !stopped {
			return "Nothing is running.", err
		}
		return "Stopped.", nil
	},
	"compact": func(g *inbox, ctx context.Context, id firn.ID, hint string) (string, error) {
		c, err := g.compactor.Compact(ctx, id, wire.Compact{Hint: hint})
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
	"queue": func(g *inbox, _ context.Context, _ firn.ID, _ string) (string, error) {
		return "Messages during a turn: " + g.setup.Load().queue("").String() + ". This is set in the settings.", nil
	},
	"help": func(*inbox, context.Context, firn.ID, string) (string, error) {
		lines := []string{"/new, /reset: start a new conversation"}
		for _, c := range route.Commands() {
			lines = append(lines, strings.TrimRight("/"+c.Name+" "+c.Args, " ")+": "+c.Help)
		}
		return strings.Join(lines, "\n"), nil
	},
}

// override returns a command that changes a setting of a session. Without an argument it
// shows the status.
func override(patch func(string) wire.Patch) func(*inbox, context.Context, firn.ID, string) (string, error) {
	return func(g *inbox, ctx context.Context, id firn.ID, value string) (string, error) {
		if value == "" {
			return status(g, ctx, id, "")
		}
		if _, err := g.editor.Patch(ctx, id, patch(value)); err != nil {
			return "", err
		}
		return "Set to " + value + ".", nil
	}
}

// status describes a session in a few lines. File paths are not included.
func status(g *inbox, ctx context.Context, id firn.ID, _ string) (string, error) {
	s, err := g.reader.Session(ctx, string(id))
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
	cost := ""
	if st.Counters.Cost > 0 { // otherwise it is free or unknown
		cost = fmt.Sprintf(", $%.4f", st.Counters.Cost)
	}
	return fmt.Sprintf("Model: %s/%s\nThinking %s, verbose %s, send %s, auth %s\nWindow: %d of %d tokens (%d%%), %d compactions%s\nUsed: %d in, %d out%s\nKey: %s\nSession: %s",
		st.Provider, st.Model, cmp.Or(st.Thinking, "off"), cmp.Or(st.Verbose, "off"), cmp.Or(st.Send, "inherit"), cmp.Or(st.Auth, wire.Default), st.Window.Tokens, st.Window.Window, percent, st.Compactions, paused,
		st.Counters.Input, st.Counters.Output, cost, cmp.Or(s.Key, "none"), id), nil
}
