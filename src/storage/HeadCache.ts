import type { BlobTexts, DecodedValues } from "../checkpoint/state/ValueReader.ts";
import type { KnownHead } from "./readEntries.ts";
import type { RecordLog } from "./RecordLog.ts";
import type { SnapshotDue } from "./SnapshotDue.ts";

export interface CachedHead extends KnownHead {
  readonly blobs: BlobTexts;
  readonly values: DecodedValues;
  readonly snapshotDue: SnapshotDue;
  /** Whether a required blob was missing or damaged. The next read may find it again. */
  readonly lacksBlobs?: boolean | undefined;
}

const mostBytes = 64 * 1024 * 1024;

/**
 * Caches the most recently read heads of one storage. The caller must check that the log still contains the cached end.
 */
export class HeadCache {
  readonly #heads = new Map<string, CachedHead & { readonly bytes: number }>();
  #bytes = 0;

  /**
   * Removes and returns a head. A head with nested lines allows only one reader, which returns it with {@link set}.
   */
  take(agentId: string): CachedHead | undefined {
    const head = this.#heads.get(agentId);
    if (head?.grows) this.#forget(agentId);
    return head;
  }

  /** Ignores a head that lacks blobs, so a complete older head of the same log stays cached. */
  set(agentId: string, head: CachedHead): void {
    if (head.lacksBlobs) return;
    this.#forget(agentId);
    const bytes = bytesOf(head);
    this.#heads.set(agentId, { ...head, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#heads.keys()) {
      if (this.#bytes <= mostBytes) return;
      this.#forget(oldest);
    }
  }

  #forget(agentId: string): void {
    this.#bytes -= this.#heads.get(agentId)?.bytes ?? 0;
    this.#heads.delete(agentId);
  }
}

function bytesOf({ index, blobs }: CachedHead): number {
  let bytes = index.bytes;
  for (const text of blobs.values()) bytes += typeof text === "string" ? text.length : 0;
  // A decoded value takes about as much memory as its text.
  return 2 * bytes;
}

const caches = new WeakMap<RecordLog, HeadCache>();

/**
 * Returns the cache of a storage. `undefined` if the log does not keep all records, because a second read may differ.
 */
export function headCacheOf(log: RecordLog): HeadCache | undefined {
  if (log.capabilities.keeps !== undefined) return undefined;
  const known = caches.get(log) ?? new HeadCache();
  caches.set(log, known);
  return known;
}
