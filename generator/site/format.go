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

type format struct {
	ok   func(string) bool
	want string

	format, pattern string // keywords of JSON Schema
}

// publicKey is a format whose values no fault repeats, as they may be secrets.
const publicKey = "key"

var formats = map[string]format{
	"date": {ok: validDate, want: "want a date of the calendar: 2026-11-20", format: "date"},
	"time": {
		ok: validTime, want: "want RFC 3339 in UTC, whole seconds: 2026-11-20T12:00:00Z",
		format: "date-time",
	},
	"host": {ok: validHost, want: "want a bare host name in lower case: www.anteroom.example"},
	"email": {
		ok:   func(s string) bool { return input.ValidEmail(s) },
		want: "want a bare address: name@anteroom.example",
	},
	publicKey: {
		ok: validPublicKey,
		want: "want the public half as anteroom doctor prints it: 32 bytes in standard, padded " +
			"base64, 44 characters",
	},
	"indexnow-key": {
		ok:   regexp.MustCompile(`^[A-Za-z0-9-]{8,128}$`).MatchString,
		want: "want 8 to 128 letters, digits and hyphens",
	},
	"upstream": {ok: validUpstream, want: "want an https URL with a host name, or http or https on a loopback address"},
	"contact":  {ok: validContact, want: "want a URI: mailto:…, tel:… or https://…"},
	"url":      {ok: validURL, want: "want an https URL with a host name", format: "uri"},
	"id": {
		ok: validID, want: "want lower-case letters, digits and single hyphens",
		pattern: "^[a-z0-9]+(-[a-z0-9]+)*$",
	},
	"sha256": {ok: tlog.IsHash, want: "want 64 lower-case hex digits", pattern: "^[0-9a-f]{64}$"},
	"spdx":   {ok: regexp.MustCompile(`^[A-Za-z0-9.+-]+$`).MatchString, want: "want an SPDX identifier: CC-BY-4.0"},
	"prefix": {
		ok:   regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}_$`).MatchString,
		want: "want at most 32 lower-case letters, digits and underscores, with an underscore at the end: service_",
	},
	"languages": {
		ok:   regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*(, [A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*)*$`).MatchString,
		want: "want language tags with a comma and a space between: en, de",
	},
	"line": {ok: func(s string) bool { return !strings.ContainsAny(s, "\r\n\t") }, want: "want one line"},
}

func Keywords(name string) (format, pattern string) {
	f := formats[name]
	return f.format, f.pattern
}

// Wanted returns "" if a string is in the format, and a description of the format otherwise.
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

func validTime(s string) bool {
	_, err := time.Parse("2006-01-02T15:04:05Z", s)
	return err == nil && len(s) == len("2006-01-02T15:04:05Z") // Parse takes fractions of a second
}

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
)

func only(s, set string) bool { return strings.Trim(s, set) == "" }

func validID(s string) bool {
	return s != "" && only(s, lower+digits+"-") && !strings.Contains("-"+s+"-", "--")
}

// validHost accepts a domain name whose last label does not begin with a digit, so no IPv4 address.
func validHost(s string) bool {
	last := s[strings.LastIndexByte(s, '.')+1:]
	return len(s) <= 253 && s == strings.ToLower(s) && input.ValidDomain(s) && !only(last[:1], digits)
}

func validPublicKey(s string) bool {
	key, err := base64.StdEncoding.Strict().DecodeString(s)
	return err == nil && !strings.ContainsAny(s, "\r\n") && len(key) == 32 // the decoder skips line breaks
}

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

func validUpstream(s string) bool {
	if strings.ContainsRune(s, '#') {
		return false // a fragment is never sent
	}
	u, err := url.Parse(s)
	local := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && loopback(u.Hostname())
	return local || validURL(s)
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func validContact(s string) bool {
	if address, ok := strings.CutPrefix(s, "mailto:"); ok {
		return input.ValidEmail(address)
	}
	number, is := strings.CutPrefix(s, "tel:+")
	return validURL(s) || is && number != "" && only(number, digits+"-")
}
