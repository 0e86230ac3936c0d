import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { inLargeParts } from "../../internal/bytes.ts";
import type { DiskFile } from "../../nodejs/Disk.ts";
import { ReceivedAppends } from "../../checkpoint/format/ReceivedAppends.ts";
import type { LastAppend, StoredAppends } from "../RecordLog.ts";
import type { AgentFolder } from "./layout/AgentFolder.ts";
import { type Claim, encodeControl, openingBytes } from "./layout/controlLine.ts";
import { type EncodedAppend, encodeAppend } from "../appends/encodeAppend.ts";
import { type FileBackend, newClaim } from "./owner/FileBackend.ts";
import type { Held } from "./takeOwnership.ts";

/** Copied lines and the append after them. They are durable, but not yet part of a log. */
export interface ReceivedSegment {
  readonly file: DiskFile | undefined;
  readonly claim: Claim;
  readonly last: EncodedAppend;
}

const lineBreak = Buffer.from("\n");
const writtenBytes = 1024 * 1024;

/** Writes the segment that follows the owner's segment. Checks the lines and holds only a few in memory. */
export async function receiveAppends(
  backend: FileBackend,
  folder: AgentFolder,
  { claim: { generation, nonce } }: Held,
  received: StoredAppends,
  last: LastAppend,
): Promise<ReceivedSegment> {
  const claim = newClaim(backend, folder.agentId, generation + 1, nonce);
  let ending: EncodedAppend | undefined;
  const checked = new ReceivedAppends(folder.agentId, received.generation, backend.sha256);
  async function* bytes(): AsyncGenerator<readonly Uint8Array[]> {
    for await (const line of received.appends) {
      const { position } = checked.accept(line);
      if (checked.count === 1) yield [headOf(claim, position - 1, backend)];
      yield [line, lineBreak];
    }
    ending = await endingOf(folder.agentId, claim, checked.end(), last, backend);
    yield [ending.encoded];
  }
  const file = await backend.publisher.prepare(folder, generation, inLargeParts(bytes(), writtenBytes));
  if (!ending) throw new TypeError("the lines did not end");
  return { file, claim, last: ending };
}

/** Returns the bytes before the lines. `open` may be first, because all lines are durable before the segment. */
function headOf(claim: Claim, from: number, { sha256 }: FileBackend): Uint8Array {
  return Buffer.concat([
    Buffer.from(encodeControl("claim", claim, sha256)),
    openingBytes([], { from, base: [] }, sha256),
  ]);
}

async function endingOf(
  agentId: string,
  { generation }: Claim,
  end: ChainLink,
  last: LastAppend,
  { sha256 }: FileBackend,
): Promise<EncodedAppend> {
  const append = await last({ generation, position: end.position });
  return encodeAppend(agentId, append, generation, end, sha256);
}
