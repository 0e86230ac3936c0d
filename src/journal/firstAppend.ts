import { leanRecords } from "../checkpoint/format/leanRecords.ts";
import { ValueWriter } from "../checkpoint/format/ValueWriter.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import { initialStatus, statusAfter, type StatusState } from "../checkpoint/state/StatusState.ts";
import type { Clock } from "../internal/Clock.ts";
import type { LogStorage } from "../storage/LogStorage.ts";
import type { LogAppend } from "../storage/RecordLog.ts";
import { agentSummary } from "./agentSummary.ts";
import type { RecordSource } from "./runRecords.ts";

/** The generation of the first owner of an agent. */
export const firstGeneration = 1;

/** The first append of an agent, and the state after it. */
export interface FirstAppend {
  readonly append: LogAppend;
  readonly records: readonly AgentRecord[];
  readonly statusState: StatusState;
}

/** Makes the first append of a new agent without owning it. `undefined` if a value needs a blob. */
export async function firstAppend(
  { storage, clock }: { readonly storage: LogStorage; readonly clock: Clock },
  agentId: string,
  recordsOf: (source: RecordSource) => readonly AgentRecord[],
): Promise<FirstAppend | undefined> {
  const sha256 = await storage.sha256();
  const writer = new ValueWriter({ sha256, inlineThresholdBytes: storage.inlineThresholdBytes });
  const records = recordsOf({ writer, sha256, clock });
  if (writer.uploads > 0) return undefined;
  const statusState = records.reduce((state, record) => statusAfter(state, record, firstGeneration), initialStatus);
  const summary = agentSummary(agentId, statusState, 0);
  const append = { id: `${firstGeneration}-1`, records: leanRecords(records), ...(summary && { summary }) };
  return { append, records, statusState };
}
