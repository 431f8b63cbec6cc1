// Package mcpclient gives agents the tools of Model Context Protocol servers.
//
// A [Pool] has the connections of a process, one for each [Server], and a [Group] the servers
// of one agent or project. A server is started when a turn needs it, or by [Group.Start], and
// stays until the pool is closed. [Group.Tools] returns the tools of the servers that are
// running; a server that does not start, dies, hangs or sends garbage affects only itself: its
// calls fail with one sentence, and the next call starts it again, after a growing delay if
// that keeps failing.
//
// Names, results and the file .mcp.json of projects are decided by pure functions. What a
// server sends is untrusted: names are rewritten, sizes are limited, and its hints have no
// effect unless the settings say so.
package mcpclient
