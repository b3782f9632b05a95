CREATE DATABASE IF NOT EXISTS hone;

CREATE TABLE IF NOT EXISTS hone.profiles
(
    tenant LowCardinality(String),
    service LowCardinality(String),
    kind LowCardinality(String),
    stream UInt64 CODEC(ZSTD),
    start Int64 CODEC(Delta, ZSTD),
    id FixedString(16),
    key UInt64 CODEC(ZSTD),
    end Int64 CODEC(Delta, ZSTD),
    counters UInt8,
    clock UInt8,
    head UInt64 CODEC(ZSTD),
    time Int64 CODEC(Delta, ZSTD),
    duration Int64 CODEC(ZSTD),
    rows UInt64 CODEC(ZSTD),
    series UInt64 CODEC(ZSTD),
    totals Array(Int64) CODEC(ZSTD),
    at DateTime64(9, 'UTC') ALIAS fromUnixTimestamp64Nano(start, 'UTC'),
    INDEX ids id TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree()
PARTITION BY toYYYYMM(toDateTime(intDiv(start, 1000000000), 'UTC'))
ORDER BY (tenant, service, kind, start, id)
TTL toDateTime(intDiv(start, 1000000000), 'UTC') + INTERVAL 400 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1, ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS hone.streams
(
    tenant LowCardinality(String),
    service LowCardinality(String),
    kind LowCardinality(String),
    stream UInt64 CODEC(ZSTD),
    names Array(LowCardinality(String)),
    values Array(String),
    row_names Array(LowCardinality(String)),
    row_values Array(String),
    types Array(String),
    first SimpleAggregateFunction(min, Int64),
    last SimpleAggregateFunction(max, Int64),
    labels Map(String, String) ALIAS mapFromArrays(arrayConcat(names, row_names), arrayConcat(values, row_values))
)
ENGINE = AggregatingMergeTree()
ORDER BY (tenant, service, kind, stream)
TTL toDateTime(intDiv(last, 1000000000), 'UTC') + INTERVAL 400 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS hone.samples
(
    tenant LowCardinality(String),
    service LowCardinality(String),
    kind LowCardinality(String),
    hour DateTime('UTC') CODEC(Delta, ZSTD),
    stack UInt64 CODEC(Delta, ZSTD),
    key UInt64 CODEC(ZSTD),
    labels UInt64 CODEC(ZSTD),
    series UInt64 CODEC(ZSTD),
    v0 Int64 CODEC(ZSTD(3)),
    v1 Int64 CODEC(ZSTD),
    v2 Int64 CODEC(ZSTD(3)),
    v3 Int64 CODEC(ZSTD),
    more Array(Int64) CODEC(ZSTD)
)
ENGINE = MergeTree()
PARTITION BY toDate(hour, 'UTC')
ORDER BY (tenant, service, kind, hour, stack, key)
TTL hour + INTERVAL 7 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1, ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS hone.received
(
    tenant LowCardinality(String),
    service LowCardinality(String),
    kind LowCardinality(String),
    stream UInt64 CODEC(ZSTD),
    own String,
    start Int64 CODEC(Delta, ZSTD),
    id FixedString(16),
    bytes String CODEC(LZ4)
)
ENGINE = ReplacingMergeTree(start)
ORDER BY (tenant, service, kind, stream, own)
TTL toDateTime(intDiv(start, 1000000000), 'UTC') + INTERVAL 7 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS hone.pinned_profiles
(
    pin String,
    tenant LowCardinality(String),
    service LowCardinality(String),
    kind LowCardinality(String),
    stream UInt64 CODEC(ZSTD),
    start Int64 CODEC(Delta, ZSTD),
    id FixedString(16),
    key UInt64 CODEC(ZSTD),
    end Int64 CODEC(Delta, ZSTD),
    counters UInt8,
    clock UInt8,
    head UInt64 CODEC(ZSTD),
    time Int64 CODEC(Delta, ZSTD),
    duration Int64 CODEC(ZSTD),
    rows UInt64 CODEC(ZSTD),
    series UInt64 CODEC(ZSTD),
    totals Array(Int64) CODEC(ZSTD),
    at DateTime64(9, 'UTC') ALIAS fromUnixTimestamp64Nano(start, 'UTC'),
    INDEX ids id TYPE bloom_filter GRANULARITY 1,
    baseline UInt8
)
ENGINE = ReplacingMergeTree()
ORDER BY (tenant, pin, service, kind, start, id)
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS hone.pinned_streams
(
    pin String,
    tenant LowCardinality(String),
    service LowCardinality(String),
    kind LowCardinality(String),
    stream UInt64 CODEC(ZSTD),
    names Array(LowCardinality(String)),
    values Array(String),
    row_names Array(LowCardinality(String)),
    row_values Array(String),
    types Array(String),
    first SimpleAggregateFunction(min, Int64),
    last SimpleAggregateFunction(max, Int64),
    labels Map(String, String) ALIAS mapFromArrays(arrayConcat(names, row_names), arrayConcat(values, row_values))
)
ENGINE = AggregatingMergeTree()
ORDER BY (tenant, pin, service, kind, stream)
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS hone.pinned_samples
(
    pin String,
    tenant LowCardinality(String),
    service LowCardinality(String),
    kind LowCardinality(String),
    hour DateTime('UTC') CODEC(Delta, ZSTD),
    stack UInt64 CODEC(Delta, ZSTD),
    key UInt64 CODEC(ZSTD),
    labels UInt64 CODEC(ZSTD),
    series UInt64 CODEC(ZSTD),
    v0 Int64 CODEC(ZSTD(3)),
    v1 Int64 CODEC(ZSTD),
    v2 Int64 CODEC(ZSTD(3)),
    v3 Int64 CODEC(ZSTD),
    more Array(Int64) CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree()
ORDER BY (tenant, pin, service, kind, hour, stack, key, labels)
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS hone.pinned_received
(
    pin String,
    tenant LowCardinality(String),
    service LowCardinality(String),
    kind LowCardinality(String),
    stream UInt64 CODEC(ZSTD),
    own String,
    start Int64 CODEC(Delta, ZSTD),
    id FixedString(16),
    bytes String CODEC(LZ4)
)
ENGINE = ReplacingMergeTree()
ORDER BY (tenant, pin, service, kind, stream, id)
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS hone.samples_hour
(
    tenant LowCardinality(String),
    service LowCardinality(String),
    kind LowCardinality(String),
    hour DateTime('UTC') CODEC(Delta, ZSTD),
    stack UInt64 CODEC(Delta, ZSTD),
    labels UInt64 CODEC(ZSTD),
    series UInt64 CODEC(ZSTD),
    n SimpleAggregateFunction(sum, UInt64) CODEC(ZSTD),
    keys SimpleAggregateFunction(sumWithOverflow, UInt32) CODEC(ZSTD),
    v0 SimpleAggregateFunction(sum, Int64) CODEC(ZSTD),
    v1 SimpleAggregateFunction(sum, Int64) CODEC(ZSTD),
    v2 SimpleAggregateFunction(sum, Int64) CODEC(ZSTD),
    v3 SimpleAggregateFunction(sum, Int64) CODEC(ZSTD)
)
ENGINE = AggregatingMergeTree()
PARTITION BY toYYYYMM(hour, 'UTC')
ORDER BY (tenant, service, kind, hour, stack, labels, series)
TTL hour + INTERVAL 30 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1, ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS hone.samples_day
(
    tenant LowCardinality(String),
    service LowCardinality(String),
    kind LowCardinality(String),
    day DateTime('UTC') CODEC(Delta, ZSTD),
    stack UInt64 CODEC(Delta, ZSTD),
    labels UInt64 CODEC(ZSTD),
    series UInt64 CODEC(ZSTD),
    n SimpleAggregateFunction(sum, UInt64) CODEC(ZSTD),
    keys SimpleAggregateFunction(sumWithOverflow, UInt32) CODEC(ZSTD),
    v0 SimpleAggregateFunction(sum, Int64) CODEC(ZSTD),
    v1 SimpleAggregateFunction(sum, Int64) CODEC(ZSTD),
    v2 SimpleAggregateFunction(sum, Int64) CODEC(ZSTD),
    v3 SimpleAggregateFunction(sum, Int64) CODEC(ZSTD)
)
ENGINE = AggregatingMergeTree()
PARTITION BY toYYYYMM(day, 'UTC')
ORDER BY (tenant, service, kind, day, stack, labels, series)
TTL day + INTERVAL 400 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1, ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS hone.stacks
(
    tenant LowCardinality(String),
    service LowCardinality(String),
    stack UInt64 CODEC(Delta, ZSTD),
    seen DateTime('UTC') DEFAULT now(),
    frames Array(UInt64) CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree(seen)
ORDER BY (tenant, service, stack)
TTL seen + INTERVAL 430 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS hone.frames
(
    tenant LowCardinality(String),
    service LowCardinality(String),
    frame UInt64 CODEC(Delta, ZSTD),
    seen DateTime('UTC') DEFAULT now(),
    folded UInt8,
    address UInt64 CODEC(ZSTD),
    mapped UInt8,
    file LowCardinality(String),
    build LowCardinality(String),
    mapping Array(UInt64) CODEC(ZSTD),
    functions Array(String) CODEC(ZSTD),
    systems Array(String) CODEC(ZSTD),
    files Array(String) CODEC(ZSTD),
    starts Array(Int64) CODEC(ZSTD),
    lines Array(Int64) CODEC(ZSTD),
    columns Array(Int64) CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree(seen)
ORDER BY (tenant, service, frame)
TTL seen + INTERVAL 430 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS hone.sets
(
    tenant LowCardinality(String),
    service LowCardinality(String),
    labels UInt64 CODEC(Delta, ZSTD),
    seen DateTime('UTC') DEFAULT now(),
    keys Array(String) CODEC(ZSTD),
    texts Array(String) CODEC(ZSTD),
    kinds Array(Int64) CODEC(ZSTD),
    numbers Array(Int64) CODEC(ZSTD),
    units Array(String) CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree(seen)
ORDER BY (tenant, service, labels)
TTL seen + INTERVAL 430 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS hone.heads
(
    tenant LowCardinality(String),
    service LowCardinality(String),
    head UInt64 CODEC(Delta, ZSTD),
    seen DateTime('UTC') DEFAULT now(),
    text String CODEC(ZSTD)
)
ENGINE = ReplacingMergeTree(seen)
ORDER BY (tenant, service, head)
TTL seen + INTERVAL 430 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS hone.pins
(
    tenant LowCardinality(String),
    name String,
    version UInt64,
    gone UInt8,
    pin String
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (tenant, name)
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS hone.samples_hour_view TO hone.samples_hour AS
SELECT tenant, service, kind, hour AS hour, stack, labels, series, count() AS n, sumWithOverflow(toUInt32(key)) AS keys, sum(v0) AS v0, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM hone.samples WHERE empty(more) GROUP BY tenant, service, kind, hour, stack, labels, series;

CREATE MATERIALIZED VIEW IF NOT EXISTS hone.samples_day_view TO hone.samples_day AS
SELECT tenant, service, kind, toStartOfDay(hour, 'UTC') AS day, stack, labels, series, count() AS n, sumWithOverflow(toUInt32(key)) AS keys, sum(v0) AS v0, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM hone.samples WHERE empty(more) GROUP BY tenant, service, kind, day, stack, labels, series;
