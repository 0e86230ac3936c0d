import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { CheckpointNames } from "../lines/CheckpointNames.ts";
import type { AgentRecord, NameRecord } from "../records/AgentRecord.ts";
import type { OriginRecord, RunRecord, StatusRecord } from "../records/runRecords.ts";
import type { LogProjection } from "../state/LogProjection.ts";
import { statusAfter, type StatusState, statusRecords } from "../state/StatusState.ts";
import type { CheckpointPoint } from "../records/lineRecords.ts";
import { linesAt } from "./linesAt.ts";
import { newLines, type NewLines, type NewLinesOptions } from "./newLines.ts";

export interface ForkOptions extends Omit<NewLinesOptions, "move" | "runId" | "nextLane" | "nextVersion"> {
  readonly from: string;
  readonly end: { readonly position: number; readonly checksum: string };
  /** A random lane number that is higher than all lanes of the log. */
  readonly nextLane: number;
  /** The id of the new run if the run of the checkpoint has finished. */
  readonly newRunId: string;
  /** The current checkpoint names of the agent. Defaults to the names in the copied log. */
  readonly names?: CheckpointNames | undefined;
}

/** Returns the records that turn a copied log into a fork at a checkpoint, by default at the head. */
export function forkRecords(
  index: LogProjection,
  target: CheckpointPoint | undefined,
  options: ForkOptions,
): readonly AgentRecord[] {
  const { from, end, nextLane, asksAgain } = options;
  const version = (target ?? index.latest)?.version ?? 0;
  const origin: OriginRecord = {
    kind: "origin",
    agentId: from,
    version,
    ...end,
    nextLane,
    ...(asksAgain && { asksAgain }),
  };
  return [origin, ...endOfRollback(index), ...namesNow(index, options), ...linesOf(index, target, options)];
}

/** Ends an open rollback, because a fork does not continue it. */
function endOfRollback({ rollback }: LogProjection): readonly AgentRecord[] {
  if (!rollback) return [];
  const { target, base } = rollback;
  return [withoutUndefined({ kind: "rollback_end", target, base })];
}

/** Gives the fork the current checkpoint names of the original agent, because people find checkpoints by name. */
function namesNow(index: LogProjection, { names = index.names }: ForkOptions): readonly NameRecord[] {
  const gone = [...index.names.entries()].filter(([name, version]) => names.versionOf(name) !== version);
  const given = [...names.entries()].filter(
    ([name, version]) => index.checkpoints.has(version) && index.names.versionOf(name) !== version,
  );
  return [
    ...gone.map(([name]) => ({ kind: "name", name }) as const),
    ...given.map(([name, version]) => ({ kind: "name", name, version }) as const),
  ];
}

function linesOf(
  index: LogProjection,
  target: CheckpointPoint | undefined,
  options: ForkOptions,
): readonly AgentRecord[] {
  const isHead = target === undefined || target.position === index.position;
  if (index.lines.mainLane === 0 || (isHead && isEnded(index.statusState))) return [];
  // The agent has no run if its checkpoints were imported.
  const run = isHead && index.run ? undefined : runAt(index, target ?? index.latest, options);
  const lines = newLines(index, linesAt(index, target), {
    ...options,
    move: "fork",
    runId: (run ?? index.run)?.run ?? "",
    nextVersion: index.nextVersion,
  });
  const records = [...[run ?? []].flat(), ...lines.records];
  const status = records.reduce((state, record) => statusAfter(state, record, 1), index.statusState);
  return [...records, ...statusOf(status, lines, options)];
}

/** Returns a new run for a fork at a checkpoint of a finished run, because a finished run keeps its result. */
function runAt(
  index: LogProjection,
  target: CheckpointPoint | undefined,
  { newRunId, at }: ForkOptions,
): RunRecord | undefined {
  if (!target || (index.run?.run === target.runId && index.unfinished)) return undefined;
  const known = index.runRecords.get(target.runId) ?? { kind: "run", run: target.runId, input: null, at };
  return { ...known, run: index.runs.has(target.runId) ? newRunId : target.runId, at };
}

function isEnded({ current }: StatusState): boolean {
  return current?.status === "completed" || current?.status === "cancelled";
}

/** Returns the status of the fork: `waiting` if the original agent waits, and `paused` if the original runs. */
function statusOf(
  state: StatusState,
  { requests }: NewLines,
  { from, at, asksAgain }: Pick<ForkOptions, "from" | "at" | "asksAgain">,
): readonly StatusRecord[] {
  const { status, record } = state.current ?? {};
  const listed = (record?.requests ?? []).flatMap((id) => requests.get(id) ?? []);
  const open = [...new Set([...listed, ...requests.values()])];
  if (status === "waiting" && record && !asksAgain)
    return [
      open.length > 0
        ? { ...record, at, requests: open }
        : { kind: "status", run: record.run, status: "in_progress", at },
    ];
  if ((status !== "in_progress" && status !== "waiting") || !state.run) return [];
  if (open.length === 0)
    return statusRecords(state, { status: "paused", at, reason: `forked from agent ${JSON.stringify(from)}` });
  // Some branches of the original agent continued after an answer, so they can continue in the fork.
  return statusRecords(state, { status: "waiting", at, requests: open, answered: true });
}
