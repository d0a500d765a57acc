package site

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"anteroom/generator/tlog"
)

const logHint = "compare it and the keys in service.yaml with git: logged entries never change"

func LogFiles(name string) (entries, checkpoint string) {
	return "log/" + name + ".jsonl", "log/" + name + ".checkpoint"
}

func (l *loader) log(service *document) {
	stages := l.dated("log/", ".jsonl", ".checkpoint")
	for _, name := range stages {
		entries, checkpoint := LogFiles(name)
		l.site.document(entries)
		l.site.document(checkpoint)
	}
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
	l.checkStages()
}

func (l *loader) readStage(log *tlog.Log, name string) (good bool) {
	entries, checkpoint := LogFiles(name)
	if !slices.Contains(l.files, checkpoint) {
		l.fault(checkpoint, "missing", logHint)
		return false
	}
	note := l.read(l.site.document(checkpoint))
	lines, err := l.readFile(entries)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.fault(entries, "missing", logHint)
	case err != nil:
		l.fault(entries, "cannot be read: "+withoutPath(err), logHint)
	case l.site.Service.Log.Key == "":
		l.fault(entries, "service.yaml lists no key of the log", "the key of a log stays listed")
	case note != nil:
		d := l.site.document(entries)
		d.sum = sha256.Sum256(lines)
		wrong := log.Read(name, lines, note)
		switch {
		case wrong == nil:
			return true
		case wrong.Line > 0:
			d.report(place{wrong.Line, 1}, wrong.What, logHint)
		default:
			l.fault(checkpoint, wrong.What, logHint)
		}
	}
	return false
}

func (l *loader) checkStages() {
	stages := map[string]*tlog.Stage{}
	for i := range l.site.Log.Stages {
		stage := &l.site.Log.Stages[i]
		stages[stage.Name] = stage
		if !slices.ContainsFunc(l.site.Verifications, func(v Verification) bool { return v.File == stage.Name }) {
			entries, _ := LogFiles(stage.Name)
			l.fault(entries, "verifications/"+stage.Name+".yaml is missing", bothWritten)
		}
	}
	for i := range l.site.Verifications {
		name := l.site.Verifications[i].File
		if len(stages) == 0 || tlog.CompareNames(name, l.site.Log.Stages[0].Name) < 0 {
			continue
		}
		entries, _ := LogFiles(name)
		if stages[name] == nil {
			l.fault("verifications/"+name+".yaml", "has no "+entries, logHint)
			return
		}
	}
}

// Logged returns the numbers of a board that the log recounts.
func (b *Scoreboard) Logged() tlog.Counts {
	return tlog.Counts{
		Vouched:       b.PilotWaitlist.VerifiedConversions,
		Registrations: b.PilotWaitlist.RegistrationsRecorded,
		Charters:      b.Orgs.ChartersFiled,
		Suggestions:   b.Suggestions.ReceivedExternal,
		Own:           b.Excluded.Records,
	}
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
