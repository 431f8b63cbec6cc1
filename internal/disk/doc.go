// Package disk is the room of files: the file system behind one interface (vfs) with
// its failing doubles, append-only files of lines (journal), file descriptors (limits)
// and the history of typed lines (history).
// Nothing here knows what a line says. Stores, indexes and operators' commands import it.
package disk
