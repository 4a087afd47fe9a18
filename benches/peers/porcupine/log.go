package main

import (
	"sort"

	"github.com/anishathalye/porcupine"
)

// log pairs calls with returns.
type log struct {
	events []porcupine.Event
	open   map[int]int
	next   int
}

func newLog() *log {
	return &log{open: map[int]int{}}
}

func (l *log) call(process int, asked interface{}) {
	l.open[process] = l.next
	l.events = append(l.events, porcupine.Event{ClientId: process, Kind: porcupine.CallEvent, Value: asked, Id: l.next})
	l.next++
}

func (l *log) returns(process int, said interface{}) {
	id, called := l.open[process]
	if !called {
		return
	}
	delete(l.open, process)
	l.events = append(l.events, porcupine.Event{ClientId: process, Kind: porcupine.ReturnEvent, Value: said, Id: id})
}

// end lets what never returned return last.
func (l *log) end(unknown interface{}) []porcupine.Event {
	processes := make([]int, 0, len(l.open))
	for process := range l.open {
		processes = append(processes, process)
	}
	sort.Ints(processes)
	for _, process := range processes {
		l.returns(process, unknown)
	}
	return l.events
}
