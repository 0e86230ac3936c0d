import { addBlobReference } from "../../checkpoint/records/blobReferences.ts";
import { emptyState } from "../../checkpoint/state/AgentState.ts";
import { type DecodedValues, ValueReader } from "../../checkpoint/state/ValueReader.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { fetchBlobs } from "../../storage/blobs.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";

export class ShapeValues {
  readonly #log: RecordLog;
  readonly #logId: string;
  readonly #decoded: DecodedValues = new WeakMap();

  constructor(log: RecordLog, logId: string) {
    this.#log = log;
    this.#logId = logId;
  }

  /**
   * Returns the frozen values. The same stored object always gives the same value. Each call reads blobs again.
   *
   * @throws UnreadableValueError, CorruptBlobError, StorageError
   */
  async read(values: readonly StoredValue[]): Promise<unknown[]> {
    const references = new Map<string, BlobCell>();
    for (const value of values) if (!this.#isDecoded(value)) addBlobReference(value, references);
    const texts = await fetchBlobs(this.#log, this.#logId, references);
    const reader = new ValueReader(emptyState, texts, this.#decoded);
    return values.map((value) => reader.read(value));
  }

  #isDecoded(value: StoredValue): boolean {
    return typeof value === "object" && value !== null && this.#decoded.has(value);
  }
}
