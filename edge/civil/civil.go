// Package civil converts between civil dates and times and numbers of days and seconds: UTC, whole
// seconds, the proleptic Gregorian calendar (ISO 8601), years 1 to 9999. It has no clock.
package civil

const secondsPerDay = 86400

// DaysOf returns the days from 1970-01-01 to a civil date, negative before it.
func DaysOf(year, month, day int) int {
	if month <= 2 {
		year--
		month += 12
	}
	era := year / 400
	ofEra := year - era*400
	ofYear := (153*(month-3)+2)/5 + day - 1
	return era*146097 + ofEra*365 + ofEra/4 - ofEra/100 + ofYear - 719468
}

// DateOf is the inverse of DaysOf.
func DateOf(days int) (year, month, day int) {
	days += 719468
	era := days / 146097
	ofEra := days - era*146097
	year = (ofEra - ofEra/1460 + ofEra/36524 - ofEra/146096) / 365
	ofYear := ofEra - (365*year + year/4 - year/100)
	month = (5*ofYear + 2) / 153
	day = ofYear - (153*month+2)/5 + 1
	if month < 10 {
		month += 3
	} else {
		month -= 9
	}
	year += era * 400
	if month <= 2 {
		year++
	}
	return year, month, day
}

// ParseDate parses YYYY-MM-DD into days since 1970-01-01.
func ParseDate(s string) (days int, ok bool) {
	if len(s) != 10 {
		return 0, false
	}
	number := 0 // only the digits: 20261120
	for i, c := range []byte(s) {
		separator := i == 4 || i == 7
		switch {
		case separator && c == '-':
		case separator || c < '0' || c > '9':
			return 0, false
		default:
			number = 10*number + int(c-'0')
		}
	}
	year, month, day := number/10000, number/100%100, number%100
	if year < 1 || month < 1 || month > 12 {
		return 0, false
	}
	days = DaysOf(year, month, day)
	y, m, d := DateOf(days)
	return days, y == year && m == month && d == day
}

// FormatDate formats days since 1970-01-01 as YYYY-MM-DD.
func FormatDate(days int) string {
	return string(appendDate(make([]byte, 0, 10), days))
}

// FormatTime formats seconds since 1970-01-01T00:00:00Z as RFC 3339 in UTC: 2026-11-20T12:00:00Z.
func FormatTime(seconds int64) string {
	second := int(seconds % secondsPerDay)
	b := append(appendDate(make([]byte, 0, 20), int(seconds/secondsPerDay)), 'T')
	b = append(appendTwo(b, second/3600), ':')
	b = append(appendTwo(b, second/60%60), ':')
	return string(append(appendTwo(b, second%60), 'Z'))
}

func appendDate(b []byte, days int) []byte {
	year, month, day := DateOf(days)
	b = appendTwo(appendTwo(b, year/100), year%100)
	b = appendTwo(append(b, '-'), month)
	return appendTwo(append(b, '-'), day)
}

func appendTwo(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }
