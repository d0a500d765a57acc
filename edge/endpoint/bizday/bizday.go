// Package bizday is the business-day calculator: arithmetic on civil dates by the rules of eleven
// calendars, from 2000 to 2050. It has no clock, and a computation has no effect.
package bizday

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/civil"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

const (
	// DataVersion is a date. It changes if, and only if, a closed day or its name does.
	DataVersion = "2026-08-20"
	Caveat      = "Laws change, and special holidays may be proclaimed after data_version. " +
		"Check what matters against the authority."
)

const UnknownCalendar = "unknown_calendar"

// The most holidays that an answer lists, and that one computation lists as skipped.
const MaxListed, MaxSkipped = 1000, 50

var (
	opField    = input.Field{Name: "op", Type: input.Name, Required: true, Values: opNames(), Example: `"add"`}
	calendarIn = input.Field{
		Name: "calendar", Type: input.List, Required: true, Values: IDs(), Example: `["us-nyse","gb-eng"]`,
	}
	date       = input.Field{Name: "date", Type: input.Date, Example: `"2026-12-25"`}
	start      = input.Field{Name: "start", Type: input.Date, Example: `"2026-12-23"`}
	end        = input.Field{Name: "end", Type: input.Date, Example: `"2027-01-04"`}
	days       = input.Field{Name: "days", Type: input.Integer, Example: `2`}
	convention = input.Field{
		Name: "convention", Type: input.Name, Values: conventionNames(), Example: `"modified-following"`,
	}
	yearField = input.Field{Name: "year", Type: input.Integer, Min: FirstYear, Max: LastYear, Example: `2026`}

	Fields = []input.Field{opField, calendarIn, date, start, end, days, convention, yearField}
)

var (
	Calendar = calendarIn.Name
	Applied  = convention.Name
)

const Example = `{"op":"add","calendar":"us-nyse,gb-eng","start":"2026-12-23","days":2}`

var BatchFields = []input.Field{requests}

var requests = input.Field{
	Name: "requests", Type: input.Array, Required: true, Min: 1, Max: 50, Same: "computeBusinessDays",
	Example: `[{"op":"is","calendar":"de","date":"2026-12-25"},{"op":"next","calendar":"de","date":"2026-12-25"}]`,
}

// MaxYears is the most years of calendars that one request may read: as many as one computation
// can.
var MaxYears = (LastYear - FirstYear + 1) * len(calendars)

func ChosenBatch(in *input.Input) bool { return in.Has(requests.Name) }

func Chosen(in *input.Input) bool {
	return slices.ContainsFunc(Fields, func(f input.Field) bool { return in.Has(f.Name) })
}

type Computed struct {
	Op           string    `json:"op" doc:"The operation."`
	Calendar     []string  `json:"calendar" doc:"The calendars. A business day is one in all of them."`
	Date         string    `json:"date,omitempty" format:"date" doc:"As sent."`
	Start        string    `json:"start,omitempty" format:"date" doc:"As sent."`
	End          string    `json:"end,omitempty" format:"date" doc:"As sent."`
	Days         int       `json:"days,omitempty" doc:"As sent."`
	Year         int       `json:"year,omitempty" doc:"As sent."`
	Convention   *string   `json:"convention" doc:"The applied convention; null if the operation applies none."`
	Result       []Holiday `json:"result" also:"boolean,integer,string" doc:"A boolean for is, an integer for count, the closed weekdays for holidays, a date for every other operation."`
	Holidays     *int      `json:"holidays_total,omitempty" doc:"For holidays: total number of closed weekdays. A request lists at most 1,000, the first ones."`
	Inclusive    *int      `json:"inclusive,omitempty" doc:"For count: the number with both ends included, negative if start is after end."`
	Skipped      []Holiday `json:"holidays_skipped" doc:"Closed weekdays that the result passed over, or for is, on the date itself; sorted by date, at most 50, none for holidays."`
	SkippedTotal int       `json:"holidays_skipped_total" doc:"Total number of holidays skipped."`
}

type Answer struct {
	Computed
	Basis `flat:"true"`
}

type BatchAnswer struct {
	Results []Computed `json:"results" doc:"The results, in the order of requests."`
	Basis   `flat:"true"`
}

