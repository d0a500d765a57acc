package site

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"anteroom/generator/tlog"
)

// The two files of a stage of the log: log/2026-11-20.jsonl and log/2026-11-20.checkpoint. Package
// translog has their forms.
const (
	logFolder        = "log/"
	logEntries       = ".jsonl"
	logCheckpoint    = ".checkpoint"
	logBringItBack   = "restore it as anteroom verify wrote it, and the keys in service.yaml, from version control: what was logged never changes"
	logHintUnsigned  = "anteroom key new --log makes a key, and anteroom verify writes the log"
	logHintOtherKeys = "the keys of a log stay listed, in the order of their use"
	logHintApart     = "delete its files in log/, verifications/ and scoreboard/, and verify again; if it is the one that was published, delete those of the other instead"
)

// LogFiles are the files of a stage of the log in a content folder, by the name of its
// verification.
func LogFiles(name string) (entries, checkpoint string) {
	return logFolder + name + logEntries, logFolder + name + logCheckpoint
}

// queueLog queues the reading of the log. Its stages are read one after the other, as each extends
// the tree of the one before.
func (l *loader) queueLog() {
	l.stages = l.dated(logFolder, logEntries, logCheckpoint)
	for _, name := range l.stages {
		entries, checkpoint := LogFiles(name)
		l.expected = append(l.expected, entries, checkpoint)
		for _, file := range []string{entries, checkpoint} {
			if slices.Contains(l.files, file) {
				l.keepSum(file, [32]byte{}) // one that is not read, behind one with a fault, has none of its own
			}
		}
	}
}

// readLog reads the stages under the keys of service.yaml, up to the first with a fault.
func (l *loader) readLog(service *Service) {
	l.site.Log = tlog.New(service.Log.Keys, service.Log.Witnesses)
	if !goodLogKeys(service) {
		return // checkLogKeys says what is wrong: the files may be as they should be
	}
	for _, name := range l.stages {
		entries, checkpoint := LogFiles(name)
		if !slices.Contains(l.files, checkpoint) {
			l.fault(checkpoint, "missing", logBringItBack)
			return
		}
		note := l.read(checkpoint, maxFile)
		sum := sha256.New()
		file, err := l.fsys.Open(entries)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			l.fault(entries, "missing", logBringItBack)
		case err != nil:
			l.fault(entries, "cannot be read: "+withoutPath(err), logBringItBack)
		case len(service.Log.Keys) == 0:
			l.fault(entries, "service.yaml lists no key of the log", logHintOtherKeys)
		}
		if err != nil || note == nil || len(service.Log.Keys) == 0 {
			return
		}
		faults := l.site.Log.Read(name, io.TeeReader(file, sum), note)
		file.Close()
		if faults != nil {
			if other := l.apartFrom(service, name); other != "" {
				l.fault(checkpoint, "was made apart from verification "+other+": it extends the log without that", logHintApart)
				return
			}
		}
		for _, f := range faults {
			at := Error{File: checkpoint, What: f.What, Hint: logBringItBack}
			if f.Line > 0 {
				at.File, at.Line, at.Column = entries, f.Line, 1
			}
			l.addFaults(Errors{at})
		}
		if faults != nil {
			return
		}
		l.keepSum(entries, [32]byte(sum.Sum(nil)))
	}
	l.checkStages()
}

// apartFrom gives the first earlier verification without which a stage that has faults has none:
// the two were made of the same content in two places, and joined since.
func (l *loader) apartFrom(service *Service, name string) string {
	log := tlog.New(service.Log.Keys, service.Log.Witnesses)
	add := func(log *tlog.Log, name string) bool {
		entries, checkpoint := LogFiles(name)
		file, err := l.fsys.Open(entries)
		if err != nil {
			return false
		}
		defer file.Close()
		note := l.read(checkpoint, maxFile)
		return note != nil && log.Read(name, file, note) == nil
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

// checkStages compares the stages of the log with the verifications: from the first one on each has
// a stage, and its counts are those of the board.
func (l *loader) checkStages() {
	log := l.site.Log
	for i := range log.Stages {
		entries, _ := LogFiles(log.Stages[i].Name)
		if !slices.ContainsFunc(l.site.Verifications, func(v Verification) bool { return v.File == log.Stages[i].Name }) {
			l.fault(entries, "there is no verifications/"+log.Stages[i].Name+".yaml", "anteroom verify writes both")
		}
	}
	if len(log.Stages) == 0 {
		return
	}
	stages := log.Stages
	for i := range l.site.Verifications {
		v := &l.site.Verifications[i]
		if before(v.File, log.Stages[0].Name) {
			continue
		}
		if len(stages) == 0 || stages[0].Name != v.File {
			entries, _ := LogFiles(v.File)
			l.fault("verifications/"+v.File+".yaml", "has no "+entries, logBringItBack)
			return
		}
		stage := &stages[0]
		stages = stages[1:]
		at := slices.IndexFunc(l.site.Scoreboards, func(b Scoreboard) bool { return b.File == v.File })
		if at < 0 {
			continue
		}
		board := &l.site.Scoreboards[at]
		entries, _ := LogFiles(v.File)
		if board.Logged() != stage.Entry.Counts {
			l.fault(entries, "its counts are not those of scoreboard/"+v.File+".yaml", logBringItBack)
		}
		if stage.Entry.AsOf != board.AsOf {
			l.fault(entries, "it is as of "+stage.Entry.AsOf+", and scoreboard/"+v.File+".yaml as of "+board.AsOf, logBringItBack)
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

// checkLogKeys checks the keys of the log in service.yaml.
func checkLogKeys(d *document, service *Service) {
	var names []string
	for i, key := range service.Log.Keys {
		name, err := tlog.CheckKey(key)
		if err != nil {
			d.fault(fmt.Sprintf("log.keys[%d]", i), "this key: "+err.Error(), logHintUnsigned)
		}
		names = append(names, name)
	}
	d.unique("log.keys", names)
	var witnesses []string
	for i := range service.Log.Witnesses {
		if err := service.Log.Witnesses[i].Check(); err != nil {
			d.fault(fmt.Sprintf("log.witnesses[%d].key", i), err.Error(), "want the verifier key that the witness publishes")
		}
		witnesses = append(witnesses, service.Log.Witnesses[i].Key)
	}
	d.unique("log.witnesses", witnesses)
}

// goodLogKeys reports whether a log can be read with the keys of service.yaml.
func goodLogKeys(service *Service) bool {
	return !slices.ContainsFunc(service.Log.Keys, func(key string) bool { _, err := tlog.CheckKey(key); return err != nil }) &&
		!slices.ContainsFunc(service.Log.Witnesses, func(w tlog.Witness) bool { return w.Check() != nil })
}
