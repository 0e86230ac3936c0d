import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { encodeEntry } from "../../checkpoint/format/entryCodec.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { AgentSummary, LogAppend } from "../RecordLog.ts";

export interface EncodedAppend {
  /** Includes the line break. */
  readonly encoded: Uint8Array;
  readonly end: ChainLink;
  readonly summary: AgentSummary | undefined;
}

/** Encodes the next append of a log, with its summary. */
export function encodeAppend(
  agentId: string,
  { id, records, snapshot = false, summary: given }: LogAppend,
  generation: number,
  { position: before, checksum: prev }: ChainLink,
  sha256: Sha256,
): EncodedAppend {
  const position = before + 1;
  const summary = given && (JSON.parse(JSON.stringify({ ...given, agentId, position })) as AgentSummary);
  const entry = {
    position,
    generation,
    id,
    records,
    prev,
    snapshot,
    ...(summary && { summary: storedSummary(summary) }),
  };
  const { encoded, checksum } = encodeEntry(entry, sha256);
  return { encoded: encoded.slice(), end: { position, checksum }, summary };
}

function storedSummary({ agentId: _agentId, position: _position, ...summary }: AgentSummary): object {
  return summary;
}
