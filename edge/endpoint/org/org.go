// Package org files charters: an org, and the five agents who share its allocations under a cap.
package org

import (
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/canon"
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
	Cap               = 100 // of the sum of a charter's allocations
	MinimumAllocation = 5
)

const (
	OverCap           = "over_cap"
	UnknownPosition   = "unknown_position"
	DuplicatePosition = "duplicate_position"
)

// SeatForm is the form of a seat in a query, where each position is a parameter.
const SeatForm = "<agent_name>:<allocation>"

// Positions lists the positions in canonical order. A roster has each exactly once.
var Positions = []string{"rainmaker", "operator", "verifier", "scout", "treasurer"}

var (
	OrgName = input.Field{
		Name: "org_name", Type: input.Name, Required: true, Min: 3, Max: 40, Example: `"Tern & Co"`,
		Placeholder: "<your org's name>",
	}
	commissioner = input.Field{
		Name: "commissioner", Type: input.Name, Max: record.MaxName, Example: `"ledger-lark"`,
		Placeholder: record.NamePlaceholder,
	}
	position  = input.Field{Name: "position", Type: input.Name, Required: true, Values: Positions}
	agentName = input.Field{
		Name: "agent_name", Type: input.Name, Required: true, Max: record.MaxName, Placeholder: "<an agent's name>",
	}
	allocation = input.Field{
		Name: "allocation", Type: input.Integer, Required: true, Min: MinimumAllocation, Max: Cap,
	}
	roster = input.Field{
		Name: "roster", Type: input.Array, Required: true, Min: len(Positions), Max: len(Positions),
		Items: []input.Field{position, agentName, allocation}, QueryNames: Positions, QueryForm: SeatForm,
		Example: `[{"position":"rainmaker","agent_name":"ada","allocation":30},` +
			`{"position":"operator","agent_name":"bo","allocation":25},` +
			`{"position":"verifier","agent_name":"cy","allocation":20},` +
			`{"position":"scout","agent_name":"dee","allocation":15},` +
			`{"position":"treasurer","agent_name":"ed","allocation":10}]`,
	}

	Fields = []input.Field{OrgName, commissioner, roster, record.OwnerEmail}
)

type Answer struct {
	Chartered        bool    `json:"chartered" doc:"True: the charter is recorded. False on a dry run."`
	Charter          Charter `json:"charter" doc:"The charter as filed."`
	PayloadSHA256    string  `json:"payload_sha256" pattern:"^[0-9a-f]{64}$" doc:"Lower-case hexadecimal SHA-256 of canonical."`
	Canonical        string  `json:"canonical" doc:"The canonical string of the charter."`
	Canonicalization string  `json:"canonicalization" doc:"Identifier of the rule that canonical follows."`

	record.Members `flat:"true"`
}

type Charter struct {
	OrgName         string  `json:"org_name" doc:"As sent."`
	Commissioner    *string `json:"commissioner" doc:"As sent; null when absent."`
	Roster          []Seat  `json:"roster" doc:"The seats in canonical order."`
	TotalAllocation int     `json:"total_allocation" doc:"Sum of the allocations, in credit units."`
	Unallocated     int     `json:"unallocated" doc:"Unused part of the cap, in credit units."`
	Cap             int     `json:"cap" doc:"The cap, in credit units."`
}

type Seat struct {
	Position   string `json:"position" doc:"One of the five positions."`
	AgentName  string `json:"agent_name" doc:"As sent."`
	Allocation int    `json:"allocation" doc:"Allocation in credit units."`
}

