// The comparison of the calendars with outside sources: this module has the one that is in Go.
module calendars

go 1.26

require github.com/rickar/cal/v2 v2.1.13
