package site

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"anteroom/generator/tlog"
)

// The two files of a stage of the log: log/2026-11-20.jsonl and log/2026-11-20.checkpoint. Package
// tlog has their forms.
const (
	logFolder      = "log/"
	logEntries     = ".jsonl"
	logCheckpoint  = ".checkpoint"
	logBringItBack = "restore it as anteroom verify wrote it, and the keys in service.yaml, from version control: " +
		"what was logged never changes"
	logHintUnsigned  = "anteroom key new --log makes a key, and anteroom verify writes the log"
	logHintOtherKeys = "the keys of a log stay listed, in the order of their use"
	logHintApart     = "delete its files in log/, verifications/ and scoreboard/, and verify again; " +
		"if it is the one that was published, delete those of the other instead"
)

// LogFiles are the files of a stage of the log in a content folder, by the name of its
// verification.
func LogFiles(name string) (entries, checkpoint string) {
	return logFolder + name + logEntries, logFolder + name + logCheckpoint
}

// queueLog finds the stages of the log. They are read one after the other, as each extends the tree
// of the one before.
func (l *loader) queueLog() {
	l.stages = l.dated(logFolder, logEntries, logCheckpoint)
	for _, name := range l.stages {
		entries, checkpoint := LogFiles(name)
		l.site.document(entries)
		l.site.document(checkpoint)
	}
}

// readLog reads the stages under the keys of service.yaml, up to the first with a fault.
func (l *loader) readLog(service *Service) {
	l.site.Log = tlog.New(service.Log.Keys, service.Log.Witnesses)
	if !goodLogKeys(service) {
		return // checkLogKeys says what is wrong: the files may be as they should be
	}
	for _, name := range l.stages {
		if !l.readStage(service, name) {
			return
		}
	}
	l.checkStages()
}

func (l *loader) readStage(service *Service, name string) (good bool) {
	entries, checkpoint := LogFiles(name)
	if !slices.Contains(l.files, checkpoint) {
		l.fault(checkpoint, "missing", logBringItBack)
		return false
	}
	note := l.read(l.site.document(checkpoint), maxFile)
	lines, err := fs.ReadFile(l.fsys, entries)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.fault(entries, "missing", logBringItBack)
	case err != nil:
		l.fault(entries, "cannot be read: "+withoutPath(err), logBringItBack)
	case len(service.Log.Keys) == 0:
		l.fault(entries, "service.yaml lists no key of the log", logHintOtherKeys)
	case note != nil:
		wrong := l.site.Log.Read(name, lines, note)
		if wrong == nil {
			l.site.document(entries).sum = sha256.Sum256(lines)
			return true
		}
		if other := l.apartFrom(service, name); other != "" {
			l.fault(checkpoint, "was made apart from verification "+other+": it extends the log without that", logHintApart)
		} else if wrong.Line > 0 {
			l.site.document(entries).report(place{wrong.Line, 1}, wrong.What, logBringItBack)
		} else {
			l.fault(checkpoint, wrong.What, logBringItBack)
		}
	}
	return false
}

// apartFrom gives the first earlier verification without which a faulty stage has no fault: the two
// were made of the same content in two places, and joined since.
func (l *loader) apartFrom(service *Service, name string) string {
	log := tlog.New(service.Log.Keys, service.Log.Witnesses)
	add := func(log *tlog.Log, name string) bool {
		entries, checkpoint := LogFiles(name)
		lines, err := fs.ReadFile(l.fsys, entries)
		note := l.read(l.site.document(checkpoint), maxFile)
		return err == nil && note != nil && log.Read(name, lines, note) == nil
	}
	for _, before := range l.stages {
		switch {
		case before == name:
			return ""
		case add(log.Clone(), name):
			return before
		case !add(log, before):
			return ""
		}
	}
	return ""
}

// checkStages compares the stages of the log with the verifications: each from the first stage on
// has a stage, and its counts are those of the board.
func (l *loader) checkStages() {
	stages := map[string]*tlog.Stage{}
	for i := range l.site.Log.Stages {
		stage := &l.site.Log.Stages[i]
		stages[stage.Name] = stage
		if !slices.ContainsFunc(l.site.Verifications, func(v Verification) bool { return v.File == stage.Name }) {
			entries, _ := LogFiles(stage.Name)
			l.fault(entries, "there is no verifications/"+stage.Name+".yaml", "anteroom verify writes both")
		}
	}
	for i := range l.site.Verifications {
		name := l.site.Verifications[i].File
		if len(stages) == 0 || tlog.CompareNames(name, l.site.Log.Stages[0].Name) < 0 {
			continue
		}
		entries, _ := LogFiles(name)
		if stages[name] == nil {
			l.fault("verifications/"+name+".yaml", "has no "+entries, logBringItBack)
			return
		}
		at, entry := slices.IndexFunc(l.site.Scoreboards, func(b Scoreboard) bool { return b.File == name }), &stages[name].Entry
		if at < 0 {
			continue
		}
		board := &l.site.Scoreboards[at]
		if board.Logged() != entry.Counts {
			l.fault(entries, "its counts are not those of scoreboard/"+name+".yaml", logBringItBack)
		}
		if entry.AsOf != board.AsOf {
			l.fault(entries, "it is as of "+entry.AsOf+", and scoreboard/"+name+".yaml as of "+board.AsOf, logBringItBack)
		}
	}
}

// Logged are the numbers of a board that the log gives.
func (b *Scoreboard) Logged() tlog.Counts {
	return tlog.Counts{
		Vouched:       b.PilotWaitlist.VerifiedConversions,
		Registrations: b.PilotWaitlist.RegistrationsRecorded,
		Charters:      b.Orgs.ChartersFiled,
		Suggestions:   b.Suggestions.ReceivedExternal,
		Own:           b.Excluded.Records,
	}
}

func checkLogKeys(d *document, service *Service) {
	var names, witnesses []string
	for i, key := range service.Log.Keys {
		name, err := tlog.CheckKey(key)
		if err != nil {
			d.fault(fmt.Sprintf("log.keys[%d]", i), "this key: "+err.Error(), logHintUnsigned)
		}
		names = append(names, name)
	}
	for i, w := range service.Log.Witnesses {
		if err := w.Check(); err != nil {
			d.fault(fmt.Sprintf("log.witnesses[%d].key", i), err.Error(), "want the verifier key that the witness publishes")
		}
		witnesses = append(witnesses, w.Key)
	}
	d.unique("log.keys", names)
	d.unique("log.witnesses", witnesses)
}

// goodLogKeys reports whether a log can be read with the keys of service.yaml.
func goodLogKeys(service *Service) bool {
	for _, key := range service.Log.Keys {
		if _, err := tlog.CheckKey(key); err != nil {
			return false
		}
	}
	return !slices.ContainsFunc(service.Log.Witnesses, func(w tlog.Witness) bool { return w.Check() != nil })
}
