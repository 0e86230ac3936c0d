import type { Sha256 } from "../../internal/Sha256.ts";
import type { AgentSummary } from "../RecordLog.ts";
import { namedStateData, storedStateData } from "./stateDataKeys.ts";

/** What `state.json` says. */
export interface StoredState {
  readonly summary: AgentSummary;
  /** The owner that wrote it: under a later one it may be out of date. */
  readonly generation: number;
  /** True while an append that changes the summary is under way: only the log knows which one holds. */
  readonly changing: boolean;
}

const version = "1.0";
const tail = /,"checksum":"([0-9a-f]{64})"\}\n$/;

/** The content of `state.json`. Its keys are those that other tools read. */
export function encodeState({ summary, generation, changing }: StoredState, sha256: Sha256): string {
  const { agentId, status, order, dueAt, requestIds, position, runId, taskName, createdAt, updatedAt, data } = summary;
  const covered = JSON.stringify({
    version,
    task_id: agentId,
    status,
    created_at: createdAt,
    updated_at: updatedAt,
    data: storedStateData(data ?? null),
    task_name: taskName,
    order,
    due_at: dueAt,
    request_ids: requestIds,
    run_id: runId,
    position,
    generation,
    changing,
  }).slice(0, -1);
  return `${covered},"checksum":"${sha256.hex(covered)}"}\n`;
}

/** `undefined` when it is damaged or of another version: the log tells the same. */
export function decodeState(text: string, sha256: Sha256): StoredState | undefined {
  const [ending, checksum] = tail.exec(text.slice(-80)) ?? [];
  if (ending === undefined || sha256.hex(text.slice(0, -ending.length)) !== checksum) return undefined;
  const state = parse(text);
  if (state?.["version"] !== version) return undefined;
  const {
    task_id,
    status,
    created_at,
    updated_at,
    data,
    task_name,
    order,
    due_at,
    request_ids,
    run_id,
    position,
    generation,
    changing,
  } = state;
  const summary = {
    agentId: task_id,
    status,
    order,
    requestIds: request_ids,
    position,
    createdAt: created_at,
    updatedAt: updated_at,
    data: namedStateData(data),
    ...(task_name === undefined ? {} : { taskName: task_name }),
    ...(due_at === undefined ? {} : { dueAt: due_at }),
    ...(run_id === undefined ? {} : { runId: run_id }),
  } as AgentSummary;
  return { summary, generation: Number(generation), changing: changing !== false };
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}
