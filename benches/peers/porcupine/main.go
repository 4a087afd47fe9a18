// Times Porcupine on histories in files, for `cargo run --release --example peers`.
//
//	porcupine etcd|kv ROUNDS FILE...
//
// Prints a line of JSON for each file: the verdict, the times of the check alone in seconds (the history is parsed
// before), and the peak of resident memory during the first of them, less what was resident before.
//
// Porcupine itself is no part of this project: it is fetched as a Go module, or taken from a checkout. The models and
// the readers here are this project's own.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"
)

// After so long no further round is begun, once there are three.
const patience = 60 * time.Second

type answer struct {
	File        string    `json:"file"`
	Verdict     string    `json:"verdict"`
	Operations  int       `json:"operations"`
	Times       []float64 `json:"times_s"`
	MemoryBytes uint64    `json:"memory_bytes"`
}

func main() {
	if len(os.Args) < 4 {
		fail("usage: porcupine etcd|kv ROUNDS FILE...")
	}
	rounds, err := strconv.Atoi(os.Args[2])
	if err != nil || rounds < 1 {
		fail("ROUNDS must be a number above 0")
	}
	for _, file := range os.Args[3:] {
		var model porcupine.Model
		var events []porcupine.Event
		switch os.Args[1] {
		case "etcd":
			model, events = register, readEtcd(file)
		case "kv":
			model, events = keyValue, readKeyValue(file)
		default:
			fail("the kind must be etcd or kv")
		}
		line, err := json.Marshal(measure(file, model, events, rounds))
		if err != nil {
			fail(err.Error())
		}
		fmt.Println(string(line))
	}
}

func measure(file string, model porcupine.Model, events []porcupine.Event, rounds int) answer {
	result := answer{File: file, Operations: len(events) / 2}
	began := time.Now()
	for round := 0; round < rounds; round++ {
		if round >= 3 && time.Since(began) > patience {
			break
		}
		runtime.GC()
		var before uint64
		if round == 0 {
			debug.FreeOSMemory()
			before = resident()
		}
		start := time.Now()
		legal := porcupine.CheckEvents(model, events)
		result.Times = append(result.Times, time.Since(start).Seconds())
		if round == 0 {
			if now := peak(); now > before {
				result.MemoryBytes = now - before
			}
		}
		result.Verdict = map[bool]string{true: "pass", false: "fail"}[legal]
	}
	return result
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}
