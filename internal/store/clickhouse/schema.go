package clickhouse

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Layout says how tables are made. How long things are kept counts from the time of profiles, and 0 is for ever.
type Layout struct {
	Cluster string        // in which tables are replicated and distributed; "" is one node
	Keep    time.Duration // samples of single profiles
	Hours   time.Duration // sums of hours
	Days    time.Duration // sums of days, profiles and their totals, and what samples refer to
}

// DefaultLayout keeps a week of profiles, a month of hours, and a little more than a year of days.
func DefaultLayout() Layout {
	const day = 24 * time.Hour
	return Layout{Keep: 7 * day, Hours: 30 * day, Days: 400 * day}
}

// A table is one of the schema. docs/format/store-clickhouse.md says what is in each.
type table struct {
	name      string
	columns   []string
	engine    string // of the MergeTree family, without Replicated
	arguments string // of the engine
	partition string
	order     string
	expires   string // the time that counts
	keep      time.Duration
	whole     bool // parts go as a whole when all in them has expired
	shard     string
}

// A view puts what is inserted into one table, summed up, into another.
type view struct{ name, from, to, query string }

const (
	texts  = "LowCardinality(String)"
	hash   = "UInt64 CODEC(ZSTD)"
	sorted = "UInt64 CODEC(Delta, ZSTD)"
	values = "Int64 CODEC(ZSTD)"
	moment = "Int64 CODEC(Delta, ZSTD)"
	// Where profiles have two values or four, the first of each two is a number of things, such as objects. That of ZSTD that looks further
	// takes a third off these; of bytes and times, it makes nothing smaller.
	numbers = "Int64 CODEC(ZSTD(3))"
)

// pinnedPrefix begins the names of tables of what pins keep.
const pinnedPrefix = "pinned_"

// columnsOfValues is how many values of a sample have columns of their own. Most profiles have no more; others are in an array.
const columnsOfValues = 4

