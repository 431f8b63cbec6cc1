// Package sessionsync keeps the sessions of several machines the same through a target that
// need not be trusted, such as a folder on a share.
//
// Each machine publishes its new entries as pieces, compressed and encrypted, and names them
// in a manifest of its own; nothing on the target is ever changed. Each machine imports the
// entries that it lacks through the store's append. Copies of a session are sets of entries:
// every machine ends with the same set, in an order of its own. docs/sync.md describes the
// format and the rules.
package sessionsync
