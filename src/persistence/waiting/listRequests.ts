import { z } from "zod";
import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import type { WaitingFor } from "../../checkpoint/status/TaskStatus.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { RequestNotOpenError } from "../../errors/requestErrors.ts";
import { awayStatuses } from "../../journal/assertCustody.ts";
import { abortSignalSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import { listSummaries, isAboutOneAgent } from "../../storage/summaries.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { readHead } from "../../storage/readHead.ts";
import { pendingRequests, listsAll } from "./pendingRequests.ts";

export interface RequestFilter {
  /** Selects requests of this kind. Defaults to all kinds. */
  readonly waitingFor?: WaitingFor | undefined;
  /** When it aborts, the listing ends with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

export type AgentRequest = PendingRequest & { readonly agentId: string };

export const requestFilterSchema: z.ZodType = strictOptions(() => ({
  waitingFor: z.enum(["user_input", "external_api", "human_approval", "timer", "event"]).optional(),
  signal: abortSignalSchema.optional(),
}));

/** The statuses of agents that can have open requests. During a run, some branches can wait. */
const asking = ["waiting", "in_progress"] as const;

/** Lists the open requests of all agents in the storage. Skips unreadable agents, which `unfinished()` lists. */
export async function* listRequests(
  log: RecordLog,
  { waitingFor, signal }: RequestFilter,
): AsyncGenerator<AgentRequest> {
  for await (const { agentId, requestIds } of listSummaries(log, { status: asking })) {
    signal?.throwIfAborted();
    if (requestIds.length === 0) continue;
    for (const request of await requestsOf(log, agentId))
      if (waitingFor === undefined || request.waitingFor === waitingFor) yield { ...request, agentId };
  }
}

async function requestsOf(log: RecordLog, agentId: string): Promise<readonly PendingRequest[]> {
  try {
    using head = await readHead(log, agentId);
    return pendingRequests(head);
  } catch (error) {
    if (!isAboutOneAgent(error)) throw error;
    return [];
  }
}

/** Includes agents that cannot run in this storage, so that their answers are rejected with a reason. */
const answerable = [...asking, "moving", "copied"];

/**
 * Returns the agent that made a request.
 *
 * @throws RequestNotOpenError, or InvalidInputError if several agents have this id
 */
export async function agentOfRequest(log: RecordLog, requestId: string): Promise<string> {
  const found: string[] = [];
  const more: string[] = [];
  for await (const { agentId, requestIds, status } of listSummaries(log, { status: answerable })) {
    if (requestIds.includes(requestId)) found.push(agentId);
    else if (awayStatuses.has(status) || !listsAll(requestIds.length)) more.push(agentId);
  }
  for (const agentId of found.length > 0 ? [] : more)
    if ((await requestsOf(log, agentId)).some((request) => request.requestId === requestId)) found.push(agentId);
  const [agentId, ...others] = found;
  if (agentId === undefined) throw new RequestNotOpenError("request_not_found", undefined, requestId);
  if (others.length > 0)
    throw new InvalidInputError("request id", [
      {
        path: "",
        expected: `agents ${JSON.stringify(found)} have this request. Answer it through one agent`,
      },
    ]);
  return agentId;
}
