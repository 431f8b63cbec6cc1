// Package render is the room of what people read: entries as cards and pages of HTML
// (card, page, richtext), answers and tables on a terminal (prose, markdown,
// progress).
// It is pure: it reads no file and asks no model. Gateway, door, ops and term import it.
package render
