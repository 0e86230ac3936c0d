/**
 * A range of appends that a `pruned` record removes: `{ kind: "pruned", gaps: [{ first, last, before, after }] }`. The
 * checksums on both sides keep the chain verifiable after the bytes are deleted.
 */
export interface PrunedGap {
  readonly first: number;
  /** The last removed position, inclusive. */
  readonly last: number;
  /** The checksum of the append before the gap. Empty at the start of the log. */
  readonly before: string;
  /** The checksum of the last removed append, which the next append refers to as `prev`. */
  readonly after: string;
}

/** Malformed `pruned` records are skipped. */
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
