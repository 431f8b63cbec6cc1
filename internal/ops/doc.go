// Package ops is the room of what operators run: settings (config), the daemon that
// puts everything together (serve), notes (memory), cluster, doctor, backup, migration, service units
// and instruction files; jetstreamtest starts clusters for tests.
// It may import every room but the terminal. Only cmd and the terminal import it.
package ops
