import { estimateBytes } from "../values/estimateBytes.ts";

/** A record of a log. The library defines all kinds. A storage handles records as plain JSON. */
export interface LogRecord {
  readonly kind: string;
}

/** An append: records that are stored together, completely or not at all. One checksum covers all records. */
export interface Entry {
  /** The number of the append, from 1. Numbers are missing only after a pruning. */
  readonly position: number;
  readonly generation: number;
  readonly id: string;
  readonly records: readonly LogRecord[];
  /** SHA-256 of the stored form, in base64url. */
  readonly checksum: string;
  readonly prev: string;
}

const envelopeBytes = 120;

/** Returns the approximate size of an append. Does not count records that a pruning repeats from earlier appends. */
export function entryBytes(records: readonly LogRecord[]): number {
  return (
    envelopeBytes +
    estimateBytes(records.map((record) => (record.kind === "pruned" ? { ...record, restated: [] } : record)))
  );
}

/**
 * The version of the stored format, for log lines and whole checkpoints. Newer versions are rejected, older logs are
 * read and continued. Version 2 adds branches and sub-agents.
 */
export const formatVersion = 2;

/** An incomplete append at the end of a log, after a crash or damage. Readers skip this unconfirmed append. */
export interface TornTail {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly bytes: number;
}

/** A range of removed appends. The checksums on both sides show that no other appends are missing. */
export interface PrunedGap {
  readonly first: number;
  /** The last removed position, inclusive. */
  readonly last: number;
  /** The checksum of the append before the gap. Empty at the start of the log. */
  readonly before: string;
  /** The checksum of the last removed append, which the next append refers to as `prev`. */
  readonly after: string;
}

/** Returns the removed ranges of `pruned` records. Skips malformed records. */
export function prunedGapsOf(records: readonly { readonly kind: string }[]): readonly PrunedGap[] {
  return records.flatMap((record) => {
    const { kind, gaps } = record as { kind: string; gaps?: unknown };
    return kind === "pruned" && Array.isArray(gaps) ? (gaps as readonly unknown[]).filter(isGap) : [];
  });
}

function isGap(value: unknown): value is PrunedGap {
  if (typeof value !== "object" || value === null) return false;
  const { first, last, before, after } = value as Record<string, unknown>;
  return (
    Number.isSafeInteger(first) && Number.isSafeInteger(last) && typeof before === "string" && typeof after === "string"
  );
}
