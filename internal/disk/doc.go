// Package disk groups the packages for files: the file system interface and its
// fault-injecting implementations (vfs), append-only files of lines (journal), file
// descriptor limits (limits) and the history of typed lines (history). None of them
// interprets the lines. Stores, indexes and operators' commands import them.
package disk
