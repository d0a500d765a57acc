package site

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"anteroom/edge/assets"
	"anteroom/edge/store/records"
	"anteroom/generator/model"
	"anteroom/generator/tlog"

	"go.yaml.in/yaml/v4"
)

// Verification is content/verifications/<as_of>[-2].yaml: the records that one hand verification
// covered, and its decisions about single ones, without names and addresses. The counts of the
// board of the same name are the sums of this file and of all before it.
//
// anteroom publish writes the file, which is never edited: its last line is the SHA-256 of all
// lines above, and the next verification holds the SHA-256 of the whole file, so no count is
// forgotten.
type Verification struct {
	File string `yaml:"-"` // base name without extension

	Format  int    `yaml:"format,omitempty" min:"1"` // 0 is format 1; see newestFormat
	Host    string `yaml:"host" is:"host"`           // canonical host of the service
	Store   string `yaml:"store,omitempty"`          // identifier of the store; "" where no store was looked at
	Through string `yaml:"through" is:"time"`        // it covers records until then
	// The verification before this one; "" for the first.
	Follows       string `yaml:"follows,omitempty"`
	FollowsSHA256 string `yaml:"follows_sha256,omitempty" is:"sha256"`
	// BoardSHA256 is the SumOfBoard; "" for the first board, which is edited until it is public.
	BoardSHA256 string   `yaml:"board_file_sha256,omitempty" is:"sha256"`
	ReceiptKeys []string `yaml:"receipt_keys" is:"key"`

	// Lost explains why verified records are gone for good. The coverage then starts over with the
	// contents of the store, which may be another one, and totals may fall.
	Lost string `yaml:"lost,omitempty" is:"line"`

	Registrations Coverage       `yaml:"registrations"`
	Charters      Coverage       `yaml:"charters"`
	Suggestions   Coverage       `yaml:"suggestions"`
	Told          map[string]int `yaml:"told"` // numbers that the operator enters, by place
	Decisions     []Decision     `yaml:"decisions"`
	Sum           string         `yaml:"sum" is:"sha256"` // SHA-256 of the lines above

	SHA256 string `yaml:"-"`
}

// Coverage describes the records of a kind up to the sequence number Last.
type Coverage struct {
	Last   int    `yaml:"last"`
	Total  int    `yaml:"total"`              // since the beginning
	SHA256 string `yaml:"sha256" is:"sha256"` // chained; see package verification
}

// Decision is a decision about records of a kind. Without one, a registration is left, a charter
// counted and a suggestion external.
type Decision struct {
	Kind     string `yaml:"kind"`
	Decision string `yaml:"decision"`
	// Agent is the hash of the first record of a vouched agent. All decisions about the agent name it.
	Agent    string `yaml:"agent,omitempty"`
	Corrects string `yaml:"corrects,omitempty"` // the verification that covered the records before; "" for new ones
	Reason   string `yaml:"reason,omitempty" is:"line"`
	// Records has a RecordHash on each line. Knowing a record_id would prove that it is one's own.
	Records string `yaml:"records"`
}

var EmptyDigest = assets.SumOf(nil)

const (
	Vouch    = "vouch" // the operator vouches for its agent
	Leave    = "leave"
	Own      = "own" // the operator's: development, seed or test
	Counted  = "counted"
	External = "external"
	Gone     = "gone" // lost with its decisions; only with Verification.Lost
)

const (
	Registration = records.Registration
	Charter      = records.Charter
	Suggestion   = records.Suggestion
)

var Kinds = func() (names []string) {
	for _, kind := range records.Kinds {
		names = append(names, kind.Name)
	}
	return names
}()

// Choices are the decisions for each kind of record, the default first.
var Choices = map[string][]string{
	Registration: {Leave, Vouch, Own},
	Charter:      {Counted, Own},
	Suggestion:   {External, Own},
}

func (v *Verification) Covers(kind string) *Coverage {
	switch kind {
	case Registration:
		return &v.Registrations
	case Charter:
		return &v.Charters
	}
	return &v.Suggestions
}

// Covered returns the store that was verified, "" before the first verification, and the last
// sequence number of each of records.Kinds that is covered.
func (s *Site) Covered() (store string, last []int64) {
	last = make([]int64, len(Kinds))
	for _, v := range s.Verifications {
		store = cmp.Or(v.Store, store)
		for i, kind := range Kinds {
			last[i] = int64(v.Covers(kind).Last)
		}
	}
	return store, last
}

