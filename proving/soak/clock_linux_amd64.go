package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// warp moves the clock of one process that we started.
//
// A program asks for the time without entering the kernel, by code that the
// kernel maps into every process. In a process that has not begun yet we replace
// that code, in its own copy of the page, by code that enters the kernel and adds
// a number of seconds if the time of day was asked for. The number stands behind
// the code and can be changed at any time. Clocks that count from the start of the
// machine are left alone, as they are when somebody sets the time.
type warp struct {
	mem *os.File
	at  int64
}

// canWarp says why clocks cannot be moved; empty if they can.
const canWarp = ""

// asking is the code: clock_gettime by a system call, then, if the clock is that
// of the time of day, the shift added to the seconds.
//
//	mov eax, 228; syscall; test edi, edi; jne ret; mov rcx, [rip+shift]; add [rsi], rcx; ret
var asking = []byte{0xB8, 228, 0, 0, 0, 0x0F, 0x05, 0x85, 0xFF, 0x75, 0x0A, 0x48, 0x8B, 0x0D, 0, 0, 0, 0, 0x48, 0x01, 0x0E, 0xC3}

const (
	// shiftField is where the code says how far behind it the shift is, and
	// shiftFrom what that is counted from.
	shiftField, shiftFrom = 14, 18
	codeRoom              = 64
)

// newWarp prepares a process that is stopped before its first instruction.
func newWarp(pid int) (*warp, error) {
	from, to, err := mapped(pid, "[vdso]")
	if err != nil {
		return nil, err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	image := make([]byte, to-from)
	if _, err := mem.ReadAt(image, from); err != nil {
		return nil, errors.Join(fmt.Errorf("read the code of the clock: %w", err), mem.Close())
	}
	code, err := clockCode(image)
	if err != nil {
		return nil, errors.Join(err, mem.Close())
	}
	behind := (code+int64(len(asking))+7)/8*8 - code
	patch := bytes.Clone(asking)
	binary.LittleEndian.PutUint32(patch[shiftField:], uint32(behind-shiftFrom))
	w := &warp{mem: mem, at: from + code + behind}
	if _, err := mem.WriteAt(patch, from+code); err != nil {
		return nil, errors.Join(fmt.Errorf("replace the code of the clock: %w", err), mem.Close())
	}
	return w, w.set(0)
}

// mapped finds a mapping of a process by its name.
func mapped(pid int, name string) (from, to int64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), name) {
			_, err := fmt.Sscanf(line, "%x-%x", &from, &to)
			return from, to, err
		}
	}
	return 0, 0, fmt.Errorf("process %d has no %s", pid, name)
}

// clockCode finds where in the image the time is asked for.
func clockCode(image []byte) (int64, error) {
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, fmt.Errorf("read the code of the clock: %w", err)
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, fmt.Errorf("read the code of the clock: %w", err)
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" && s.Size >= codeRoom && s.Value+s.Size <= uint64(len(image)) {
			return int64(s.Value), nil
		}
	}
	return 0, errors.New("the code of the clock is not where it should be")
}

// set lets the process believe that it is so much later than it is.
func (w *warp) set(shift time.Duration) error {
	var seconds [8]byte
	binary.LittleEndian.PutUint64(seconds[:], uint64(int64(shift/time.Second)))
	if _, err := w.mem.WriteAt(seconds[:], w.at); err != nil {
		return fmt.Errorf("move the clock of the gateway: %w", err)
	}
	return nil
}

func (w *warp) close() error { return w.mem.Close() }