func File(t *turn.Turn, in *input.Input) *turn.Response {
	name, head, email := in.Text(&OrgName), in.Text(&commissioner), in.Text(&record.OwnerEmail)
	seats, total := readRoster(in)
	if in.Total > 0 {
		return respond.Invalid(t, in)
	}
	roster := canon.Roster(seats)
	canonical := canon.Charter(name, head, roster)
	hash := sha256.HexOf(canonical)
	charter := &record.Record{
		Kind: record.Charter, Columns: "org_name, commissioner, roster",
		Values: []any{name, turn.TextOrNull(head), roster}, Hash: hash, Address: email,
	}
	return record.Answer(t, in, charter, func(w *jsondoc.Writer, stored *record.Stored) {
		w.Bool("chartered", !in.DryRun)
		w.Begin("charter", '{')
		w.Str("org_name", name)
		w.StrOrNull("commissioner", head)
		w.Raw("roster", roster)
		w.Int("total_allocation", total)
		w.Int("unallocated", Cap-total)
		w.Int("cap", Cap)
		w.Close('}')
		w.Str("payload_sha256", hash)
		w.Str("canonical", canonical)
		w.Str("canonicalization", canon.CharterRule)
		record.WriteMembers(t, w, in, stored)
	})
}

func readRoster(in *input.Input) (ordered []canon.Seat, total int64) {
	read := seatsOfBody
	if in.FromQuery {
		read = seatsOfQuery
	}
	seats := read(in)
	for _, seat := range seats {
		total += int64(max(seat.Allocation, 0))
	}
	if total > Cap {
		in.Add(roster.Name, OverCap, "the allocations add up to "+strconv.FormatInt(total, 10)+
			" credit units, but the cap is "+strconv.Itoa(Cap))
	}
	for _, name := range Positions {
		for _, seat := range seats {
			if seat.Position == name {
				ordered = append(ordered, seat)
			}
		}
	}
	return ordered, total
}

func seatsOfBody(in *input.Input) (seats []canon.Seat) {
	sent := in.Member(roster.Name)
	switch sent.Kind {
	case jsondoc.Array:
	case jsondoc.Absent, jsondoc.Null:
		in.Missing("roster is missing", &roster)
		return nil
	default:
		in.Mistyped(roster.Name, "an array", sent.Kind)
		return nil
	}
	if n := len(sent.Items); n != len(Positions) {
		in.Add(roster.Name, input.WrongCount,
			"must have exactly "+strconv.Itoa(len(Positions))+" entries, but has "+strconv.Itoa(n))
	}
	for _, entry := range in.Objects(&roster, roster.Items) {
		seats = append(seats, readSeat(entry, seats))
	}
	return seats
}

func readSeat(entry *input.Input, before []canon.Seat) (seat canon.Seat) {
	seat.Position = entry.Text(&position)
	taken := func(other canon.Seat) bool { return other.Position == seat.Position }
	switch {
	case seat.Position == "":
	case !slices.Contains(Positions, seat.Position):
		entry.Add(position.Name, UnknownPosition, input.OneOf(Positions, seat.Position))
	case slices.ContainsFunc(before, taken):
		entry.Add(position.Name, DuplicatePosition,
			seat.Position+" is used twice: each position must have exactly one seat")
	}
	seat.AgentName = entry.Text(&agentName)
	seat.Allocation = entry.Integer(&allocation)
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
		colon := strings.LastIndexByte(text, ':')
		digits := text[colon+1:]
		if _, isNumber := jsondoc.Integer(digits); colon < 0 || !isNumber {
			in.Add(name, input.BadForm, "is not a seat: "+form)
			continue
		}
		if seat.AgentName = text[:colon]; quote.Blank(seat.AgentName) {
			in.Add(name, input.Required, "the agent_name before the colon is missing or blank: "+form)
		} else {
			in.CheckText(&agentName, name, seat.AgentName)
		}
		if n, ok := input.ParseInteger(digits); !ok {
			in.Add(name, input.NotAnInteger,
				"the allocation must be a 32-bit integer, but is "+input.TruncateBytes(digits))
		} else if in.CheckMinimum(&allocation, name, n) {
			seat.Allocation = n
		}
		seats = append(seats, seat)
	}
	return seats
}
