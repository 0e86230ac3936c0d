import { decodeEntry, type EncodableEntry, encodeEntry } from "../../src/checkpoint/format/entryCodec.ts";
import { nodeSha256 } from "../../src/internal/sha256/nodeSha256.ts";
import {
  ArchiveHash,
  type ArchiveHeader,
  type ArchivePart,
  encodePart,
  textOfFacts,
} from "../../src/transfer/format/archiveFormat.ts";
import { ArchiveReader } from "../../src/transfer/ArchiveReader.ts";
import { inPieces } from "./movedAgents.ts";

/** An archive in its parts. */
export interface ArchiveParts {
  readonly header: ArchiveHeader;
  readonly parts: readonly ArchivePart[];
}

export async function partsOf(archive: Uint8Array): Promise<ArchiveParts> {
  const { header, reader } = await ArchiveReader.open(inPieces(archive, 65_536), nodeSha256);
  const parts: ArchivePart[] = [];
  for await (const part of reader.parts()) parts.push(part);
  return { header, parts };
}

/** An archive with a valid end, whatever its parts are. */
export function archiveWith({ header, parts }: ArchiveParts): Buffer {
  const [hash, head] = [new ArchiveHash(nodeSha256), textOfFacts(header)];
  hash.addText(head);
  for (const part of parts) hash.add(part);
  const of = (kind: ArchivePart["kind"]) => parts.filter((part) => part.kind === kind).length;
  const end = textOfFacts({ lines: of("line"), blobs: of("blob"), sha256: hash.value });
  return Buffer.concat([Buffer.from(head), ...parts.flatMap(encodePart), Buffer.from(end)]);
}

/** The same parts with other lines: their checksums, and those of all after them, are right. */
export function withLines({ header, parts }: ArchiveParts, change: (entry: EncodableEntry) => EncodableEntry): Buffer {
  let prev: string | undefined;
  const changed = parts.map((part): ArchivePart => {
    if (part.kind === "blob") return part;
    const decoded = decodeEntry(part.bytes, nodeSha256);
    if (!decoded.ok) throw new TypeError(decoded.defect);
    const { entry, snapshot, summary } = decoded;
    const given = { ...entry, prev: prev ?? entry.prev, snapshot, ...(summary && { summary }) };
    const { encoded: line, checksum } = encodeEntry(change(given), nodeSha256);
    prev = checksum;
    return { kind: "line", bytes: line.slice(0, -1) };
  });
  return archiveWith({ header, parts: changed });
}
