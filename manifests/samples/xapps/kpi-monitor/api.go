package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
)

const maxBody = 64 << 10

// endpoint is one route of the API. The metadata list it too.
type endpoint struct {
	Method      string `json:"method"`
	Path        string `json:"path"`
	Description string `json:"description"`
	handle      http.HandlerFunc
}

func (a *app) endpoints() []endpoint {
	return []endpoint{
		{"GET", "/", "a greeting, and the name of the pod", a.greet},
		{"GET", "/health/alive", "200 while the process works", a.alive},
		{"GET", "/health/ready", "200 if the xApp is ready, otherwise 503 with the reason", a.ready},
		{"GET", "/config", "the current configuration", a.getConfig},
		{"PUT", "/config", "change the configuration until the next start", a.putConfig},
		{"GET", "/config/schema", "the JSON schema of the configuration", a.getSchema},
		{"GET", "/metadata", "a description of this xApp", a.metadata},
		{"GET", "/metrics", "metrics in the Prometheus format", a.meter.handler().ServeHTTP},
		{"GET", "/events", "samples as Server-Sent Events; Last-Event-ID resumes the stream", a.events},
		{"GET", "/ws", "a WebSocket that returns each message; ?samples=true also sends samples", a.webSocket},
		{"GET", "/samples.csv", "the stored samples", a.samples},
		{"POST", "/echo", "return the body while it arrives", a.echo},
		{"GET", "/bytes", "return ?size= bytes", a.bytes},
		{"GET", "/redirect", "redirect to ?to= with ?status=", a.redirect},
		{"GET", "/request", "the request as the xApp received it", a.request},
		{"POST", "/faults/crash", "exit with exitCode after afterMilliseconds, and log the reason", a.crash},
		{"POST", "/faults/leak", "allocate megabytesPerSecond, upToMegabytes", a.leak},
		{"POST", "/faults/slow", "delay every answer by milliseconds", a.slow},
		{"POST", "/faults/unready", "report that the xApp is not ready", a.unready(true)},
		{"POST", "/faults/ready", "report that the xApp is ready again", a.unready(false)},
	}
}

func (a *app) routes() http.Handler {
	mux := http.NewServeMux()
	for _, each := range a.endpoints() {
		path := each.Path
		if path == "/" {
			// Without {$}, the pattern would match every path that no other pattern matches.
			path = "/{$}"
		}
		mux.HandleFunc(each.Method+" "+path, each.handle)
	}
	return a.delaying(a.meter.counting(mux))
}

func (a *app) greet(w http.ResponseWriter, _ *http.Request) {
	host, _ := os.Hostname()
	answer(w, http.StatusOK, map[string]string{
		"greeting": a.settings.Greeting, "name": a.settings.Name, "version": a.settings.Version,
		"cluster": a.settings.Cluster, "pod": host,
	})
}

func (a *app) alive(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]string{"status": "alive"})
}

func (a *app) ready(w http.ResponseWriter, _ *http.Request) {
	if reason := a.whyNotReady(); reason != "" {
		refuse(w, http.StatusServiceUnavailable, reason)
		return
	}
	answer(w, http.StatusOK, map[string]string{"status": "ready"})
}

func (a *app) getConfig(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, a.config.get())
}

func (a *app) putConfig(w http.ResponseWriter, r *http.Request) {
	text, ok := body(w, r)
	if !ok {
		return
	}
	config, err := a.config.put(text)
	var wrong invalid
	switch {
	case errors.As(err, &wrong):
		refuse(w, http.StatusUnprocessableEntity, wrong.Error(), wrong.errors...)
	case err != nil:
		refuse(w, http.StatusBadRequest, "the body is not JSON: "+err.Error())
	default:
		slog.Info("configured", "config", config)
		answer(w, http.StatusOK, config)
	}
}

func (a *app) getSchema(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/schema+json")
	_, _ = w.Write(configSchema)
}

// metadata follows the descriptor of an xApp. The messages are those of the simulated E2 interface.
func (a *app) metadata(w http.ResponseWriter, _ *http.Request) {
	type port struct {
		Name        string `json:"name"`
		Port        int    `json:"port"`
		Description string `json:"description"`
	}
	answer(w, http.StatusOK, map[string]any{
		"name": a.settings.Name, "version": a.settings.Version, "description": a.settings.Description,
		"endpoints": a.endpoints(),
		"messaging": map[string]any{
			"ports": []port{
				{"http", 8080, "the API"},
				{"metrics", 9090, "metrics in the Prometheus format"},
			},
			"simulated":  true,
			"rxMessages": []string{"RIC_SUB_RESP", "RIC_INDICATION"},
			"txMessages": []string{"RIC_SUB_REQ", "RIC_SUB_DEL_REQ"},
		},
	})
}

func (a *app) samples(w http.ResponseWriter, r *http.Request) {
	if a.settings.Storage == nil {
		refuse(w, http.StatusNotFound, "this xApp stores no samples: its settings have no storage")
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	http.ServeFile(w, r, a.settings.Storage.Path)
}

func (a *app) crash(w http.ResponseWriter, r *http.Request) {
	take(w, r, crash.wrong, a.trouble.crash)
}

func (a *app) leak(w http.ResponseWriter, r *http.Request) {
	take(w, r, leak.wrong, func(l leak) { a.trouble.leak(context.Background(), l) })
}

func (a *app) slow(w http.ResponseWriter, r *http.Request) {
	take(w, r, slow.wrong, a.trouble.slow)
}

func (a *app) unready(unready bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		a.trouble.unready.Store(unready)
		slog.Warn("readiness changed", "unready", unready)
		answer(w, http.StatusAccepted, map[string]bool{"unready": unready})
	}
}

// take reads a fault from the request and starts it, or answers with what is wrong.
func take[F any](w http.ResponseWriter, r *http.Request, wrong func(F) error, begin func(F)) {
	text, ok := body(w, r)
	if !ok {
		return
	}
	if len(text) == 0 {
		text = []byte("{}")
	}
	if !json.Valid(text) {
		refuse(w, http.StatusBadRequest, "the body is not JSON: send a JSON object")
		return
	}
	var fault F
	if err := strictly(text, &fault); err != nil {
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	if err := wrong(fault); err != nil {
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	answer(w, http.StatusAccepted, fault)
	begin(fault)
}

func body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		refuse(w, http.StatusRequestEntityTooLarge, "the body has more than 65536 bytes: send a smaller one")
	} else if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
	}
	return text, err == nil
}
