package site

import (
	"fmt"

	"anteroom/generator/tlog"
)

const logHint = "compare it and the keys in service.yaml with git: logged entries never change"

func LogFiles(name string) (entries, checkpoint string) {
	return "log/" + name + ".jsonl", "log/" + name + ".checkpoint"
}

func (l *loader) log(service *document, stages []string) {
	s := l.site
	if !service.decoded {
		return
	}
	s.Log = tlog.New(s.Service.Log.Key, s.Service.Log.Witnesses)
	if !checkLogKeys(service, &s.Service) {
		return // the files may be sound
	}
	for _, name := range stages {
		if !l.readStage(s.Log, name) {
			return
		}
	}
}

func (l *loader) readStage(log *tlog.Log, name string) (good bool) {
	entries, checkpoint := LogFiles(name)
	d, signed := l.site.document(entries), l.site.document(checkpoint)
	if d.faults != nil || signed.faults != nil {
		return false
	}
	lines, note := l.read(d), l.read(signed)
	switch {
	case lines == nil || note == nil:
	case log.Key == "":
		d.report(place{}, "service.yaml lists no key of the log", "the key of a log stays listed")
	default:
		wrong := log.Read(name, lines, note)
		if wrong == nil {
			return true
		}
		if wrong.Line > 0 {
			d.report(place{wrong.Line, 1}, wrong.What, logHint)
		} else {
			signed.report(place{}, wrong.What, logHint)
		}
	}
	return false
}

func checkLogKeys(d *document, service *Service) (good bool) {
	good = true
	var witnesses []string
	if key := service.Log.Key; key != "" {
		if _, err := tlog.CheckKey(key); err != nil {
			d.fault("log.vkey", "this key: "+err.Error(), "anteroom key rotate --log makes a key, and anteroom publish writes the log")
			good = false
		}
	}
	for i, w := range service.Log.Witnesses {
		if err := w.Check(); err != nil {
			d.fault(fmt.Sprintf("log.witnesses[%d].key", i), err.Error(), "want the verifier key that the witness publishes")
			good = false
		}
		witnesses = append(witnesses, w.Key)
	}
	d.unique("log.witnesses", witnesses)
	return good
}
