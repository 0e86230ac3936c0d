import { linkOf } from "../../../checkpoint/format/entryCodec.ts";
import type { Disk } from "../../../node/Disk.ts";
import { lineBreak, linesBackwards, openMark } from "../layout/Segment.ts";

/** So much is read at once of each end of a file, and then twice as much while that is not enough. */
const chunkBytes = 64 * 1024;

/**
 * A segment without the middle of what its owner appended: all up to its `open`, and its last lines, from one on that has no
 * higher position than `after`. Nothing is verified.
 *
 * @returns `undefined` where that would save little, or the file has another form: read all of it.
 */
export async function cutSegment(disk: Disk, path: string, after: number): Promise<Buffer | undefined> {
  const { size = 0 } = (await disk.stat(path)) ?? {};
  const head = await headOf(disk, path, size);
  const tail = head && (await tailOf(disk, path, { from: head.length, size, after }));
  return head && tail && Buffer.concat([head, tail]);
}

/** From the claim to the `open`, with the lines that were carried over. */
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
    // The first line may lack its beginning.
    const start = bytes.indexOf(lineBreak) + 1;
    const found = start === 0 ? undefined : lineUpTo(bytes, start, after);
    if (found !== undefined) return bytes.subarray(found);
  }
  return undefined;
}

/** Where the last line begins that has no higher position; `undefined`: there is none. */
function lineUpTo(bytes: Buffer, start: number, after: number): number | undefined {
  for (const line of linesBackwards(bytes, { start, end: bytes.length })) {
    const found = linkOf(bytes.subarray(line.start, line.end));
    if (found && found.position <= after) return line.start;
  }
  return undefined;
}
