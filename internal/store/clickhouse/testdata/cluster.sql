CREATE DATABASE IF NOT EXISTS hone ON CLUSTER fleet;

CREATE TABLE IF NOT EXISTS hone.profiles_local ON CLUSTER fleet
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}')
PARTITION BY toYYYYMM(toDateTime(intDiv(start, 1000000000), 'UTC'))
ORDER BY (tenant, service, kind, start, id)
TTL toDateTime(intDiv(start, 1000000000), 'UTC') + INTERVAL 400 DAY
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS hone.profiles ON CLUSTER fleet AS hone.profiles_local
ENGINE = Distributed(fleet, hone, profiles_local, cityHash64(tenant, service));

CREATE TABLE IF NOT EXISTS hone.streams_local ON CLUSTER fleet
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
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}')
ORDER BY (tenant, service, kind, stream)
TTL toDateTime(intDiv(last, 1000000000), 'UTC') + INTERVAL 400 DAY
SETTINGS index_granularity = 8192;

CREATE TABLE IF NOT EXISTS hone.streams ON CLUSTER fleet AS hone.streams_local
ENGINE = Distributed(fleet, hone, streams_local, cityHash64(tenant, service));

CREATE TABLE IF NOT EXISTS hone.samples_local ON CLUSTER fleet
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
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}')
PARTITION BY toDate(hour, 'UTC')
ORDER BY (tenant, service, kind, hour, stack, key)
TTL hour + INTERVAL 7 DAY
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS hone.samples ON CLUSTER fleet AS hone.samples_local
ENGINE = Distributed(fleet, hone, samples_local, cityHash64(tenant, service));

CREATE TABLE IF NOT EXISTS hone.received_local ON CLUSTER fleet
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}', start)
ORDER BY (tenant, service, kind, stream, own)
TTL toDateTime(intDiv(start, 1000000000), 'UTC') + INTERVAL 7 DAY
SETTINGS index_granularity = 8192;

CREATE TABLE IF NOT EXISTS hone.received ON CLUSTER fleet AS hone.received_local
ENGINE = Distributed(fleet, hone, received_local, cityHash64(tenant, service));

CREATE TABLE IF NOT EXISTS hone.pinned_profiles_local ON CLUSTER fleet
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}')
ORDER BY (tenant, pin, service, kind, start, id)
SETTINGS index_granularity = 8192;

CREATE TABLE IF NOT EXISTS hone.pinned_profiles ON CLUSTER fleet AS hone.pinned_profiles_local
ENGINE = Distributed(fleet, hone, pinned_profiles_local, cityHash64(tenant, service));

CREATE TABLE IF NOT EXISTS hone.pinned_streams_local ON CLUSTER fleet
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
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}')
ORDER BY (tenant, pin, service, kind, stream)
SETTINGS index_granularity = 8192;

CREATE TABLE IF NOT EXISTS hone.pinned_streams ON CLUSTER fleet AS hone.pinned_streams_local
ENGINE = Distributed(fleet, hone, pinned_streams_local, cityHash64(tenant, service));

CREATE TABLE IF NOT EXISTS hone.pinned_samples_local ON CLUSTER fleet
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}')
ORDER BY (tenant, pin, service, kind, hour, stack, key, labels)
SETTINGS index_granularity = 8192;

CREATE TABLE IF NOT EXISTS hone.pinned_samples ON CLUSTER fleet AS hone.pinned_samples_local
ENGINE = Distributed(fleet, hone, pinned_samples_local, cityHash64(tenant, service));

CREATE TABLE IF NOT EXISTS hone.pinned_received_local ON CLUSTER fleet
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}')
ORDER BY (tenant, pin, service, kind, stream, id)
SETTINGS index_granularity = 8192;

CREATE TABLE IF NOT EXISTS hone.pinned_received ON CLUSTER fleet AS hone.pinned_received_local
ENGINE = Distributed(fleet, hone, pinned_received_local, cityHash64(tenant, service));

CREATE TABLE IF NOT EXISTS hone.samples_hour_local ON CLUSTER fleet
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
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}')
PARTITION BY toYYYYMM(hour, 'UTC')
ORDER BY (tenant, service, kind, hour, stack, labels, series)
TTL hour + INTERVAL 30 DAY
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS hone.samples_hour ON CLUSTER fleet AS hone.samples_hour_local
ENGINE = Distributed(fleet, hone, samples_hour_local, cityHash64(tenant, service));

