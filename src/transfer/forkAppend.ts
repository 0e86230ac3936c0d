import { leanRecords } from "../checkpoint/format/leanRecords.ts";
import type { CheckpointNames } from "../checkpoint/lines/CheckpointNames.ts";
import { forkRecords } from "../checkpoint/moment/forkRecords.ts";
import { linesAt } from "../checkpoint/moment/linesAt.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { AgentState } from "../checkpoint/state/AgentState.ts";
import type { CheckpointPoint } from "../checkpoint/records/lineRecords.ts";
import { foldUpTo } from "../checkpoint/state/foldTo.ts";
import type { LogProjection } from "../checkpoint/state/LogProjection.ts";
import { stateReferences } from "../checkpoint/state/leanState.ts";
import { statusAfter } from "../checkpoint/state/StatusState.ts";
import { UnreadableValueError } from "../errors/storedDataErrors.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import { agentSummary } from "../journal/agentSummary.ts";
import { AgentLog } from "../storage/AgentLog.ts";
import type { LogAppend, RecordLog } from "../storage/RecordLog.ts";

export interface ForkedLog {
  readonly agentId: string;
  readonly index: LogProjection;
  /** `undefined` for the head. */
  readonly target: CheckpointPoint | undefined;
  /** The current checkpoint names. Defaults to the names in the log. */
  readonly names?: CheckpointNames | undefined;
  readonly end: { readonly position: number; readonly checksum: string };
}

interface ForkPlace {
  readonly forkId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly sha256: Sha256;
  /** The log with the blobs of the copied lines, and the agent that owns the blobs there. */
  readonly log: RecordLog;
  readonly blobsOf: string;
  /** Omits open approvals, so that the fork requests them again. Defaults to `false`. */
  readonly asksAgain?: boolean;
}

/** Returns the records of the append after the copied lines. @throws UnreadableValueError */
export async function recordsOfFork(
  source: ForkedLog,
  { forkId, at, sha256, log, blobsOf, asksAgain }: ForkPlace,
): Promise<readonly AgentRecord[]> {
  const { index, target, agentId, end, names } = source;
  const values = await valuesOf(log, blobsOf, source);
  return forkRecords(index, target, {
    agentId: forkId,
    from: agentId,
    end,
    nextLane: index.nextLane + randomNumber(),
    newRunId: crypto.randomUUID(),
    names,
    at,
    asksAgain,
    usage: index.run && index.usageOf(index.run.run),
    sha256,
    reader: (state) => values.reader(state),
  });
}

export function forkAppend(
  records: readonly AgentRecord[],
  { index }: Pick<ForkedLog, "index">,
  forkId: string,
  at: { readonly generation: number; readonly position: number },
): LogAppend {
  const status = records.reduce((state, record) => statusAfter(state, record, at.generation), index.statusState);
  const summary = agentSummary(forkId, status);
  const append: LogAppend = { id: `${at.generation}-${at.position + 1}`, records: leanRecords(records) };
  return summary ? { ...append, summary } : append;
}

/** Returns 40 random bits, so that a fork has other lanes than a deleted fork with the same id. */
function randomNumber(): number {
  return Number.parseInt(crypto.randomUUID().replaceAll("-", "").slice(0, 10), 16);
}

/** Loads the values needed to locate calls of lines that wait inside a call. */
async function valuesOf(log: RecordLog, agentId: string, { index, target }: ForkedLog): Promise<AgentLog> {
  const { lines } = linesAt(index, target);
  const states = lines.map(({ lane, point, upTo }) => {
    const state = foldUpTo(index, lane, point, upTo);
    if (!state) throw new UnreadableValueError(`the log lacks the records before lane ${lane}`);
    return state;
  });
  const isNested = lines.some(({ lane }) => "call" in (index.lanes.get(lane)?.record.place ?? {}));
  if (!isNested && !states.some(hasCallsWithin)) return new AgentLog(agentId, index, new Map());
  return AgentLog.ofValues(log, agentId, new Map(states.flatMap((state) => [...stateReferences(state)])), index);
}

function hasCallsWithin({ answers, calls, requests }: AgentState): boolean {
  const asked = [...requests.values()].map(({ record }) => record);
  const made = [...calls.values()].flatMap(({ intent, outcome }) => intent ?? outcome ?? []);
  return (
    asked.some(({ approval }) => approval !== undefined) ||
    [...answers.values(), ...made, ...asked].some(({ within }) => within !== undefined)
  );
}
