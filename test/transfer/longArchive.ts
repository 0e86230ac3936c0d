import { exportAgent } from "agent-persistence/transfer";
import { decodeEntry, encodeEntry } from "../../src/checkpoint/format/entryCodec.ts";
import type { LogRecord } from "../../src/checkpoint/records/Entry.ts";
import { nodeSha256 } from "../../src/internal/sha256/nodeSha256.ts";
import { archiveWith, partsOf } from "./forgedArchives.ts";
import { bytesOf, storages, waitingPayer } from "./movedAgents.ts";

/** An archive of an agent, with further lines of one record each. */
export async function longArchive(lines: number, record: (line: number) => LogRecord): Promise<Buffer> {
  const source = await storages["memory"]!();
  await waitingPayer(source);
  const { header, parts } = await partsOf(await bytesOf(exportAgent(source, "order-7")));
  const last = decodeEntry(parts.at(-1)!.bytes, nodeSha256);
  if (!last.ok) throw new TypeError(last.defect);
  const { generation } = last.entry;
  let { position, checksum: prev } = last.entry;
  const added = Array.from({ length: lines }, (_, line) => {
    position++;
    const entry = { position, generation, id: `${generation}-${position}`, prev, records: [record(line)] };
    const { encoded, checksum } = encodeEntry(entry, nodeSha256);
    prev = checksum;
    return { kind: "line", bytes: encoded.slice(0, -1) } as const;
  });
  return archiveWith({ header: { ...header, position }, parts: [...parts, ...added] });
}
