package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	maxExitCode     = 255
	maxMilliseconds = 3_600_000
	maxLeakMegabyte = 4096
	leakChunk       = 1 << 20
	// answerTime delays a crash, so that the caller receives the answer first.
	answerTime = 100 * time.Millisecond
)

// faults describes how this xApp fails on request. The settings can start all faults, the API one at a time.
type faults struct {
	Crash   *crash `json:"crash"`
	Leak    *leak  `json:"leak"`
	Slow    slow   `json:"slow"`
	Unready bool   `json:"unready"`
}

// crash ends the process.
type crash struct {
	AfterMilliseconds int    `json:"afterMilliseconds"`
	ExitCode          int    `json:"exitCode"`
	Reason            string `json:"reason"`
}

// leak allocates memory up to its own limit or the memory limit of the container.
type leak struct {
	MegabytesPerSecond int `json:"megabytesPerSecond"`
	UpToMegabytes      int `json:"upToMegabytes"`
}

// slow delays every answer, including those of the probes. 0 ends the delay.
type slow struct {
	Milliseconds int `json:"milliseconds"`
}

func (f faults) wrong() error {
	var found []error
	if f.Crash != nil {
		found = append(found, f.Crash.wrong())
	}
	if f.Leak != nil {
		found = append(found, f.Leak.wrong())
	}
	return errors.Join(append(found, f.Slow.wrong())...)
}

func (c crash) wrong() error {
	return errors.Join(between("exitCode", c.ExitCode, 0, maxExitCode),
		between("afterMilliseconds", c.AfterMilliseconds, 0, maxMilliseconds))
}

func (l leak) wrong() error {
	return errors.Join(between("megabytesPerSecond", l.MegabytesPerSecond, 1, maxLeakMegabyte),
		between("upToMegabytes", l.UpToMegabytes, 1, maxLeakMegabyte))
}

func (s slow) wrong() error {
	return between("milliseconds", s.Milliseconds, 0, maxMilliseconds)
}

func between(name string, value, least, most int) error {
	if value < least || value > most {
		return fmt.Errorf("%s is %d: it must be between %d and %d", name, value, least, most)
	}
	return nil
}

// UnmarshalJSON uses defaults for missing members.
func (c *crash) UnmarshalJSON(text []byte) error {
	type plain crash
	usual := plain{ExitCode: 1, Reason: "requested"}
	err := strictly(text, &usual)
	*c = crash(usual)
	return err
}

// UnmarshalJSON uses defaults for missing members.
func (l *leak) UnmarshalJSON(text []byte) error {
	type plain leak
	usual := plain{MegabytesPerSecond: 32, UpToMegabytes: 1024}
	err := strictly(text, &usual)
	*l = leak(usual)
	return err
}

func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s is %s: it must be %s", cmp.Or(wrong.Field, "the body"), wrong.Value, kind(wrong.Type))
	}
	return err
}

// kind returns the JSON name of a Go type.
func kind(of reflect.Type) string {
	switch of.Kind() {
	case reflect.Int:
		return "a whole number"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	default:
		return "an object"
	}
}

// trouble holds the active faults.
type trouble struct {
	unready atomic.Bool
	delay   atomic.Int64
	leaking atomic.Bool
}

func (t *trouble) begin(ctx context.Context, f faults) {
	t.unready.Store(f.Unready)
	t.slow(f.Slow)
	if f.Leak != nil {
		t.leak(ctx, *f.Leak)
	}
	if f.Crash != nil {
		t.crash(*f.Crash)
	}
}

func (t *trouble) slow(s slow) {
	t.delay.Store(int64(time.Duration(s.Milliseconds) * time.Millisecond))
}

func (t *trouble) crash(c crash) {
	slog.Warn("about to crash", "afterMilliseconds", c.AfterMilliseconds, "exitCode", c.ExitCode, "reason", c.Reason)
	time.AfterFunc(time.Duration(c.AfterMilliseconds)*time.Millisecond+answerTime, func() {
		slog.Error("crashed", "exitCode", c.ExitCode, "reason", c.Reason)
		os.Exit(c.ExitCode)
	})
}

// leak never releases the memory. A second leak has no effect while the first is active.
func (t *trouble) leak(ctx context.Context, l leak) {
	if !t.leaking.CompareAndSwap(false, true) {
		return
	}
	go func() {
		var kept [][]byte
		ticker := time.NewTicker(time.Second / time.Duration(l.MegabytesPerSecond))
		defer ticker.Stop()
		for len(kept) < l.UpToMegabytes {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			chunk := make([]byte, leakChunk)
			for index := 0; index < len(chunk); index += os.Getpagesize() {
				chunk[index] = 1
			}
			kept = append(kept, chunk)
			if len(kept)%l.MegabytesPerSecond == 0 {
				slog.Warn("leaking", "megabytes", len(kept))
			}
		}
		slog.Warn("leak limit reached", "megabytes", len(kept))
		<-ctx.Done()
		runtime.KeepAlive(kept)
	}()
}