func (l Layout) tables() []table {
	service := []string{"tenant " + texts, "service " + texts}
	kind := append(service[:2:2], "kind "+texts)
	with := func(head []string, more ...string) []string { return append(head[:len(head):len(head)], more...) }
	const shard = "cityHash64(tenant, service)" // all of a service on one shard
	sums := func(name, step, partition string, keep time.Duration) table {
		sum := "SimpleAggregateFunction(sum, Int64) CODEC(ZSTD)"
		return table{
			name: name,
			columns: with(kind, step+" DateTime('UTC') CODEC(Delta, ZSTD)", "stack "+sorted, "labels "+hash, "series "+hash,
				"n SimpleAggregateFunction(sum, UInt64) CODEC(ZSTD)", "keys SimpleAggregateFunction(sumWithOverflow, UInt32) CODEC(ZSTD)",
				"v0 "+sum, "v1 "+sum, "v2 "+sum, "v3 "+sum),
			engine: "AggregatingMergeTree", partition: partition, order: "tenant, service, kind, " + step + ", stack, labels, series",
			expires: step, keep: keep, whole: true, shard: shard,
		}
	}
	// What samples refer to is written again each day that it is seen, and kept as long as anything that may refer to it.
	refer := func(name, id string, columns ...string) table {
		return table{
			name: name, columns: append(with(service, id+" "+sorted, "seen DateTime('UTC') DEFAULT now()"), columns...),
			engine: "ReplacingMergeTree", arguments: "seen", order: "tenant, service, " + id,
			expires: "seen", keep: l.referred(), shard: shard,
		}
	}
	list := []table{{
		name: "profiles",
		columns: with(kind, "stream "+hash, "start "+moment, "id FixedString(16)", "key "+hash, "end "+moment,
			"counters UInt8", "clock UInt8", "head "+hash, "time "+moment, "duration "+values, "rows UInt64 CODEC(ZSTD)", "series "+hash,
			"totals Array(Int64) CODEC(ZSTD)", "at DateTime64(9, 'UTC') ALIAS fromUnixTimestamp64Nano(start, 'UTC')",
			"INDEX ids id TYPE bloom_filter GRANULARITY 1"),
		engine: "ReplacingMergeTree", partition: "toYYYYMM(toDateTime(intDiv(start, 1000000000), 'UTC'))",
		order:   "tenant, service, kind, start, id",
		expires: "toDateTime(intDiv(start, 1000000000), 'UTC')", keep: l.Days, whole: true, shard: shard,
	}, {
		name: "streams",
		columns: with(kind, "stream "+hash, "names Array("+texts+")", "values Array(String)", "row_names Array("+texts+")", "row_values Array(String)", "types Array(String)",
			"first SimpleAggregateFunction(min, Int64)", "last SimpleAggregateFunction(max, Int64)",
			"labels Map(String, String) ALIAS mapFromArrays(arrayConcat(names, row_names), arrayConcat(values, row_values))"),
		engine: "AggregatingMergeTree", order: "tenant, service, kind, stream",
		expires: "toDateTime(intDiv(last, 1000000000), 'UTC')", keep: l.Days, shard: shard,
	}, {
		name: "samples",
		columns: with(kind, "hour DateTime('UTC') CODEC(Delta, ZSTD)", "stack "+sorted, "key "+hash, "labels "+hash, "series "+hash,
			"v0 "+numbers, "v1 "+values, "v2 "+numbers, "v3 "+values, "more Array(Int64) CODEC(ZSTD)"),
		engine: "MergeTree", partition: "toDate(hour, 'UTC')", order: "tenant, service, kind, hour, stack, key",
		expires: "hour", keep: l.Keep, whole: true, shard: shard,
	}, {
		// A newer profile of the same stream replaces an older one, but none that a pin names: own is its ID, and empty for the others.
		name:    "received",
		columns: with(kind, "stream "+hash, "own String", "start "+moment, "id FixedString(16)", "bytes String CODEC(LZ4)"),
		engine:  "ReplacingMergeTree", arguments: "start", order: "tenant, service, kind, stream, own",
		expires: "toDateTime(intDiv(start, 1000000000), 'UTC')", keep: l.Keep, shard: shard,
	}}
	// What pins keep is copied to tables of their own, which nothing expires from. A copy is made more than once, and replaces itself.
	var pinned []table
	for _, t := range list {
		pinned = append(pinned, table{
			name: pinnedPrefix + t.name, columns: append([]string{"pin String"}, t.columns...), engine: "ReplacingMergeTree",
			order: strings.Replace(t.order, "tenant, ", "tenant, pin, ", 1), shard: shard,
		})
	}
	for i := range pinned {
		switch pinned[i].name {
		case pinnedPrefix + "profiles":
			pinned[i].columns = append(pinned[i].columns, "baseline UInt8") // it is only what counters of the pin are compared with
		case pinnedPrefix + "samples":
			pinned[i].order += ", labels" // tells samples of a profile apart
		case pinnedPrefix + "streams":
			pinned[i].engine = "AggregatingMergeTree" // of copies, the first and last times count, whichever came last
		case pinnedPrefix + "received":
			pinned[i].order = "tenant, pin, service, kind, stream, id"
		}
	}
	list = append(list, pinned...)
	return append(list,
		sums("samples_hour", "hour", "toYYYYMM(hour, 'UTC')", l.Hours),
		sums("samples_day", "day", "toYYYYMM(day, 'UTC')", l.Days),
		refer("stacks", "stack", "frames Array(UInt64) CODEC(ZSTD)"),
		refer("frames", "frame", "folded UInt8", "address UInt64 CODEC(ZSTD)", "mapped UInt8", "file "+texts, "build "+texts,
			"mapping Array(UInt64) CODEC(ZSTD)", "functions Array(String) CODEC(ZSTD)", "systems Array(String) CODEC(ZSTD)",
			"files Array(String) CODEC(ZSTD)", "starts Array(Int64) CODEC(ZSTD)", "lines Array(Int64) CODEC(ZSTD)", "columns Array(Int64) CODEC(ZSTD)"),
		refer("sets", "labels", "keys Array(String) CODEC(ZSTD)", "texts Array(String) CODEC(ZSTD)", "kinds Array(Int64) CODEC(ZSTD)",
			"numbers Array(Int64) CODEC(ZSTD)", "units Array(String) CODEC(ZSTD)"),
		refer("heads", "head", "text String CODEC(ZSTD)"),
		table{
			name:    "pins",
			columns: []string{"tenant " + texts, "name String", "version UInt64", "gone UInt8", "pin String"},
			engine:  "ReplacingMergeTree", arguments: "version", order: "tenant, name", shard: "cityHash64(tenant)",
		},
	)
}

