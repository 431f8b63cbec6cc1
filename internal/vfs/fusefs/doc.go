// Package fusefs mounts a [firn/internal/vfs/faultfs.FS] as a real file system,
// so that whole programs can be run on a disk that fails and loses power.
// It is for tests only, on Linux, and needs the right to mount.
//
// What is durable and what a crash may leave is what faultfs says: bytes after
// fsync or fdatasync of the file, names (also those of directories) after fsync
// of the directory. Every read and write of a program comes here by itself, the
// kernel keeps nothing back. Owners, permissions and times cannot be set: files
// are 0600 and directories 0700. There are no links of either sort, and no
// shared writable memory maps. Locks are kept by the kernel; a crash frees them.
//
// Two things are different from a disk. A syncfs succeeds and does nothing,
// because the kernel does not tell. And since the kernel adds up where an append
// goes, the file should not be changed behind its back while it is open.
//
// The process that mounts answers for the file system, so it must not stop to
// wait for it where no other thread of it can run: do not start a program with
// its working directory in the mount (exec.Cmd.Dir), let the program change
// there by itself; and do not map files of it into memory.
package fusefs
