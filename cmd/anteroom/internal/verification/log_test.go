package verification

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"anteroom/edge/canon"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// list makes a key of the log and lists it in the content.
func (s *service) list() {
	s.t.Helper()
	listed := &s.site().Service
	secret, public, err := tlog.NewKey(tlog.Origin(listed.CanonicalHost, len(listed.Log.Keys)+1))
	if err != nil {
		s.t.Fatal(err)
	}
	if s.key, err = tlog.ParseKey(secret); err != nil {
		s.t.Fatal(err)
	}
	text, err := site.RotateLogKey(s.content["service.yaml"].Data, public)
	if err != nil {
		s.t.Fatal(err)
	}
	s.content["service.yaml"] = &fstest.MapFile{Data: text}
}

// stages are what the stages of the log say, a line for each entry.
func (s *service) stages() (text string) {
	s.t.Helper()
	l := s.site().Log
	for i := range l.Stages {
		stage := &l.Stages[i]
		from := int64(0)
		if i > 0 && l.Stages[i-1].Tree == stage.Tree {
			from = l.Stages[i-1].Size
		}
		for at := from; at < stage.Size; at++ {
			e, err := tlog.ParseEntry(stage.Tree.Entry(at))
			if err != nil {
				s.t.Fatal(err)
			}
			switch {
			case e.Kind == tlog.Vouched:
				text += fmt.Sprintf("vouched %d, ", e.Index)
			case e.Kind == tlog.Correction:
				text += fmt.Sprintf("%d is %s, ", e.Index, e.To)
			case e.Kind == tlog.Verification:
				text += fmt.Sprintf("%d %d %d %d %d\n", e.Counts.Vouched, e.Counts.Registrations, e.Counts.Charters, e.Counts.Suggestions, e.Counts.Own)
			default:
				text += e.Kind + ", "
			}
		}
	}
	return text
}

func (s *service) wantStages(want string) {
	s.t.Helper()
	if got := s.stages(); got != want {
		s.t.Errorf("the log has\n%swant\n%s", got, want)
	}
}

// The first stage has all that was counted before, and each one after it what is new and what
// counts otherwise.
func TestLog(t *testing.T) {
	s := newService(t)
	s.content["service.yaml"].Data = bytes.Replace(s.content["service.yaml"].Data, []byte("own_names: []"), []byte(`own_names: ["probe *"]`), 1)
	s.register(1, "lark", "", "10:00:00")
	s.register(2, "probe 1", "", "10:00:01")
	s.charter(3, "Tern & Co", "[]", "10:00:02")
	s.verify("11:00:00", "registrations: [{agent_name: lark, decision: vouch, reason: r}]")
	s.register(4, "owl", "", "11:10:00")
	s.verify("12:00:00", "")
	s.list()
	s.register(5, "lark", "", "12:10:00")
	s.suggest(6, "12:10:01")
	s.verify("13:00:00", "registrations: [{agent_name: lark, decision: vouch, reason: r}]")
	s.wantStages("registration, own, registration, registration, charter, suggestion, vouched 0, 1 3 1 1 1\n")
	for file, text := range s.content { // which may be public: what an answer has is its holder's
		if strings.HasPrefix(file, "verifications/") && strings.Contains(string(text.Data), id(1)) {
			t.Errorf("%s names a record_id", file)
		}
	}

	// Records that are decided otherwise, and an agent that is vouched for no more.
	s.verify("14:00:00", `
registrations:
  - {agent_name: lark, earlier: true, decision: leave, reason: r}
  - {agent_name: probe *, earlier: true, decision: leave, reason: r}
  - {agent_name: owl, earlier: true, decision: own, reason: r}
charters: [{org_name: Tern & Co, earlier: true, decision: own, reason: r}]
suggestions: [{record_id: "`+id(6)+`", decision: own, reason: r}]
correction: c`)
	want := "registration, own, registration, registration, charter, suggestion, vouched 0, 1 3 1 1 1\n" +
		"1 is registration, 2 is own, 4 is own, 5 is own, 6 is none, 0 3 0 0 3\n"
	s.wantStages(want)

	// One of them again, and a new one. Then nothing at all.
	s.register(7, "owl", "", "14:10:00")
	s.verify("15:00:00", `registrations: [{record_id: "`+id(1)+`", decision: vouch, reason: r}, {agent_name: owl, decision: vouch, reason: r}]`)
	s.verify("16:00:00", "")
	want += "registration, vouched 14, 6 is vouched, 2 4 0 0 3\n2 4 0 0 3\n"
	s.wantStages(want)

	// Under a new key, a new tree. An agent of its first stage is found by its index through both.
	s.list()
	s.list() // one that was lost before it signed
	s.register(8, "wren", "", "16:10:00")
	s.verify("17:00:00", "registrations: [{agent_name: wren, decision: vouch, reason: r}]")
	want += "log, registration, vouched 20, 3 5 0 0 3\n"
	s.wantStages(want)
	if l := s.site().Log; len(l.Trees) != 2 || l.Trees[1].Path() != tlog.Folder+"/3" {
		t.Errorf("%d trees", len(l.Trees))
	}

	// Records that are gone count no more.
	s.exec("DELETE FROM registrations WHERE seq IN (1, 3)") // one by which lark is known
	s.verify("18:00:00", "lost: a disk")
	want += "0 is none, 2 is none, 6 is none, 2 4 0 0 2\n"
	s.wantStages(want)
}