type Basis struct {
	DataVersion   string   `json:"data_version" format:"date" doc:"Version of the closed days, a date. It changes only with a closed day or its name."`
	Caveat        string   `json:"caveat" doc:"The limits of the data."`
	IgnoredFields []string `json:"ignored_fields" total:"true" doc:"Sent names that the operation does not use."`
}

// Holiday is a weekday on which a calendar is closed.
type Holiday struct {
	Date     string `json:"date" format:"date" doc:"The date that is closed."`
	Name     string `json:"name" doc:"Reason in English; several reasons on one date are joined with and."`
	Calendar string `json:"calendar" doc:"The calendar. Joint calendars name a date once for each that is closed."`
}

type Operation struct {
	Name, What string
	reads      []*input.Field // in the order of the answer, after op and calendar
}

func (o Operation) Reads() (names []string) {
	for _, f := range o.reads {
		names = append(names, f.Name)
	}
	return names
}

func (o *Operation) needs() string {
	names := o.Reads()
	if slices.Contains(names, yearField.Name) {
		return yearField.Name + ", or " + start.Name + " and " + end.Name
	}
	optional := func(name string) bool { return name == convention.Name }
	return strings.Join(slices.DeleteFunc(names, optional), " and ")
}

var Operations = []Operation{
	{"is", "Is a date a business day?", []*input.Field{&date}},
	{"add", "Add business days to a date", []*input.Field{&start, &days, &convention}},
	{"count", "Count business days", []*input.Field{&start, &end}},
	{"next", "Find the next business day", []*input.Field{&date}},
	{"previous", "Find the previous business day", []*input.Field{&date}},
	{"roll", "Move a date to a business day", []*input.Field{&date, &convention}},
	{"holidays", "List holidays", []*input.Field{&start, &end, &yearField}},
}

func opNames() (names []string) {
	for i := range Operations {
		names = append(names, Operations[i].Name)
	}
	return names
}

type query struct {
	book
	op                     *Operation // nil if invalid
	date, start, end, days int
	year                   int // 0 if none was sent
	convention             string

	result    string // JSON text; "" for the operation holidays
	inclusive int
	from, to  int // the days [from, to) that the result passes over, or lists
}

func Compute(t *turn.Turn, in *input.Input) *turn.Response {
	var q query
	if q.run(in); in.Total > 0 {
		return respond.Invalid(t, in)
	}
	left := MaxListed
	return respond.OK(t, func(w *jsondoc.Writer) {
		q.write(w, &left)
		writeBasis(t, w, in)
	})
}

// ComputeBatch performs several computations, or none if one is invalid.
func ComputeBatch(t *turn.Turn, in *input.Input) *turn.Response {
	sent := in.Member(requests.Name)
	if sent.Kind != jsondoc.Array {
		in.Mistyped(requests.Name, "an array", sent.Kind)
	} else if n := len(sent.Items); n < requests.Min || n > requests.Max {
		in.Add(requests.Name, input.WrongCount, "must have "+strconv.Itoa(requests.Min)+" to "+
			strconv.Itoa(requests.Max)+" computations, but has "+strconv.Itoa(n))
	}
	if in.Total > 0 {
		return respond.Invalid(t, in)
	}
	queries, years := make([]query, 0, len(sent.Items)), 0
	for place, one := range in.Objects(&requests, Fields) {
		queries = append(queries, query{})
		q := &queries[len(queries)-1]
		q.run(one)
		if years += q.read; years > MaxYears {
			in.Add(place, input.TooMany, "brings the calendar years of this request to "+strconv.Itoa(years)+
				", more than the limit of "+strconv.Itoa(MaxYears)+": send it alone")
			break
		}
	}
	if in.Total > 0 {
		return respond.Invalid(t, in)
	}
	left := MaxListed
	return respond.OK(t, func(w *jsondoc.Writer) {
		w.Begin("results", '[')
		for i := range queries {
			w.Open('{')
			queries[i].write(w, &left)
			w.Close('}')
		}
		w.Close(']')
		writeBasis(t, w, in)
	})
}

