// Package org files charters on the org draft board. A charter names an org and the five agents who
// share its allocations under a cap.
package org

import (
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/canon"
	"anteroom/edge/civil"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/quote"
	"anteroom/edge/record"
	"anteroom/edge/respond"
	"anteroom/edge/sha256"
	"anteroom/edge/turn"
)

// The rules of the draft, in credit units.
const (
	Cap               = 100 // the most that the allocations of a charter may add up to
	MinimumAllocation = 5
)

// Fault codes that only a charter has.
const (
	OverCap           = "over_cap"
	UnknownPosition   = "unknown_position"
	DuplicatePosition = "duplicate_position"
)

// SeatForm is the form of a seat in a query, where each position is a parameter. The last colon
// separates name and allocation.
const SeatForm = "<agent_name>:<allocation>"

// Positions are the five positions, in canonical order. A roster has each exactly once.
var Positions = []string{"rainmaker", "operator", "verifier", "scout", "treasurer"}

// The fields of a charter.
var (
	OrgName      = input.Field{Name: "org_name", Type: input.Name, Required: true, Min: 3, Max: 40, Example: `"Tern & Co"`, Placeholder: "<your org's name>"}
	commissioner = input.Field{Name: "commissioner", Type: input.Name, Max: record.MaxName, Example: `"ledger-lark"`, Placeholder: record.NamePlaceholder}
	position     = input.Field{Name: "position", Type: input.Name, Required: true, Values: Positions}
	agentName    = input.Field{Name: "agent_name", Type: input.Name, Required: true, Max: record.MaxName, Placeholder: "<an agent's name>"}
	allocation   = input.Field{Name: "allocation", Type: input.Integer, Required: true, Min: MinimumAllocation, Max: Cap}
	roster       = input.Field{
		Name: "roster", Type: input.Array, Required: true, Min: len(Positions), Max: len(Positions),
		Items: []input.Field{position, agentName, allocation}, QueryNames: Positions, QueryForm: SeatForm,
		Example: `[{"position":"rainmaker","agent_name":"ada","allocation":30},{"position":"operator","agent_name":"bo","allocation":25},` +
			`{"position":"verifier","agent_name":"cy","allocation":20},{"position":"scout","agent_name":"dee","allocation":15},` +
			`{"position":"treasurer","agent_name":"ed","allocation":10}]`,
	}
	OwnerEmail = input.Field{Name: "owner_email", Type: input.Email, Example: `"owner@example.org"`}

	Fields = []input.Field{OrgName, commissioner, roster, OwnerEmail}
)

const kind = "charter" // of its record

// Answer is the answer to a charter.
type Answer struct {
	Chartered        bool             `json:"chartered" doc:"True: the charter is recorded. False on a dry run."`
	Charter          Charter          `json:"charter" doc:"The charter as filed."`
	PayloadSHA256    string           `json:"payload_sha256" pattern:"^[0-9a-f]{64}$" doc:"Lower-case hexadecimal SHA-256 of canonical."`
	Canonical        string           `json:"canonical" doc:"The canonical string of the charter."`
	Canonicalization string           `json:"canonicalization" doc:"Identifier of the rule that canonical follows."`
	VerifyKit        []string         `json:"verify_kit" doc:"Programs that check this answer without the service."`
	RecordID         *string          `json:"record_id" pattern:"^[0-9a-f]{32}$" doc:"Identifier of the record; null on a dry run."`
	Recorded         bool             `json:"recorded" doc:"Whether a record was made."`
	RecordedAt       *string          `json:"recorded_at" format:"date-time" doc:"When the request arrived; null on a dry run."`
	Replayed         bool             `json:"replayed,omitempty" doc:"True where an earlier call with the same Idempotency-Key made the record; else absent."`
	EmailOnFile      bool             `json:"email_on_file" doc:"Whether an e-mail address was kept with the record."`
	Promise          *record.Promise  `json:"promise,omitempty" doc:"That the record will be counted, signed where this host signs receipts; else absent."`
	IgnoredFields    []string         `json:"ignored_fields" total:"true" doc:"What was sent and is not a field of a charter."`
	NextActions      []respond.Action `json:"next_actions,omitempty" doc:"Where the service has a public log, log-entry is the file that lists this record after the next hand verification, under the hash behind #."`
}

// Charter is a charter as filed.
type Charter struct {
	OrgName         string  `json:"org_name" doc:"As sent."`
	Commissioner    *string `json:"commissioner" doc:"As sent; null when absent."`
	Roster          []Seat  `json:"roster" doc:"The seats in canonical order."`
	TotalAllocation int     `json:"total_allocation" doc:"Sum of the allocations, in credit units."`
	Unallocated     int     `json:"unallocated" doc:"What is left under the cap, in credit units."`
	Cap             int     `json:"cap" doc:"The cap, in credit units."`
}

// Seat is one entry of a roster.
type Seat struct {
	Position   string `json:"position" doc:"One of the five positions."`
	AgentName  string `json:"agent_name" doc:"As sent."`
	Allocation int    `json:"allocation" doc:"In credit units."`
}

