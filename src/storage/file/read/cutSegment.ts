import { linkOf } from "../../../checkpoint/format/entryCodec.ts";
import type { Disk } from "../../../node/Disk.ts";
import { lineBreak, linesBackwards, openMark } from "../layout/Segment.ts";

/** The number of bytes to read first from each end of a file. It is doubled until it suffices. */
const chunkBytes = 64 * 1024;

/**
 * Reads a segment without the middle of its appended lines. The result contains all bytes up to `open`, and the last
 * lines starting at a position of at most `after`. Does not verify the bytes.
 *
 * @returns `undefined` if this would save little or the file has another format, so the whole file must be read.
 */
export async function cutSegment(disk: Disk, path: string, after: number): Promise<Buffer | undefined> {
  const { size = 0 } = (await disk.stat(path)) ?? {};
  const head = await headOf(disk, path, size);
  const tail = head && (await tailOf(disk, path, { from: head.length, size, after }));
  return head && tail && Buffer.concat([head, tail]);
}

async function headOf(disk: Disk, path: string, size: number): Promise<Buffer | undefined> {
  for (let length = chunkBytes; length <= size / 4; length *= 2) {
    const bytes = await disk.readFile(path, 0, length);
    const at = bytes?.indexOf(openMark) ?? -1;
    const end = at < 0 ? -1 : (bytes?.indexOf(lineBreak, at + 1) ?? -1);
    if (end >= 0) return bytes?.subarray(0, end + 1);
  }
  return undefined;
}

async function tailOf(
  disk: Disk,
  path: string,
  { from, size, after }: { readonly from: number; readonly size: number; readonly after: number },
): Promise<Buffer | undefined> {
  for (let length = chunkBytes; length <= size / 2; length *= 2) {
    const bytes = await disk.readFile(path, size - length, length);
    if (!bytes || size - length < from) return undefined;
    // The first line may be incomplete.
    const start = bytes.indexOf(lineBreak) + 1;
    const found = start === 0 ? undefined : lineUpTo(bytes, start, after);
    if (found !== undefined) return bytes.subarray(found);
  }
  return undefined;
}

function lineUpTo(bytes: Buffer, start: number, after: number): number | undefined {
  for (const line of linesBackwards(bytes, { start, end: bytes.length })) {
    const found = linkOf(bytes.subarray(line.start, line.end));
    if (found && found.position <= after) return line.start;
  }
  return undefined;
}