func writeBasis(t *turn.Turn, w *jsondoc.Writer, in *input.Input) {
	w.Str("data_version", DataVersion)
	if !t.Embedded {
		w.Str("caveat", Caveat)
	}
	respond.WriteCapped(w, "ignored_fields", in.Ignored())
}

func (q *query) run(in *input.Input) {
	if name := in.Choice(&opField); name != "" {
		q.op = &Operations[slices.IndexFunc(Operations, func(o Operation) bool { return o.Name == name })]
		in.About = opField.Name + "=" + name
	}
	q.readCalendars(in)
	q.date, q.start, q.end = q.readDate(in, &date), q.readDate(in, &start), q.readDate(in, &end)
	q.readDays(in)
	q.readYear(in)
	if in.Total == 0 {
		q.compute(in)
	}
}

func (q *query) reads(f *input.Field) bool { return q.op == nil || slices.Contains(q.op.reads, f) }

func (q *query) missing(in *input.Input, detail string, fields ...*input.Field) {
	if q.op != nil {
		in.Missing(in.About+" needs "+q.op.needs()+": "+detail, fields...)
	}
}

func (q *query) readDate(in *input.Input, f *input.Field) int {
	if !q.reads(f) {
		return 0
	}
	day, ok := in.Date(f)
	switch orYear := q.reads(&yearField); {
	case ok && (day < firstDay || day > lastDay):
		in.Add(f.Name, input.OutOfRange, "must be "+theRange+", but is "+civil.FormatDate(day))
	case in.Sent(f) || orYear && in.Sent(&yearField):
	case orYear && !in.Sent(&start) && !in.Sent(&end):
		if f == &start { // one fault for all three
			q.missing(in, "none of them was sent", &yearField, &start, &end)
		}
	default:
		q.missing(in, f.Name+" is missing or blank", f)
	}
	return day
}

var theRange = "from " + civil.FormatDate(firstDay) + " to " + civil.FormatDate(lastDay)

func (q *query) readDays(in *input.Input) {
	ok := false
	if q.reads(&days) {
		if q.days, ok = in.Number(&days); !in.Sent(&days) {
			q.missing(in, days.Name+" is missing or blank", &days)
		}
	}
	if q.reads(&convention) && (!ok || q.days == 0) {
		q.convention = cmp.Or(in.Choice(&convention), Conventions[0].Name)
	}
}

func (q *query) readYear(in *input.Input) {
	if !q.reads(&yearField) {
		return
	}
	year, ok := in.Number(&yearField)
	switch {
	case ok && (year < FirstYear || year > LastYear):
		in.Add(yearField.Name, input.OutOfRange, "must be from "+strconv.Itoa(FirstYear)+" to "+
			strconv.Itoa(LastYear)+", but is "+strconv.Itoa(year))
	case ok:
		q.year = year
	}
	if q.op != nil && in.Sent(&yearField) && (in.Sent(&start) || in.Sent(&end)) {
		in.Add(yearField.Name, input.Conflict, "must not be sent with "+start.Name+" or "+end.Name)
	}
}

func (q *query) readCalendars(in *input.Input) {
	f := &calendarIn
	v := in.Member(f.Name)
	switch {
	case v.Kind == jsondoc.Array && len(v.Items) > 0:
		for i := range v.Items {
			place := f.Name + "[" + strconv.Itoa(i) + "]"
			if kind := v.Items[i].Kind; kind != jsondoc.String {
				in.Mistyped(place, "a string", kind)
				continue
			}
			q.addCalendar(in, place, v.Items[i].Text)
		}
	case v.Kind == jsondoc.Array || !in.Sent(f):
		needed := ": send one or several"
		if q.op != nil {
			needed = ": " + in.About + " needs one or several"
		}
		in.Missing(f.Name+" is missing or blank"+needed, f)
	case v.Kind != jsondoc.String:
		in.Mistyped(f.Name, "a string or an array of strings", v.Kind)
	default:
		for id := range strings.SplitSeq(v.Text, ",") {
			q.addCalendar(in, f.Name, id)
		}
	}
}