CREATE TABLE IF NOT EXISTS hone.samples_day_local ON CLUSTER fleet
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
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}')
PARTITION BY toYYYYMM(day, 'UTC')
ORDER BY (tenant, service, kind, day, stack, labels, series)
TTL day + INTERVAL 400 DAY
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS hone.samples_day ON CLUSTER fleet AS hone.samples_day_local
ENGINE = Distributed(fleet, hone, samples_day_local, cityHash64(tenant, service));

CREATE TABLE IF NOT EXISTS hone.stacks_local ON CLUSTER fleet
(
    tenant LowCardinality(String),
    service LowCardinality(String),
    stack UInt64 CODEC(Delta, ZSTD),
    seen DateTime('UTC') DEFAULT now(),
    frames Array(UInt64) CODEC(ZSTD)
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}', seen)
ORDER BY (tenant, service, stack)
TTL seen + INTERVAL 430 DAY
SETTINGS index_granularity = 8192;

CREATE TABLE IF NOT EXISTS hone.stacks ON CLUSTER fleet AS hone.stacks_local
ENGINE = Distributed(fleet, hone, stacks_local, cityHash64(tenant, service));

CREATE TABLE IF NOT EXISTS hone.frames_local ON CLUSTER fleet
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}', seen)
ORDER BY (tenant, service, frame)
TTL seen + INTERVAL 430 DAY
SETTINGS index_granularity = 8192;

CREATE TABLE IF NOT EXISTS hone.frames ON CLUSTER fleet AS hone.frames_local
ENGINE = Distributed(fleet, hone, frames_local, cityHash64(tenant, service));

CREATE TABLE IF NOT EXISTS hone.sets_local ON CLUSTER fleet
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}', seen)
ORDER BY (tenant, service, labels)
TTL seen + INTERVAL 430 DAY
SETTINGS index_granularity = 8192;

CREATE TABLE IF NOT EXISTS hone.sets ON CLUSTER fleet AS hone.sets_local
ENGINE = Distributed(fleet, hone, sets_local, cityHash64(tenant, service));

CREATE TABLE IF NOT EXISTS hone.heads_local ON CLUSTER fleet
(
    tenant LowCardinality(String),
    service LowCardinality(String),
    head UInt64 CODEC(Delta, ZSTD),
    seen DateTime('UTC') DEFAULT now(),
    text String CODEC(ZSTD)
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}', seen)
ORDER BY (tenant, service, head)
TTL seen + INTERVAL 430 DAY
SETTINGS index_granularity = 8192;

CREATE TABLE IF NOT EXISTS hone.heads ON CLUSTER fleet AS hone.heads_local
ENGINE = Distributed(fleet, hone, heads_local, cityHash64(tenant, service));

CREATE TABLE IF NOT EXISTS hone.pins_local ON CLUSTER fleet
(
    tenant LowCardinality(String),
    name String,
    version UInt64,
    gone UInt8,
    pin String
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}', version)
ORDER BY (tenant, name)
SETTINGS index_granularity = 8192;

CREATE TABLE IF NOT EXISTS hone.pins ON CLUSTER fleet AS hone.pins_local
ENGINE = Distributed(fleet, hone, pins_local, cityHash64(tenant));

CREATE MATERIALIZED VIEW IF NOT EXISTS hone.samples_hour_view ON CLUSTER fleet TO hone.samples_hour_local AS
SELECT tenant, service, kind, hour AS hour, stack, labels, series, count() AS n, sumWithOverflow(toUInt32(key)) AS keys, sum(v0) AS v0, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM hone.samples_local WHERE empty(more) GROUP BY tenant, service, kind, hour, stack, labels, series;

CREATE MATERIALIZED VIEW IF NOT EXISTS hone.samples_day_view ON CLUSTER fleet TO hone.samples_day_local AS
SELECT tenant, service, kind, toStartOfDay(hour, 'UTC') AS day, stack, labels, series, count() AS n, sumWithOverflow(toUInt32(key)) AS keys, sum(v0) AS v0, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM hone.samples_local WHERE empty(more) GROUP BY tenant, service, kind, day, stack, labels, series;
