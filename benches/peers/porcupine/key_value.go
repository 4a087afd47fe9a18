package main

import (
	"bufio"
	"hash/maphash"
	"os"
	"strings"

	"github.com/anishathalye/porcupine"
)

type keyValueAsks struct {
	kind       byte // g, p or a
	key, value string
}

// keyValue is strings under keys, each key by itself; append puts text behind.
var keyValue = porcupine.Model{
	PartitionEvent: func(history []porcupine.Event) [][]porcupine.Event {
		places := map[string]int{}
		keyOf := map[int]string{}
		var parts [][]porcupine.Event
		for _, event := range history {
			if event.Kind == porcupine.CallEvent {
				keyOf[event.Id] = event.Value.(keyValueAsks).key
			}
			key := keyOf[event.Id]
			place, known := places[key]
			if !known {
				place = len(parts)
				places[key] = place
				parts = append(parts, nil)
			}
			parts[place] = append(parts[place], event)
		}
		return parts
	},
	Init: func() interface{} { return "" },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		now, asked := state.(string), input.(keyValueAsks)
		switch asked.kind {
		case 'g':
			return output.(string) == now, now
		case 'p':
			return true, asked.value
		default:
			return true, now + asked.value
		}
	},
	// Without a hash Porcupine compares long strings that are nearly equal, sixty times as slowly.
	Hash: func(state interface{}) uint64 {
		return maphash.String(seed, state.(string))
	},
}

var seed = maphash.MakeSeed()

// readKeyValue reads a map a line: {:process 0, :type :ok, :f :get, :key "k", :value "v"}.
func readKeyValue(file string) []porcupine.Event {
	opened, err := os.Open(file)
	if err != nil {
		fail(err.Error())
	}
	defer opened.Close()
	log := newLog()
	lines := bufio.NewScanner(opened)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		line := lines.Text()
		process := number(between(line, ":process ", ","))
		value := between(line, ":value \"", "\"}")
		if between(line, ":type :", ",") == "invoke" {
			kind := between(line, ":f :", ",")
			log.call(process, keyValueAsks{kind: kind[0], key: between(line, ":key \"", "\""), value: value})
		} else {
			log.returns(process, value)
		}
	}
	return log.end("")
}

// between gives what stands between two texts; nothing where they are not there.
func between(line, before, after string) string {
	_, rest, _ := strings.Cut(line, before)
	found, _, there := strings.Cut(rest, after)
	if !there {
		return ""
	}
	return found
}
