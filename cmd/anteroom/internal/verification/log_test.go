package verification

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

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
		}, "the log would count 0 as orgs.charters_filed, the board 1 "},
		"another log": {func(s *service, found *survey, _ *site.Scoreboard) {
			other := newService(s.t)
			other.list()
			other.verify("11:00:00", "")
			found.site.Log, s.key = other.site().Log, other.key
		}, "entry " + tlog.RecordHash(id(1), hexSum(canon.Registration("lark", ""))) + ", a verified record, is missing from the log"},
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

// An agent whose registration is set apart goes on as the first of its others.
func TestLogFollowsAnAgent(t *testing.T) {
	s := newService(t)
	s.list()
	for n := 1; n <= 4; n++ {
		s.register(n, "lark", "", fmt.Sprintf("10:00:0%d", n))
	}
	s.verify("11:00:00", "registrations: [{agent_name: lark, decision: vouch, reason: r}]")
	s.verify("12:00:00", "registrations: [{record_id: \""+id(1)+"\", earlier: true, decision: own, reason: r}]\ncorrection: A record was the operator's own.")
	const want = "registration, registration, registration, registration, vouched 0, 1 4 0 0 0\n" +
		"0 is own, vouched 1, 4 is none, 1 3 0 0 1\n"
	if got := s.stages(); got != want {
		t.Errorf("the log is\n%swant\n%s", got, want)
	}
}
