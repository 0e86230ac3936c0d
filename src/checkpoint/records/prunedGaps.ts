/**
 * A run of appends that a `pruned` record takes out of a log: `{ kind: "pruned", gaps: [{ first, last, before, after }] }`.
 * The checksums on both sides keep the chain whole after the bytes are gone.
 */
export interface PrunedGap {
  /** The first position removed. */
  readonly first: number;
  /** The last position removed, inclusive. */
  readonly last: number;
  /** The checksum of the append before the gap; empty when the gap begins the log. */
  readonly before: string;
  /** The checksum of the last append removed: what the append after the gap names as `prev`. */
  readonly after: string;
}

/** The gaps that these records name. Whatever is not a well-formed `pruned` record names none. */
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