// SinceLoss returns the verifications since the coverage last started over.
func (s *Site) SinceLoss() []Verification {
	for i := len(s.Verifications) - 1; i > 0; i-- {
		if s.Verifications[i].Lost != "" {
			return s.Verifications[i:]
		}
	}
	return s.Verifications
}

// Segments describes the newest covered records of each kind that has some, for records.Behind.
func (s *Site) Segments() (newest []string) {
	for i, kind := range Kinds {
		before, segment := Coverage{SHA256: EmptyDigest}, ""
		for _, v := range s.SinceLoss() {
			covered := *v.Covers(kind)
			if covered.SHA256 != before.SHA256 {
				segment = fmt.Sprintf("%d %d %d %s %s %s",
					i, before.Last, covered.Last, before.SHA256, covered.SHA256, v.File)
			}
			before = covered
		}
		if segment != "" {
			newest = append(newest, segment)
		}
	}
	return newest
}

// Encode returns the text of the file, and sets Sum and SHA256.
func (v *Verification) Encode() []byte {
	v.Sum = ""
	text, _ := dumpYAML(v) // texts and numbers do not fail
	text = append([]byte("# What a hand verification covered and decided, written by anteroom publish. "+
		"It is never edited.\n"),
		bytes.TrimSuffix(text, []byte("sum: ''\n"))...)
	v.Sum = assets.SumOf(text)
	text = fmt.Appendf(text, "sum: %q\n", v.Sum)
	v.SHA256 = assets.SumOf(text)
	return text
}

// SumOfBoard returns the SHA-256 of a board's file with LF line ends.
func SumOfBoard(text []byte) string {
	return assets.SumOf(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
}

func dumpYAML(v any) ([]byte, error) {
	return yaml.Dump(v, yaml.WithIndent(2), yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false))
}

func sumHolds(src []byte, sum string) bool {
	at := bytes.LastIndex(src, []byte("\nsum: "))
	return at >= 0 && bytes.Count(src[at+1:], []byte{'\n'}) <= 1 && assets.SumOf(src[:at+1]) == sum
}

// RecordHash returns the name of a record in verifications and in the log. The commitment of a
// suggestion covers its text, which no answer has, and is left out.
func RecordHash(kind, id, commitment string) string {
	if kind == Suggestion {
		commitment = ""
	}
	return tlog.RecordHash(id, commitment)
}

type Number struct {
	Path  string // in the board's file
	Label string
	Told  bool // entered by the operator; otherwise counted from the records
}

func (n *Number) Of(board *Scoreboard) int { return board.Number(n.Path) }

// Place returns the place of the number in a published board: of a list, its length.
func (n *Number) Place() string {
	if strings.HasSuffix(n.Path, ".named_clients") {
		return n.Path + "_seen"
	}
	return n.Path
}

// Numbers are all numbers of a hand verification. A number falls only with a correction.
var Numbers = []Number{
	{"pilot_waitlist.verified_organic_agent_conversions", "Agents verified", false},
	{"pilot_waitlist.registrations_recorded", "Registrations recorded", false},
	{"orgs.charters_filed", "Charters filed", false},
	{"suggestions.received_external", "Suggestions from outside", false},
	{"excluded_from_counts.development_seed_and_test_records", "Records set apart", false},
	{"suggestions.originated_internally", "Our own suggestions", true},
	{"suggestions.shipped", "Suggestions shipped", true},
	{"observed_attention.named_clients", "Clients that named themselves", true},
	{"observed_attention.named_clients_that_completed_a_handshake", "Of these, handshakes completed", true},
	{"observed_attention.tool_calls_by_anything_not_auditing_us", "Tool calls", true},
	{"observed_attention.security_reports_received", "Security reports", true},
}

// Ledger is the state of single records after a series of verifications.
type Ledger struct {
	entries map[string]Decided
	agents  map[string]int // vouched records by agent
	own     map[string]int
	totals  map[string]int
}

type Decided struct{ Kind, Decision, Agent, File string }

func newLedger() *Ledger {
	return &Ledger{
		entries: map[string]Decided{}, agents: map[string]int{}, own: map[string]int{}, totals: map[string]int{},
	}
}

func (s *Site) Ledger() *Ledger {
	l := newLedger()
	for i := range s.Verifications {
		l.Enter(&s.Verifications[i])
	}
	return l
}

// Entries returns all records that a verification names, by hash.
func (l *Ledger) Entries() map[string]Decided { return l.entries }

