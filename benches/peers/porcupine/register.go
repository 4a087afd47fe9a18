package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// absent is the register's value before the first write.
const absent = -1 << 62

type registerAsks struct {
	kind     byte // r, w or c
	old, new int
}

type registerSays struct {
	value   int
	done    bool // of a compare-and-set
	unknown bool
}

// register is a register with compare-and-set, whose failed compare-and-set is an observation.
var register = porcupine.Model{
	Init: func() interface{} { return absent },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		now, asked, said := state.(int), input.(registerAsks), output.(registerSays)
		switch asked.kind {
		case 'r':
			return said.unknown || said.value == now, now
		case 'w':
			return true, asked.new
		default:
			holds := now == asked.old
			if holds {
				return said.unknown || said.done, asked.new
			}
			return said.unknown || !said.done, now
		}
	},
	Hash: func(state interface{}) uint64 {
		// The golden ratio spreads small numbers over all bits.
		return uint64(state.(int)) * 0x9e3779b97f4a7c15
	},
}

// readEtcd reads a Jepsen log: "INFO jepsen.util - PROCESS :TYPE :F PAYLOAD" a line.
func readEtcd(file string) []porcupine.Event {
	opened, err := os.Open(file)
	if err != nil {
		fail(err.Error())
	}
	defer opened.Close()
	log := newLog()
	lines := bufio.NewScanner(opened)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 6 || words[1] != "jepsen.util" {
			continue
		}
		process, err := strconv.Atoi(words[3])
		if err != nil {
			continue
		}
		payload := strings.Join(words[6:], " ")
		switch words[4] {
		case ":invoke":
			log.call(process, asks(words[5], payload))
		case ":ok", ":fail":
			log.returns(process, says(words[4] == ":ok", words[5], payload))
		}
	}
	return log.end(registerSays{unknown: true})
}

func asks(name, payload string) registerAsks {
	switch name {
	case ":read":
		return registerAsks{kind: 'r'}
	case ":write":
		return registerAsks{kind: 'w', new: number(payload)}
	default:
		old, new, _ := strings.Cut(strings.Trim(payload, "[]"), " ")
		return registerAsks{kind: 'c', old: number(old), new: number(new)}
	}
}

func says(ok bool, name, payload string) registerSays {
	switch {
	case name == ":cas":
		return registerSays{done: ok}
	case !ok:
		return registerSays{unknown: true}
	case name == ":read" && payload != "nil":
		return registerSays{value: number(payload)}
	default:
		return registerSays{value: absent}
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		fail("no number: " + text)
	}
	return value
}
