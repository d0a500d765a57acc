package bizday_test

import (
	"fmt"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/turn"
)

// Two business days after 23 December 2026, on which New York and London are both open.
func ExampleCompute() {
	body, err := jsondoc.Parse([]byte(bizday.Example))
	if err != nil {
		fmt.Println(err)
		return
	}
	current := &turn.Turn{Snapshot: edgetest.Snapshot()}
	answer, err := jsondoc.Parse(bizday.Compute(current, input.New(body.Members)).Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bizday.Example)
	fmt.Println(answer.Get("result").Text)
	for _, skipped := range answer.Get("holidays_skipped").Items {
		fmt.Println(skipped.Get("date").Text, skipped.Get("calendar").Text, skipped.Get("name").Text)
	}
	// Output:
	// {"op":"add","calendar":"us-nyse,gb-eng","start":"2026-12-23","days":2}
	// 2026-12-29
	// 2026-12-25 us-nyse Christmas Day
	// 2026-12-25 gb-eng Christmas Day
	// 2026-12-28 gb-eng Boxing Day (substitute day)
}
