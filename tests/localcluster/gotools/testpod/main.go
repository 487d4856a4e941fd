// Testpod is what the containers of tests on the real node run: `testpod serve|say|crash|grow|get …`.
package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	address   = ":8080"
	warmUp    = time.Second
	growChunk = 8 << 20
	crashCode = 7
	usageCode = 2
)

func main() {
	if len(os.Args) < 2 {
		os.Exit(usageCode)
	}
	switch os.Args[1] {
	case "serve":
		serve()
	case "say":
		fmt.Println(strings.Join(os.Args[2:], " "))
	case "crash":
		fmt.Println("about to crash")
		os.Exit(crashCode)
	case "grow":
		grow()
	case "get":
		get(os.Args[2])
	default:
		os.Exit(usageCode)
	}
}

// serve answers /ready with 503 at first and with 200 after a moment, and /remote with the address of the caller.
func serve() {
	var ready atomic.Bool
	time.AfterFunc(warmUp, func() { ready.Store(true) })
	http.HandleFunc("/ready", func(answer http.ResponseWriter, _ *http.Request) {
		if !ready.Load() {
			answer.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(answer, "ready")
	})
	http.HandleFunc("/remote", func(answer http.ResponseWriter, request *http.Request) {
		fmt.Fprintln(answer, request.RemoteAddr)
	})
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		<-stop
		fmt.Println("asked to stop")
		os.Exit(0)
	}()
	fmt.Println("serving")
	fmt.Println(http.ListenAndServe(address, nil))
	os.Exit(1)
}

// grow takes memory, and touches it, until the kernel ends the process.
func grow() {
	var kept [][]byte
	for {
		chunk := make([]byte, growChunk)
		for index := 0; index < len(chunk); index += os.Getpagesize() {
			chunk[index] = 1
		}
		kept = append(kept, chunk)
		fmt.Printf("holding %d MiB\n", len(kept)*growChunk>>20)
	}
}

// get asks for a URL and prints the status.
func get(url string) {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get(url)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(answer.Status)
}
