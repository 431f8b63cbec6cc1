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

// warp shifts the clock of a child process.
//
// Programs read the time through the vDSO, code that the kernel maps into every process.
// Before the process starts, this code is replaced, in its private copy of the page, by
// code that calls the kernel and adds a number of seconds to the time of day. The number is
// stored after the code and can be changed at any time. Monotonic clocks are not affected,
// as when the system time is set.
type warp struct {
	mem *os.File
	at  int64
}

// canWarp is the reason why clocks cannot be shifted; empty if they can.
const canWarp = ""

// clockGettime is the code: clock_gettime by a system call, then, for the time of day, the
// shift added to the seconds.
//
//	mov eax, 228; syscall; test edi, edi; jne ret; mov rcx, [rip+shift]; add [rsi], rcx; ret
var clockGettime = []byte{0xB8, 228, 0, 0, 0, 0x0F, 0x05, 0x85, 0xFF, 0x75, 0x0A, 0x48, 0x8B, 0x0D, 0, 0, 0, 0, 0x48, 0x01, 0x0E, 0xC3}

const (
	// shiftField is the offset of the relative address of the shift in the code, and
	// shiftFrom the offset from which that is counted.
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
	behind := (code+int64(len(clockGettime))+7)/8*8 - code
	patch := bytes.Clone(clockGettime)
	binary.LittleEndian.PutUint32(patch[shiftField:], uint32(behind-shiftFrom))
	w := &warp{mem: mem, at: from + code + behind}
	if _, err := mem.WriteAt(patch, from+code); err != nil {
		return nil, errors.Join(fmt.Errorf("replace the code of the clock: %w", err), mem.Close())
	}
	return w, w.set(0)
}

// mapped finds a mapping of a process by name.
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

// clockCode returns the offset of clock_gettime in the image.
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

// set shifts the time of the process.
func (w *warp) set(shift time.Duration) error {
	var seconds [8]byte
	binary.LittleEndian.PutUint64(seconds[:], uint64(int64(shift/time.Second)))
	if _, err := w.mem.WriteAt(seconds[:], w.at); err != nil {
		return fmt.Errorf("move the clock of the gateway: %w", err)
	}
	return nil
}

func (w *warp) close() error { return w.mem.Close() }
