import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { AgentSummary } from "../../RecordLog.ts";
import { z } from "zod";

/** What `state.json` says. */
export interface StoredState {
  readonly summary: AgentSummary;
  /** The owner that wrote it: under a later one it may be out of date. */
  readonly generation: number;
  /** True while an append that changes the summary is under way: only the log knows which one holds. */
  readonly changing: boolean;
}

const version = "1.0";
/** Whoever can write the file can make the checksum right too. */
const fields = z.object({
  version: z.literal(version),
  task_id: z.string(),
  status: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
  data: z.unknown(),
  task_name: z.string().optional(),
  priority: z.int().optional(),
  input_request: z.unknown().optional(),
  order: z.string(),
  due_at: z.string().optional(),
  request_ids: z.array(z.string()),
  run_id: z.string().optional(),
  position: z.int().nonnegative(),
  generation: z.int().positive(),
  changing: z.boolean(),
});
const tail = /,"checksum":"([0-9a-f]{64})"\}\n$/;

/** The content of `state.json`. Its keys are those that other tools read. */
export function encodeState({ summary, generation, changing }: StoredState, sha256: Sha256): string {
  const { agentId, status, order, dueAt, requestIds, position, runId, createdAt, updatedAt, data } = summary;
  const covered = JSON.stringify({
    version,
    task_id: agentId,
    status,
    created_at: createdAt,
    updated_at: updatedAt,
    data: storedStateData(data ?? null),
    task_name: summary.taskName,
    priority: summary.priority,
    input_request: summary.inputRequest,
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

/** `undefined` when it is damaged, edited by hand or of another version: the log tells the same. */
export function decodeState(text: string, sha256: Sha256): StoredState | undefined {
  const [ending, checksum] = tail.exec(text.slice(-80)) ?? [];
  if (ending === undefined || sha256.hex(text.slice(0, -ending.length)) !== checksum) return undefined;
  const state = fields.safeParse(parse(text)).data;
  if (state === undefined) return undefined;
  const { status, data, order, position, generation, changing } = state;
  const summary: AgentSummary = {
    agentId: state.task_id,
    status,
    order,
    requestIds: state.request_ids,
    position,
    createdAt: state.created_at,
    updatedAt: state.updated_at,
    data: namedStateData(data),
    ...(state.task_name === undefined ? {} : { taskName: state.task_name }),
    ...(state.priority === undefined ? {} : { priority: state.priority }),
    ...(state.input_request === undefined ? {} : { inputRequest: state.input_request }),
    ...(state.due_at === undefined ? {} : { dueAt: state.due_at }),
    ...(state.run_id === undefined ? {} : { runId: state.run_id }),
  };
  return { summary, generation, changing };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Fields of the data of a status, as the library names them, and as other tools read them in `state.json`. */
const keys = {
  taskId: "task_id",
  createdAt: "created_at",
  estimatedComplexity: "estimated_complexity",
  inputRequest: "input_request",
  startedAt: "started_at",
  pausedAt: "paused_at",
  pauseReason: "pause_reason",
  resumeInstructions: "resume_instructions",
  waitingFor: "waiting_for",
  promptShownToUser: "prompt_shown_to_user",
  timeoutAt: "timeout_at",
  completedAt: "completed_at",
  finalOutput: "final_output",
  filesModified: "files_modified",
  verificationResults: "verification_results",
  failedAt: "failed_at",
  errorType: "error_type",
  errorMessage: "error_message",
  stackTrace: "stack_trace",
  retryCount: "retry_count",
  cancelledAt: "cancelled_at",
};
const stored: ReadonlyMap<string, string> = new Map(Object.entries(keys));
const named: ReadonlyMap<string, string> = new Map(Object.entries(keys).map(([name, key]) => [key, name]));

/** The data of a status under the keys of `state.json`. What is in the fields stays as it is. */
export function storedStateData(data: unknown): unknown {
  return renamed(data, stored);
}

/** The data that {@link storedStateData} was given. */
export function namedStateData(data: unknown): unknown {
  return renamed(data, named);
}

function renamed(data: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return data;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [names.get(key) ?? key, value]));
}
