package site

import (
	"encoding/base64"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"anteroom/edge/civil"
	"anteroom/edge/input"
	"anteroom/generator/tlog"
)

// format is a rule for the text of one value.
type format struct {
	ok   func(string) bool
	want string // what a good one looks like, for the hint
}

// publicKey is the format of a public receipt key. A fault never repeats the value, because a
// secret key may be in its place.
const publicKey = "key"

// formats are the rules that a field can name, in the tag "is" of a content type or in the schema
// of a list.
var formats = map[string]format{
	"date":         {validDate, "want a date of the calendar: 2026-11-20"},
	"time":         {validTime, "want RFC 3339 in UTC, whole seconds: 2026-11-20T12:00:00Z"},
	"host":         {validHost, "want a bare host name in lower case: www.anteroom.example"},
	"email":        {func(s string) bool { return input.ValidEmail(s) }, "want a bare address: name@anteroom.example"},
	publicKey:      {validPublicKey, "want the public half as anteroom key public prints it: 32 bytes in standard, padded base64, 44 characters"},
	"indexnow-key": {regexp.MustCompile(`^[A-Za-z0-9-]{8,128}$`).MatchString, "want 8 to 128 letters, digits and hyphens"},
	"upstream":     {validUpstream, "want an absolute https URL, or http on a loopback address"},
	"contact":      {validContact, "want a URI: mailto:…, tel:… or https://…"},
	"url":          {validURL, "want an absolute https URL"},
	"id":           {validID, "want lower-case letters, digits and single hyphens"},
	"sha256":       {validSHA256, "want 64 lower-case hex digits"},
	"spdx":         {regexp.MustCompile(`^[A-Za-z0-9.+-]+$`).MatchString, "want an SPDX identifier: CC-BY-4.0"},
	"prefix": {
		regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}_$`).MatchString,
		"want lower-case letters, digits and underscores, with an underscore at the end: service_",
	},
	"languages": {
		regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*(, [A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*)*$`).MatchString,
		"want language tags with a comma and a space between: en, de",
	},
	"line": {func(s string) bool { return !strings.ContainsAny(s, "\r\n\t") }, "want one line"},
}

// Wanted says what a text of the named format looks like, and "" where s is one. The formats are
// those that the tag "is" of a content type names: host, email, id and so on.
func Wanted(format, s string) string {
	if rule := formats[format]; !rule.ok(s) {
		return rule.want
	}
	return ""
}

func validDate(s string) bool {
	_, ok := civil.ParseDate(s)
	return ok
}

// validTime takes RFC 3339 in UTC with whole seconds: the form in which the edge writes times.
func validTime(s string) bool {
	_, err := time.Parse("2006-01-02T15:04:05Z", s)
	return err == nil && len(s) == len("2006-01-02T15:04:05Z") // Parse takes fractions of a second too
}

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
)

// only reports whether s has no other characters than those of a set.
func only(s, set string) bool { return strings.Trim(s, set) == "" }

func validID(s string) bool {
	return s != "" && only(s, lower+digits+"-") && !strings.Contains("-"+s+"-", "--")
}

func validSHA256(s string) bool { return len(s) == 64 && only(s, digits+"abcdef") }

// validHost takes domain names in lower case. The last label does not begin with a digit, so that
// an IPv4 address is not one.
func validHost(s string) bool {
	last := s[strings.LastIndexByte(s, '.')+1:]
	return len(s) <= 253 && s == strings.ToLower(s) && input.ValidDomain(s) && !only(last[:1], digits)
}

// validPublicKey takes the base64 of a key that signatures can be by.
func validPublicKey(s string) bool {
	key, err := base64.StdEncoding.Strict().DecodeString(s)
	return err == nil && !strings.ContainsAny(s, "\r\n") && tlog.ValidKey(key) // the decoder skips line breaks
}

// validURL takes an absolute https URL without user information (RFC 3986), written in ASCII.
func validURL(s string) bool {
	rest, ok := strings.CutPrefix(s, "https://")
	if _, err := url.PathUnescape(rest); err != nil || !ok || strings.ContainsFunc(rest, notInURL) {
		return false
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	host, port, hasPort := strings.Cut(rest, ":")
	return validHost(host) && (!hasPort || port != "" && len(port) <= 5 && only(port, digits))
}

func notInURL(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune("\"<>\\^`{|}", c) }

// validUpstream takes an https URL, and an http URL whose host is a loopback address.
func validUpstream(s string) bool {
	if strings.ContainsRune(s, '#') {
		return false // a fragment is never sent
	}
	u, err := url.Parse(s)
	return validURL(s) || err == nil && u.Scheme == "http" && u.User == nil && loopback(u.Hostname())
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// validContact takes the URIs of a Contact field (RFC 9116, section 2.5.3).
func validContact(s string) bool {
	if address, ok := strings.CutPrefix(s, "mailto:"); ok {
		return input.ValidEmail(address)
	}
	number, is := strings.CutPrefix(s, "tel:+")
	return validURL(s) || is && number != "" && only(number, digits+"-")
}