// referred returns how long after it was seen something may be referred to: profiles can be a little older than what they are
// written with.
func (l Layout) referred() time.Duration {
	if l.Keep == 0 || l.Hours == 0 || l.Days == 0 {
		return 0
	}
	return max(l.Keep, l.Hours, l.Days) + 30*24*time.Hour
}

func (l Layout) views() []view {
	sums := func(to, step, round string) view {
		return view{
			name: to + "_view", from: "samples", to: to,
			query: "SELECT tenant, service, kind, " + round + " AS " + step + ", stack, labels, series, count() AS n, sumWithOverflow(toUInt32(key)) AS keys," +
				" sum(v0) AS v0, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3" +
				" FROM %s WHERE empty(more) GROUP BY tenant, service, kind, " + step + ", stack, labels, series",
		}
	}
	return []view{sums("samples_hour", "hour", "hour"), sums("samples_day", "day", "toStartOfDay(hour, 'UTC')")}
}

// Statements returns what makes the tables in a database where they are not there yet.
func (l Layout) Statements(database string) []string {
	on, local := "", ""
	if l.Cluster != "" {
		on, local = " ON CLUSTER "+l.Cluster, "_local"
	}
	out := []string{"CREATE DATABASE IF NOT EXISTS " + database + on}
	for _, t := range l.tables() {
		own := database + "." + t.name + local
		out = append(out, t.statement(own, on))
		if l.Cluster != "" {
			out = append(out, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s.%s%s AS %s\nENGINE = Distributed(%s, %s, %s, %s)",
				database, t.name, on, own, l.Cluster, database, t.name+local, t.shard))
		}
	}
	for _, v := range l.views() {
		out = append(out, fmt.Sprintf("CREATE MATERIALIZED VIEW IF NOT EXISTS %s.%s%s TO %s.%s AS\n%s",
			database, v.name, on, database, v.to+local, fmt.Sprintf(v.query, database+"."+v.from+local)))
	}
	return out
}

// additions returns what adds columns that a database of an earlier version of hone lacks. There are the columns of each of its tables.
func (l Layout) additions(database string, there map[string][]string) []string {
	var out []string
	for _, t := range l.tables() {
		var add []string
		for _, c := range t.columns {
			name, _, _ := strings.Cut(c, " ")
			if name != "INDEX" && !slices.Contains(there[t.name], name) {
				add = append(add, "ADD COLUMN IF NOT EXISTS "+c)
			}
		}
		if len(add) == 0 || there[t.name] == nil {
			continue
		}
		change := " " + strings.Join(add, ", ")
		if l.Cluster == "" {
			out = append(out, "ALTER TABLE "+database+"."+t.name+change)
			continue
		}
		// The tables that hold the rows come first: the others send what is inserted on to them.
		for _, suffix := range []string{"_local", ""} {
			out = append(out, "ALTER TABLE "+database+"."+t.name+suffix+" ON CLUSTER "+l.Cluster+change)
		}
	}
	return out
}

// statement returns what makes the table itself, on one node or on each of a cluster.
func (t *table) statement(name, on string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s%s\n(\n    %s\n)\n", name, on, strings.Join(t.columns, ",\n    "))
	settings := []string{"index_granularity = 8192"}
	if on == "" {
		// An insert is answered when it is on disk, and known for a while when it is sent again.
		settings = append(settings, "non_replicated_deduplication_window = 1000", "fsync_after_insert = 1", "fsync_part_directory = 1")
		fmt.Fprintf(&b, "ENGINE = %s(%s)\n", t.engine, t.arguments)
	} else {
		more := ""
		if t.arguments != "" {
			more = ", " + t.arguments
		}
		fmt.Fprintf(&b, "ENGINE = Replicated%s('/clickhouse/tables/{uuid}/{shard}', '{replica}'%s)\n", t.engine, more)
	}
	if t.partition != "" {
		fmt.Fprintf(&b, "PARTITION BY %s\n", t.partition)
	}
	fmt.Fprintf(&b, "ORDER BY (%s)\n", t.order)
	if t.keep > 0 {
		fmt.Fprintf(&b, "TTL %s + INTERVAL %d DAY\n", t.expires, t.keep/(24*time.Hour))
		if t.whole {
			settings = append(settings, "ttl_only_drop_parts = 1")
		}
	}
	fmt.Fprintf(&b, "SETTINGS %s", strings.Join(settings, ", "))
	return b.String()
}
