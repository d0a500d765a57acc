package verification

import (
	"fmt"
	"maps"
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

func (s *service) list() {
	s.t.Helper()
	listed := &s.site().Service
	secret, public, err := tlog.NewKey(tlog.Origin(listed.CanonicalHost, listed.Log.Key))
	check(s.t, err)
	if s.key, err = tlog.ParseKey(secret); err != nil {
		s.t.Fatal(err)
	}
	text, err := site.RotateLogKey(s.content["service.yaml"].Data, public)
	check(s.t, err)
	s.content["service.yaml"] = &fstest.MapFile{Data: text}
}

func (s *service) stages() (text string) {
	s.t.Helper()
	l := s.site().Log
	for i := range l.Stages {
		stage := &l.Stages[i]
		from := int64(0)
		if i > 0 {
			from = l.Stages[i-1].Size
		}
		for at := from; at < stage.Size; at++ {
			switch e, c := l.Entry(at), stage.Counts; {
			case e.Kind == tlog.Vouched:
				text += fmt.Sprintf("vouched %d, ", e.Index)
			case e.Kind == tlog.Correction:
				text += fmt.Sprintf("%d is %s, ", e.Index, e.To)
			case e.Kind == tlog.Verification:
				text += fmt.Sprintf("%d %d %d %d %d\n", c.Vouched, c.Registrations, c.Charters, c.Suggestions, c.Own)
			default:
				text += e.Kind + ", "
			}
		}
	}
	return text
}

// What the log cannot take is refused, before anything is signed.
func TestLogRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *service, found *survey, board *site.Scoreboard)
		want   string
	}{
		"another board": {func(_ *service, _ *survey, board *site.Scoreboard) {
			board.Orgs.ChartersFiled++
		}, "Charters:0 Suggestions:0 Own:1}, the board {Vouched:1 Registrations:1 Charters:1 "},
		"another log": {func(s *service, found *survey, _ *site.Scoreboard) {
			other := newService(s.t)
			other.list()
			other.verify("11:00:00", "")
			found.site.Log, s.key = other.site().Log, other.key
		}, "the log lacks entry " + tlog.RecordHash(id(1), hexSum(canon.Registration("lark", ""))) + ", a verified record"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			s.list()
			s.register(1, "lark", "", "10:00:00")
			s.verify("11:00:00", "")
			s.register(2, "owl", "", "11:10:00")
			found := s.take("12:00:00")
			before := found.site.Log.Size()
			decided, err := s.try(found, "registrations: [{agent_name: lark, earlier: true, decision: own, reason: r}, {agent_name: owl, decision: vouch, reason: r}]")
			check(t, err)
			current := *decided.site.Current()
			for range 2 { // the log of the site stays as it is
				if logged, err := found.appendLog(decided, &current, s.key); err != nil || len(logged.added) != 4 || found.site.Log.Size() != before {
					t.Fatalf("unchanged: %v", err)
				}
			}
			c.change(s, found, &current)
			if _, err := found.appendLog(decided, &current, s.key); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

type known struct{ kind, name, decision string }

// However records come, are decided, lost and brought back, the log counts what the board says.
func TestLogCountsAsBoards(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newService(t)
			r := rand.New(rand.NewPCG(seed, 0))
			store, verified, n := map[int]known{}, map[int]bool{}, 0
			begins := r.IntN(3)
			for k := range 10 {
				at := moment("10:00:00").Add(time.Duration(k) * 10 * time.Hour) // two or three on a day
				if k == begins {
					s.list()
				}
				for range r.IntN(8) {
					n++
					store[n] = s.record(r, n, at.Format(time.RFC3339))
				}
				lost := false
				for _, gone := range slices.Sorted(maps.Keys(store)) {
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
				found := s.take(at.Add(time.Hour).Format(time.RFC3339))
				if _, err := s.try(found, answers); err != nil && strings.Contains(err.Error(), "say why, for readers") {
					answers += "\ncorrection: r"
				}
				s.put(found, answers, countsOf(store)...)
				for n := range store {
					verified[n] = true
				}
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

func decideAtRandom(r *rand.Rand, store map[int]known, verified map[int]bool) string {
	var b strings.Builder
	for _, kind := range site.Kinds {
		fmt.Fprintf(&b, "%ss:\n", kind)
		none := true
		for _, n := range slices.Sorted(maps.Keys(store)) {
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

func countsOf(store map[int]known) []int {
	list, agents := make([]int, 5), map[string]bool{}
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