// A loss takes a record away with all that was decided about it, and what comes back is counted as
// any other.
func TestLogLost(t *testing.T) {
	s := newService(t)
	s.list()
	for n, name := range []string{"lark", "lark", "owl", "probe"} {
		s.register(n+1, name, "", "10:00:0"+fmt.Sprint(n))
	}
	s.verify("11:00:00", "registrations: [{agent_name: lark, decision: vouch, reason: r}, {agent_name: owl, decision: vouch, reason: r}, {agent_name: probe, decision: own}]")
	want := "registration, registration, registration, own, vouched 0, vouched 2, 2 3 0 0 1\n"
	s.exec("DELETE FROM registrations WHERE seq IN (1, 4)") // one by which lark is known
	s.register(5, "wren", "", "11:10:00")
	s.verify("12:00:00", "lost: a disk")
	want += "registration, 0 is none, 3 is none, vouched 1, 4 is none, 2 3 0 0 0\n"
	s.wantStages(want)

	// One comes back, and of another one the commitment is changed.
	s.exec("INSERT INTO registrations (seq, record_id, recorded_at, agent_name, payload_sha256) SELECT 1, ?, recorded_at, 'probe', ? FROM registrations WHERE seq = 3",
		id(4), hexSum(canon.Registration("probe", "")))
	s.exec("UPDATE registrations SET payload_sha256 = ? WHERE record_id = ?", hexSum(""), id(2))
	s.verify("13:00:00", "lost: a disk")
	want += "registration, 3 is registration, 1 is none, 10 is none, 1 4 0 0 0\n"
	s.wantStages(want)
}

