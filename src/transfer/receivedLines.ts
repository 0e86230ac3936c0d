import { Pace } from "../internal/nextTurn.ts";
import type { ArchivePart } from "./format/archiveFormat.ts";
import type { TransferStorage } from "./logOf.ts";
import { ReceivedBlobs } from "./transferredBlobs.ts";

/** Receives the lines and the names of the blobs of an archive, and can refuse them. */
interface LineReceiver {
  addLine(line: Uint8Array): void;
  addBlob(reference: string): void;
}

/** Stores blobs before the line that refers to them. */
export async function* receivedLines(
  parts: AsyncIterable<ArchivePart>,
  { log }: TransferStorage<"receive">,
  agentId: string,
  receiver: LineReceiver,
): AsyncGenerator<Uint8Array, void, undefined> {
  const pace = new Pace();
  const blobs = new ReceivedBlobs(log.blobs, agentId);
  try {
    for await (const part of parts) {
      await pace.after(part.bytes.length);
      if (part.kind === "line") {
        receiver.addLine(part.bytes);
        await blobs.stored();
        yield part.bytes;
      } else {
        receiver.addBlob(part.reference);
        await blobs.put(part.reference, part.bytes);
      }
    }
    await blobs.stored();
  } finally {
    await blobs.ended();
  }
}
