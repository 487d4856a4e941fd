package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"
)

const (
	heartbeat    = 15 * time.Second
	maxFrame     = 1 << 20
	maxSize      = 1 << 30
	copyBytes    = 32 << 10
	subprotocol  = "kpi.v1"
	writeTimeout = 10 * time.Second
)

// events sends samples until the caller leaves, falls behind, or the process ends.
func (a *app) events(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64)
	missed, next, leave := a.monitor.listen(after)
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	control := http.NewResponseController(w)
	send := func(sample Sample) error {
		data, err := json.Marshal(sample)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "id: %d\nevent: sample\ndata: %s\n\n", sample.ID, data); err != nil {
			return err
		}
		return control.Flush()
	}
	if control.Flush() != nil {
		return
	}
	for _, sample := range missed {
		if send(sample) != nil {
			return
		}
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-a.streams.Done():
			return
		case <-r.Context().Done():
			return
		case sample, more := <-next:
			if !more {
				return
			}
			err = send(sample)
		case <-beat.C:
			_, err = io.WriteString(w, ": heartbeat\n\n")
			err = errors.Join(err, control.Flush())
		}
		if err != nil {
			return
		}
	}
}

// webSocket returns each message, and sends samples as text on request. Any origin may connect: the xApp has no cookies
// and no sign-in that another site could misuse.
func (a *app) webSocket(w http.ResponseWriter, r *http.Request) {
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: []string{subprotocol}, InsecureSkipVerify: true,
	})
	if err != nil {
		return
	}
	a.open.Add(1)
	defer a.open.Done()
	defer socket.CloseNow()
	socket.SetReadLimit(maxFrame)
	// The context of a hijacked connection does not end with the process, so this one is separate.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-a.streams.Done():
			_ = socket.Close(websocket.StatusGoingAway, "the xApp is stopping")
		case <-ctx.Done():
		}
	}()
	if r.URL.Query().Get("samples") == "true" {
		go a.push(ctx, socket)
	}
	for {
		kind, frame, err := socket.Read(ctx)
		if err != nil {
			return
		}
		if send(ctx, socket, kind, frame) != nil {
			return
		}
	}
}

func (a *app) push(ctx context.Context, socket *websocket.Conn) {
	_, next, leave := a.monitor.listen(0)
	defer leave()
	for {
		select {
		case <-ctx.Done():
			return
		case sample, more := <-next:
			if !more {
				_ = socket.Close(websocket.StatusPolicyViolation, "the client reads too slowly")
				return
			}
			data, err := json.Marshal(sample)
			if err != nil || send(ctx, socket, websocket.MessageText, data) != nil {
				return
			}
		}
	}
}

func send(ctx context.Context, socket *websocket.Conn, kind websocket.MessageType, frame []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return socket.Write(ctx, kind, frame)
}

// echo returns each piece of the body before it reads the next one.
func (a *app) echo(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	if err := control.EnableFullDuplex(); err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	kind := r.Header.Get("Content-Type")
	if kind == "" {
		kind = "application/octet-stream"
	}
	w.Header().Set("Content-Type", kind)
	if control.Flush() != nil {
		return
	}
	buffer := make([]byte, copyBytes)
	for {
		count, err := r.Body.Read(buffer)
		if count > 0 {
			if _, err := w.Write(buffer[:count]); err != nil {
				return
			}
			if control.Flush() != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (a *app) bytes(w http.ResponseWriter, r *http.Request) {
	size, err := strconv.ParseInt(r.URL.Query().Get("size"), 10, 64)
	if err != nil || size < 0 || size > maxSize {
		refuse(w, http.StatusUnprocessableEntity, fmt.Sprintf("size must be a number from 0 to %d", maxSize))
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	chunk := make([]byte, copyBytes)
	for index := range chunk {
		chunk[index] = byte('a' + index%26)
	}
	for size > 0 {
		count, err := w.Write(chunk[:min(size, copyBytes)])
		if err != nil {
			return
		}
		size -= int64(count)
	}
}

func (a *app) redirect(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	status, err := strconv.Atoi(query.Get("status"))
	if !query.Has("status") {
		status, err = http.StatusFound, nil
	}
	allowed := map[int]bool{301: true, 302: true, 303: true, 307: true, 308: true}
	if err != nil || !allowed[status] || query.Get("to") == "" {
		refuse(w, http.StatusUnprocessableEntity, "to must be a URL, and status must be 301, 302, 303, 307 or 308")
		return
	}
	// http.Redirect would make a relative URL absolute.
	w.Header().Set("Location", query.Get("to"))
	w.WriteHeader(status)
}

// request returns the received request, to show how proxies change it.
func (a *app) request(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"method": r.Method, "host": r.Host, "path": r.URL.EscapedPath(), "query": r.URL.RawQuery,
		"headers": r.Header, "remote": r.RemoteAddr,
	})
}
