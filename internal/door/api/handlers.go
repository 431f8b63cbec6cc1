package api

import "firn.dev/internal/gateway"

// The handlers of the route table, one type per resource. Each has the request in progress
// and the part of the gateway that its operations call.

// handlers is a pointer to a group of handlers that can be bound to a request.
type handlers[H any] interface {
	*H
	bind(c *call)
}

// handlersOf returns the handlers of a request.
func handlersOf[H any, P handlers[H]](c *call) H {
	var h H
	P(&h).bind(c)
	return h
}

// sessionCalls handles the operations of sessions.
type sessionCalls struct {
	*call
	gateway sessionAPI
}

func (h *sessionCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Sessions }

// binCalls handles the operations that remove, restore and purge sessions.
type binCalls struct {
	*call
	gateway binAPI
}

func (h *binCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Bin }

// entryCalls handles the operations on the entries of a session.
type entryCalls struct {
	*call
	gateway entryAPI
}

func (h *entryCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Entries }

// branchCalls handles the operations that fork, rewind and mark a session.
type branchCalls struct {
	*call
	gateway branchAPI
}

func (h *branchCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Branches }

// compactionCalls handles the operations of compactions.
type compactionCalls struct {
	*call
	gateway compactionAPI
}

func (h *compactionCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Compactions }

// turnCalls handles the operations that run turns.
type turnCalls struct {
	*call
	gateway turnAPI
}

func (h *turnCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Turns }

// eventCalls handles the operations that stream events.
type eventCalls struct {
	*call
	gateway eventAPI
}

func (h *eventCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Events }

// keyCalls handles the operations of keys.
type keyCalls struct {
	*call
	gateway keyAPI
}

func (h *keyCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Keys }

// statusCalls handles the operations that report the state of the gateway.
type statusCalls struct {
	*call
	gateway statusAPI
}

func (h *statusCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Status }

// usageCalls handles the operations that report the used tokens.
type usageCalls struct {
	*call
	gateway usageAPI
}

func (h *usageCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Usage }

// workCalls handles the operations of hooks, jobs and maintenance.
type workCalls struct {
	*call
	gateway workAPI
}

func (h *workCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Work }

// searchCalls handles the operations of search and the index.
type searchCalls struct {
	*call
	gateway searchAPI
}

func (h *searchCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Search }

// memoryCalls handles the operations of notes.
type memoryCalls struct {
	*call
	gateway gateway.Notebook
}

func (h *memoryCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Memory }

// exchangeCalls handles the operations of import and export.
type exchangeCalls struct {
	*call
	gateway exchangeAPI
}

func (h *exchangeCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Exchange }

// storedCalls handles the operations that read stored sessions.
type storedCalls struct {
	*call
	gateway storedAPI
}

func (h *storedCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Stored }

// syncCalls handles the operations of files of syncs.
type syncCalls struct {
	*call
	files SyncFiles
}

func (h *syncCalls) bind(c *call) { h.call, h.files = c, c.h.config.SyncFiles }

// tokenCalls handles the operations of tokens.
type tokenCalls struct{ *call }

func (h *tokenCalls) bind(c *call) { h.call = c }

// browserCalls handles the operations that log browsers in and out.
type browserCalls struct{ *call }

func (h *browserCalls) bind(c *call) { h.call = c }

// foreignCalls handles the operations of other protocols.
type foreignCalls struct{ *call }

func (h *foreignCalls) bind(c *call) { h.call = c }

// healthCalls handles the operations of health checks, metrics and the description of the API.
type healthCalls struct{ *call }

func (h *healthCalls) bind(c *call) { h.call = c }