// Enter adds a verification. It trusts the decisions: publish made them, and the sum seals them.
func (l *Ledger) Enter(v *Verification) {
	for _, kind := range Kinds {
		l.totals[kind] = v.Covers(kind).Total
	}
	for i := range v.Decisions {
		d := &v.Decisions[i]
		for hash := range strings.FieldsSeq(d.Records) {
			l.count(l.entries[hash], -1)
			if d.Decision == Gone {
				delete(l.entries, hash)
				continue
			}
			now := Decided{d.Kind, d.Decision, d.Agent, v.File}
			l.count(now, 1)
			l.entries[hash] = now
		}
	}
}

func (l *Ledger) count(e Decided, n int) {
	switch e.Decision {
	case Own:
		l.own[e.Kind] += n
	case Vouch:
		if l.agents[e.Agent] += n; l.agents[e.Agent] == 0 {
			delete(l.agents, e.Agent)
		}
	}
}

func (l *Ledger) Counts() map[string]int {
	return map[string]int{
		Numbers[0].Path: len(l.agents),
		Numbers[1].Path: l.totals[Registration] - l.own[Registration],
		Numbers[2].Path: l.totals[Charter] - l.own[Charter],
		Numbers[3].Path: l.totals[Suggestion] - l.own[Suggestion],
		Numbers[4].Path: l.own[Registration] + l.own[Charter] + l.own[Suggestion],
	}
}

func checkCounts(d *document, board *Scoreboard, v *Verification, ledger *Ledger) {
	const hint = "compare both files with git; only anteroom publish changes a count, on a new board"
	d.want(v.BoardSHA256 == "" || v.BoardSHA256 == board.sum, "",
		"the board has changed: its hash does not match verifications/"+v.File+".yaml",
		"restore both from git; correct texts on the next board")
	counts := ledger.Counts()
	for _, n := range Numbers {
		if n.Told {
			counts[n.Path] = v.Told[n.Path]
		}
		is, want := n.Of(board), counts[n.Path]
		d.want(is == want, n.Path, fmt.Sprintf(" is %d, but the verifications add up to %d", is, want), hint)
	}
}

func checkNothingFalls(d *document, board, previous *Scoreboard) {
	for _, n := range Numbers {
		now, then := n.Of(board), n.Of(previous)
		isCorrected := func(c model.Correction) bool {
			return c.Number == n.Path && c.Was == then && c.Board == previous.File
		}
		d.want(now >= then || slices.ContainsFunc(board.Corrections, isCorrected), n.Path,
			fmt.Sprintf(" is %d, and was %d in scoreboard/%s.yaml", now, then, previous.File),
			"no number falls, unless a correction names it, this value and this scoreboard, and says why")
	}
}

func checkKeys(d *document, service *Service, verifications []Verification) {
	listed := service.Keys()
	for _, v := range verifications {
		for _, key := range v.ReceiptKeys {
			if !slices.Contains(listed, key) {
				d.fault("receipt_keys", key+" is missing, which "+v.File+" has",
					"list it under retired, if it leaked with revoked: REASON")
				listed = append(listed, key)
			}
		}
	}
}

func (s *Service) Keys() []string {
	keys := []string{}
	for _, key := range s.ReceiptKeys.All() {
		keys = append(keys, key.PublicKey)
	}
	return keys
}

// InForce returns the keys that verify receipts, the current one first, in the form of the kit:
// after a replaced key "@FIRST..LAST", the days whose receipts it verifies, each "" if unknown.
func (s *Service) InForce() []string {
	keys := []string{}
	if s.ReceiptKeys.Current != "" {
		keys = append(keys, s.ReceiptKeys.Current)
	}
	for _, key := range s.ReceiptKeys.Retired {
		if key.Revoked == "" {
			keys = append(keys, key.PublicKey+"@"+key.CurrentFrom+".."+key.RetiredOn)
		}
	}
	return keys
}

// CheckDay refuses boards dated after today (UTC). The error is Errors.
func (s *Site) CheckDay(today string) error {
	for i := range s.Scoreboards {
		if board := &s.Scoreboards[i]; board.AsOf > today {
			s.document("scoreboard/"+board.File+".yaml").fault("as_of", "as_of is "+board.AsOf+", and today is "+today,
				"correct this machine's clock, or SOURCE_DATE_EPOCH if it is set; if the clock was ahead when the board was made, "+
					"remove it with its verifications/"+board.File+".yaml, or wait if it is published")
		}
	}
	return s.faults()
}