// File records a charter. One transaction holds the charter and, where an address came with it, the
// address and the message to the operator.
func File(t *turn.Turn, in *input.Input) *turn.Response {
	name, head, email := in.Text(&OrgName), in.Text(&commissioner), in.Text(&OwnerEmail)
	seats := readRoster(in)
	if in.Total > 0 {
		return respond.Invalid(t, in)
	}
	canonical := canon.Charter(name, head, canon.Roster(seats))
	hash, now := sha256.HexOf(canonical), civil.FormatTime(t.Now)
	total := 0
	for _, seat := range seats {
		total += seat.Allocation
	}
	answer := func(stored *record.Stored) *turn.Response {
		r := respond.OK(t, func(w *jsondoc.Writer) {
			w.Bool("chartered", !in.DryRun)
			w.Begin("charter", '{')
			w.Str("org_name", name)
			w.StrOrNull("commissioner", head)
			w.Raw("roster", canon.Roster(seats))
			w.Int("total_allocation", int64(total))
			w.Int("unallocated", int64(Cap-total))
			w.Int("cap", Cap)
			w.Close('}')
			w.Str("payload_sha256", hash)
			w.Str("canonical", canonical)
			w.Str("canonicalization", canon.CharterRule)
			respond.WriteKit(t, w)
			record.WriteMembers(w, in, stored)
			if entry := record.LogEntry(t, stored.ID, hash); entry != nil {
				respond.WriteActions(t, w, entry...)
			}
		})
		r.Log = stored.Log
		return r
	}
	if in.DryRun {
		return answer(&record.Stored{})
	}
	id := record.NewID(t, in, kind, hash)
	stored, refusal := record.Store(t, in, &record.Record{
		Kind: kind, Time: "charters.recorded_at", Hash: hash, Address: email, Who: name,
		Insert: turn.Statement{
			SQL: "INSERT INTO charters (record_id, recorded_at, org_name, commissioner, roster, payload_sha256)" +
				" SELECT ?, ?, ?, ?, ?, ?" + record.UnlessUsed,
			Args: []any{id, now, name, turn.TextOrNull(head), canon.Roster(seats), hash},
		},
	})
	if stored == nil {
		return refusal
	}
	return answer(stored)
}

// readRoster reads the seats of a charter and gives them in canonical order.
func readRoster(in *input.Input) []canon.Seat {
	read := seatsOfBody
	if in.FromQuery {
		read = seatsOfQuery
	}
	seats := read(in)
	total := int64(0)
	for _, seat := range seats {
		total += int64(max(seat.Allocation, 0))
	}
	if total > Cap {
		in.Add(roster.Name, OverCap, "the allocations add up to "+strconv.FormatInt(total, 10)+" credit units, and the cap is "+strconv.Itoa(Cap))
	}
	ordered := make([]canon.Seat, 0, len(seats))
	for _, name := range Positions {
		for _, seat := range seats {
			if seat.Position == name {
				ordered = append(ordered, seat)
			}
		}
	}
	return ordered
}

func seatsOfBody(in *input.Input) (seats []canon.Seat) {
	sent := in.Member(roster.Name)
	switch sent.Kind {
	case jsondoc.Array:
	case jsondoc.Absent, jsondoc.Null:
		in.Missing("roster is missing", &roster)
		return nil
	default:
		in.Add(roster.Name, input.WrongType, "must be an array, not "+sent.Kind.String())
		return nil
	}
	if n := len(sent.Items); n != len(Positions) {
		in.Add(roster.Name, input.WrongCount, "must have exactly "+strconv.Itoa(len(Positions))+" entries, and has "+strconv.Itoa(n))
	}
	taken := make([]bool, len(Positions))
	for i := range sent.Items {
		at := roster.Name + "[" + strconv.Itoa(i) + "]"
		if kind := sent.Items[i].Kind; kind != jsondoc.Object {
			in.Add(at, input.WrongType, "must be an object, not "+kind.String())
			continue
		}
		seats = append(seats, readSeat(in, at, &sent.Items[i], taken))
	}
	return seats
}

func readSeat(in *input.Input, at string, sent *jsondoc.Value, taken []bool) (seat canon.Seat) {
	entry := in.Child(at, roster.Items, sent.Members)
	seat.Position = entry.Text(&position)
	if seat.Position != "" {
		switch index := slices.Index(Positions, seat.Position); {
		case index < 0:
			entry.Add(position.Name, UnknownPosition, "must be one of "+strings.Join(Positions, ", ")+", and is "+input.TruncateBytes(seat.Position))
		case taken[index]:
			entry.Add(position.Name, DuplicatePosition, seat.Position+" is there more than once: each position must be there exactly once")
		default:
			taken[index] = true
		}
	}
	seat.AgentName = entry.Text(&agentName)
	seat.Allocation = entry.Integer(&allocation)
	in.Merge(entry)
	return seat
}

func seatsOfQuery(in *input.Input) (seats []canon.Seat) {
	form := "send " + SeatForm + ", like ada:" + strconv.Itoa(MinimumAllocation)
	for _, name := range Positions {
		before, f := in.Total, &input.Field{Name: name, Type: input.Text}
		text := in.Text(f)
		if text == "" {
			if in.Total == before {
				in.Missing(name+" is missing or blank: "+form, f)
			}
			continue
		}
		seat := canon.Seat{Position: name}
		at := strings.LastIndexByte(text, ':')
		if _, isNumber := jsondoc.Integer(text[at+1:]); at < 0 || !isNumber {
			in.Add(name, input.BadForm, "is not of the form of a seat: "+form)
			continue
		}
		if seat.AgentName = text[:at]; quote.Blank(seat.AgentName) {
			in.Add(name, input.Required, "the agent_name before the colon is missing or blank: "+form)
		} else {
			in.CheckText(&agentName, name, seat.AgentName)
		}
		if n, ok := input.ParseInteger(text[at+1:]); !ok {
			in.Add(name, input.NotAnInteger, "the allocation must be an integer of 32 bits, and is "+input.TruncateBytes(text[at+1:]))
		} else if in.CheckMinimum(&allocation, name, n) {
			seat.Allocation = n
		}
		seats = append(seats, seat)
	}
	return seats
}