// What the log cannot take is refused, before anything is signed.
func TestLogRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *service, survey *Pending, board *site.Scoreboard)
		want   string
	}{
		"another board": {func(_ *service, _ *Pending, board *site.Scoreboard) {
			board.Orgs.ChartersFiled++
		}, "the log would count charters_filed 0, and the board charters_filed 1 "},
		"an older key": {func(s *service, survey *Pending, _ *site.Scoreboard) {
			before := s.key
			s.list()
			s.put(s.take("11:30:00"), "texts: unchanged")
			survey.Site, survey.kinds[0].new, s.key = s.site(), nil, before
		}, "or was replaced"},
		"another log": {func(s *service, survey *Pending, _ *site.Scoreboard) {
			other := newService(s.t)
			other.list()
			other.verify("11:00:00", "")
			survey.Site.Log, s.key = other.site().Log, other.key
		}, "the log has no entry " + tlog.RecordHash(id(1), hexSum(canon.Registration("lark", ""))) + ", of a record that was verified"},
		"the same again": {func(s *service, survey *Pending, _ *site.Scoreboard) {
			log := survey.Site.Log.Clone()
			again := tlog.Entry{Kind: tlog.Registration, Hash: tlog.RecordHash(id(2), hexSum(canon.Registration("owl", "")))}
			if _, _, err := log.Append(day+"-2", []tlog.Entry{again, tlog.VerificationOf(day+"-2", day, nil)}, s.key); err != nil {
				s.t.Fatal(err)
			}
			survey.Site.Log = log
		}, "a new record has the record_id and the commitment of entry 2 of the log"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			s.list()
			s.register(1, "lark", "", "10:00:00")
			s.verify("11:00:00", "")
			s.register(2, "owl", "", "11:10:00")
			survey := s.take("12:00:00")
			before := survey.Site.Log.Size()
			decided, err := s.try(survey, "registrations: [{agent_name: lark, earlier: true, decision: own, reason: r}, {agent_name: owl, decision: vouch, reason: r}]")
			if err != nil {
				t.Fatal(err)
			}
			current := *decided.Site.Current()
			for range 2 { // the log of the site stays as it is
				if logged, err := survey.log(decided, &current, nil, s.key); err != nil || len(logged.Added) != 4 || survey.Site.Log.Size() != before {
					t.Fatalf("unchanged: %v", err)
				}
			}
			c.change(s, survey, &current)
			if _, err := survey.log(decided, &current, nil, s.key); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Two records that the log could not tell apart are refused: so far they are only odd.
func TestLogTwins(t *testing.T) {
	s := newService(t)
	s.list()
	s.register(1, "lark", "", "10:00:00")
	s.exec("INSERT INTO registrations SELECT 2, record_id, recorded_at, agent_name, pubkey, payload_sha256 FROM registrations")
	survey := s.take("12:00:00")
	if _, err := s.try(survey, ""); err == nil || !strings.Contains(err.Error(), "two registrations have the same record_id") {
		t.Errorf("%v", err)
	}
}

// known is what a test knows of a record.
type known struct{ kind, name, decision string }

// However records come, are decided, lost and brought back, the log counts what the board says.
func TestLogCountsAsBoards(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newService(t)
			r := rand.New(rand.NewPCG(seed, 0))
			store, verified, n := map[int]known{}, map[int]bool{}, 0
			begins := r.IntN(3)
			for k := range 10 {
				at := moment("10:00:00").Add(time.Duration(k) * 10 * time.Hour) // two or three on a day
				if k == begins || k > begins && r.IntN(4) == 0 {
					s.list()
				}
				for range r.IntN(8) {
					n++
					store[n] = s.record(r, n, at.Format(time.RFC3339))
				}
				lost := false
				for _, gone := range sortedKeys(store) {
					if verified[gone] && k > 2 && seed%2 == 0 && r.IntN(20) == 0 {
						s.exec(fmt.Sprintf("DELETE FROM %ss WHERE record_id = ?", store[gone].kind), id(gone))
						delete(store, gone)
						delete(verified, gone)
						lost = true
					}
				}
				answers := "lost: a disk"
				if !lost {
					answers = decideAtRandom(r, store, verified)
				}
				survey := s.take(at.Add(time.Hour).Format(time.RFC3339))
				if _, err := s.try(survey, answers); err != nil && strings.Contains(err.Error(), "say why, for readers") {
					answers += "\ncorrection: r"
				}
				loaded := s.put(survey, answers)
				for n := range store {
					verified[n] = true
				}
				s.wantCounts(loaded, countsOf(store))
				if k < begins {
					continue
				}
				again := s.site() // which reads the log too
				if is := again.Log.Counts(); is != again.Current().Logged() || len(again.Log.Stages) != k-begins+1 {
					t.Fatalf("after %d: the log counts %+v in %d stages", k, is, len(again.Log.Stages))
				}
			}
		})
	}
}

// record records something.
func (s *service) record(r *rand.Rand, n int, at string) known {
	k := known{kind: site.Kinds[r.IntN(len(site.Kinds))], name: fmt.Sprint("agent ", r.IntN(4))}
	k.decision = site.Choices[k.kind][0]
	switch k.kind {
	case site.Registration:
		s.register(n, k.name, "", at)
	case site.Charter:
		s.charter(n, k.name, "[]", at)
	default:
		s.suggest(n, at)
	}
	return k
}

// decideAtRandom decides about some records by their identifiers.
func decideAtRandom(r *rand.Rand, store map[int]known, verified map[int]bool) string {
	var b strings.Builder
	for _, kind := range site.Kinds {
		fmt.Fprintf(&b, "%ss:\n", kind)
		none := true
		for _, n := range sortedKeys(store) {
			k := store[n]
			if k.kind != kind || r.IntN(3) > 0 {
				continue
			}
			choices := site.Choices[kind]
			decision := choices[r.IntN(len(choices))]
			if verified[n] && decision == k.decision {
				continue
			}
			fmt.Fprintf(&b, "  - {record_id: %q, decision: %s, reason: r}\n", id(n), decision)
			k.decision, none = decision, false
			store[n] = k
		}
		if none {
			b.WriteString("  []\n")
		}
	}
	return b.String()
}

func sortedKeys(store map[int]known) (list []int) {
	for n := range store {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// countsOf are the numbers that the records of a store give.
func countsOf(store map[int]known) (list [5]int) {
	agents := map[string]bool{}
	for _, k := range store {
		at := 1 + slices.Index(site.Kinds, k.kind)
		if k.decision == site.Own {
			at = 4
		}
		list[at]++
		if k.decision == site.Vouch {
			agents[k.name] = true
		}
	}
	list[0] = len(agents)
	return list
}
