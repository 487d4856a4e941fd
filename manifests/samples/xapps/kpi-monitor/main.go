// Kpi-monitor is the sample xApp. It measures the load of simulated cells, as an E2 subscription would report it. It has
// the interfaces of an xApp: health, run-time configuration, metadata, metrics, events and a WebSocket. It can fail on
// request, to test the operator that watches it.
//
//	kpi-monitor serve --settings /etc/xapp/settings.json
//	kpi-monitor check --keep 17280 --megabytes 128
//	kpi-monitor get http://127.0.0.1:8080/health/alive
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const (
	version    = "1.0.0"
	usageCode  = 2
	getTimeout = 10 * time.Second
	usage      = "usage: kpi-monitor serve|check|get …, each with -help"
)

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stdout, nil)))
	command, arguments := "", []string{}
	if len(os.Args) > 1 {
		command, arguments = os.Args[1], os.Args[2:]
	}
	commands := map[string]func([]string) error{"serve": serve, "check": check, "get": get}
	run, known := commands[command]
	if !known {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(usageCode)
	}
	if err := run(arguments); err != nil {
		slog.Error("ended", "command", command, "error", err.Error())
		os.Exit(1)
	}
}

// serve runs the xApp until it receives SIGTERM or SIGINT.
func serve(arguments []string) error {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	path := flags.String("settings", "", "JSON `file` with the settings, usually from a ConfigMap (default: none)")
	address := flags.String("http", ":8080", "`address` of the API")
	metrics := flags.String("metrics", ":9090", "`address` of the metrics; empty: none")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	settings, err := readSettings(*path)
	if err != nil {
		return err
	}
	// Handle signals from the start: process 1 of a container ignores signals that it does not handle.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	app, err := newApp(settings)
	if err != nil {
		return err
	}
	return app.run(ctx, *address, *metrics)
}

// get requests a URL and prints the answer. The image contains no other HTTP client. A URL may begin with tcp://, as the
// environment variables for Services do, which need no cluster DNS.
func get(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("get takes one URL")
	}
	url := arguments[0]
	if rest, found := strings.CutPrefix(url, "tcp://"); found {
		url = "http://" + rest
	}
	client := http.Client{Timeout: getTimeout}
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s answered with status %s", url, answer.Status)
	}
	return nil
}