func (q *query) addCalendar(in *input.Input, place, id string) {
	id = strings.TrimSpace(id)
	i := slices.Index(calendarIn.Values, id)
	if i < 0 {
		in.Add(place, UnknownCalendar, input.OneOf(calendarIn.Values, id))
	} else if !slices.Contains(q.calendars, i) {
		q.calendars = append(q.calendars, i)
	}
}

func (q *query) compute(in *input.Input) {
	switch q.op.Name {
	case "is":
		q.result, q.from, q.to = strconv.FormatBool(q.open(q.date)), q.date, q.date+1
	case "count":
		first, last, sign := q.start, q.end, 1
		if first > last {
			first, last, sign = last, first, -1
		}
		n := q.count(first, last)
		q.result, q.from, q.to = strconv.Itoa(sign*n), first, last
		if q.open(last) {
			n++
		}
		q.inclusive = sign * n
	case "holidays":
		if q.year != 0 {
			q.start, q.end = civil.DaysOf(q.year, 1, 1), civil.DaysOf(q.year, 12, 31)
		}
		if q.start > q.end {
			in.Add(end.Name, input.OutOfRange, "must not be before start, and is "+civil.FormatDate(q.end))
		}
		q.from, q.to = q.start, q.end+1
		q.each(q.from, q.to, func(closing) {}) // reads the years
	case "add":
		if q.days == 0 {
			q.rollFrom(in, &start, q.start)
		} else {
			q.stepFrom(in, &days, q.start, q.days)
		}
	case "next":
		q.stepFrom(in, &date, q.date, 1)
	case "previous":
		q.stepFrom(in, &date, q.date, -1)
	case "roll":
		q.rollFrom(in, &date, q.date)
	}
}

func (q *query) stepFrom(in *input.Input, field *input.Field, origin, n int) {
	day, ok := q.add(origin, n)
	if q.found(in, field, day, ok) {
		q.from, q.to = min(origin+1, day), max(origin, day) // origin itself is not passed over
	}
}

func (q *query) rollFrom(in *input.Input, field *input.Field, origin int) {
	day, ok := q.roll(origin, q.convention)
	if q.found(in, field, day, ok) && q.open(day) { // an unadjusted day has passed over none
		q.from, q.to = min(origin, day), max(origin, day)+1
	}
}

func (q *query) found(in *input.Input, field *input.Field, day int, ok bool) bool {
	if !ok {
		in.Add(field.Name, input.OutOfRange, "takes the result outside the supported range, "+theRange)
	}
	q.result = `"` + civil.FormatDate(day) + `"`
	return ok
}

func (q *query) write(w *jsondoc.Writer, left *int) {
	w.Str("op", q.op.Name)
	w.Begin("calendar", '[')
	for _, c := range q.calendars {
		w.Item(calendars[c].id)
	}
	w.Close(']')
	for _, f := range q.op.reads {
		switch {
		case f == &date:
			w.Str(f.Name, civil.FormatDate(q.date))
		case f == &start && q.year == 0:
			w.Str(f.Name, civil.FormatDate(q.start))
		case f == &end && q.year == 0:
			w.Str(f.Name, civil.FormatDate(q.end))
		case f == &days:
			w.Int(f.Name, int64(q.days))
		case f == &yearField && q.year != 0:
			w.Int(f.Name, int64(q.year))
		}
	}
	w.StrOrNull("convention", q.convention)
	if q.op.Name == "holidays" {
		w.Int("holidays_total", int64(q.writeHolidays(w, "result", MaxListed, left)))
		q.to = q.from
	} else {
		w.Raw("result", q.result)
	}
	if q.op.Name == "count" {
		w.Int("inclusive", int64(q.inclusive))
	}
	w.Int("holidays_skipped_total", int64(q.writeHolidays(w, "holidays_skipped", MaxSkipped, left)))
}

func (q *query) writeHolidays(w *jsondoc.Writer, name string, most int, left *int) (total int) {
	w.Begin(name, '[')
	q.each(q.from, q.to, func(c closing) {
		if total++; total > most || *left == 0 {
			return
		}
		*left--
		w.Open('{')
		w.Str("date", civil.FormatDate(c.day))
		w.Str("name", c.name)
		w.Str("calendar", calendars[c.calendar].id)
		w.Close('}')
	})
	w.Close(']')
	return total
}
