package edgetest

import "strings"

// HeaderValues lists values for request header fields, and mistakes of callers and proxies. A value
// with LF is two lines.
var HeaderValues = func() []string {
	values := []string{"", `""`, `"`, `\`, `"\`, `"\"`, ",", ", ,", ";", "\n", "\x7f", "é", "\xff"}
	for _, value := range []string{
		"application/json", "text/plain", "identity", "gzip", "text/event-stream", "*", `"x"`, "no-cors", "prefetch", "0123456789abcdef",
		`"0123456789, abcdef"`, "2025-11-25", "2026-07-28", "tools/call", "service_register", "=?base64?c2VydmljZV9yZWdpc3Rlcg==?=",
	} {
		values = append(values, value, value+"\n"+value, value+"\nother", value+", "+value)
		values = append(values, value+",", `"`+value, value[:len(value)-1], strings.Repeat(value, 500))
	}
	return values
}()
