import type { BlobTexts, DecodedValues } from "../checkpoint/state/ValueReader.ts";
import type { KnownHead } from "./readEntries.ts";
import type { RecordLog } from "./RecordLog.ts";
import type { SnapshotDue } from "./SnapshotDue.ts";

/** A head with the values that were read of it. */
export interface CachedHead extends KnownHead {
  readonly blobs: BlobTexts;
  readonly values: DecodedValues;
  readonly snapshotDue: SnapshotDue;
  /** Whether a blob that it needs was missing or damaged: it may be there again when the agent is read next. */
  readonly lacksBlobs?: boolean | undefined;
}

/** How much all heads of a storage may take together, estimated in bytes. */
const mostBytes = 64 * 1024 * 1024;

/** The heads of the agents of one storage that were read last. Whoever uses one checks that the log still has its end. */
export class HeadCache {
  readonly #heads = new Map<string, CachedHead & { readonly bytes: number }>();
  #bytes = 0;

  /** A head with nested lines has one reader at a time: it is forgotten until {@link set} gives it back. */
  take(agentId: string): CachedHead | undefined {
    const head = this.#heads.get(agentId);
    if (head?.grows) this.#forget(agentId);
    return head;
  }

  /** Keeps no head that lacks blobs: the one before stays, which is one of the same log. */
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
  // A decoded value takes about as much as its text.
  return 2 * bytes;
}

const caches = new WeakMap<RecordLog, HeadCache>();

/** The heads of a storage's agents; `undefined` where what is read again is not what was read before. */
export function headCacheOf(log: RecordLog): HeadCache | undefined {
  if (log.capabilities.keeps !== undefined) return undefined;
  const known = caches.get(log) ?? new HeadCache();
  caches.set(log, known);
  return known;
}
