import { decodeEntry, isSnapshotLine, linkOf } from "../checkpoint/format/entryCodec.ts";
import { noteVerified } from "../checkpoint/format/verifiedLines.ts";
import type { Entry } from "../checkpoint/records/Entry.ts";
import { UnreadableValueError } from "../errors/storedDataErrors.ts";
import { Pace } from "../internal/Pace.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import type { ReadOptions, RecordLog } from "../storage/RecordLog.ts";

export type CopiedLog = Pick<RecordLog, "read"> & Required<Pick<RecordLog, "lines">>;

/** The maximum number of line bytes kept in memory. */
const mostBytes = 16 * 1024 * 1024;

interface KeptLine {
  readonly line: Uint8Array;
  readonly position: number;
}

/** Returns a log that reads and verifies its lines only once. A log that exceeds the limit is returned unchanged. */
export async function keptLines(log: CopiedLog, agentId: string, sha256: Sha256): Promise<CopiedLog> {
  const pace = new Pace();
  const kept: KeptLine[] = [];
  let bytes = 0;
  for await (const line of log.lines(agentId)) {
    bytes += line.length;
    if (bytes > mostBytes) return log;
    kept.push({ line, position: linkOf(line)?.position ?? 0 });
    await pace.after(line.length);
  }
  return new KeptLines(kept, sha256);
}

class KeptLines implements CopiedLog {
  readonly #kept: readonly KeptLine[];
  readonly #sha256: Sha256;

  constructor(kept: readonly KeptLine[], sha256: Sha256) {
    this.#kept = kept;
    this.#sha256 = sha256;
  }

  async *lines(_agentId: string, { upTo = Infinity }: { readonly upTo?: number } = {}): AsyncGenerator<Uint8Array> {
    for (const { line, position } of this.#kept) if (position <= upTo) yield line;
  }

  async *read(
    _agentId: string,
    { after = 0, upTo = Infinity, sinceSnapshot }: ReadOptions = {},
  ): AsyncGenerator<Entry> {
    const isWithin = ({ position }: KeptLine) => position > after && position <= upTo;
    const isBeginning = (kept: KeptLine) => isSnapshotLine(kept.line) && isWithin(kept);
    const first = sinceSnapshot ? Math.max(0, this.#kept.findLastIndex(isBeginning)) : 0;
    for (const kept of this.#kept.slice(first)) if (isWithin(kept)) yield this.#entryIn(kept);
  }

  #entryIn({ line, position }: KeptLine): Entry {
    const decoded = decodeEntry(line, this.#sha256);
    if (!decoded.ok) throw new UnreadableValueError(`append ${position} is not readable (${decoded.defect})`);
    noteVerified(line, decoded.entry);
    return decoded.entry;
  }
}
