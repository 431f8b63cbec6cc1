// Package render groups the packages that format content for display: entries as HTML cards
// and pages (card, page, richtext), and answers and tables for a terminal (prose, markdown,
// progress). They are pure: they read no files and call no models. The gateway, door, ops
// and term packages import them.
package render
