import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";
import { quoted } from "../quoted.ts";

/**
 * A request is not waiting for an answer. Nothing has changed. A node whose request expired gets `request_expired` and may
 * catch it; otherwise the run fails, and asks anew when you resume it.
 */
export class RequestNotOpenError extends AgentPersistenceError {
  constructor(
    override readonly code: "request_answered" | "request_expired" | "request_not_found",
    /** Absent: the request was looked for among all agents. */
    readonly agentId: string | undefined,
    readonly requestId: string,
    /** When the request expired, in ISO 8601; absent unless it has expired. */
    readonly expiredAt?: string,
    /** The ids of the requests that the agent is waiting for; absent unless the request was not found. */
    readonly openRequests?: readonly string[],
  ) {
    const owner = agentId === undefined ? "" : ` of agent ${quoted(agentId)}`;
    super(messages[code](`Request ${quoted(requestId)}${owner}`, expiredAt, openRequests));
  }
}

const messages: Readonly<
  Record<RequestNotOpenError["code"], (request: string, expiredAt?: string, open?: readonly string[]) => string>
> = {
  request_answered: (request) => `${request} is already answered; the first answer counts. Resume the agent to use it.`,
  request_expired: (request, expiredAt) =>
    `${request} expired at ${expiredAt} without an answer. Resume the agent: the node that asked gets this error and may catch it; a run that failed with it asks anew. A tool call that needed the approval is rejected.`,
  request_not_found: (request, _expiredAt, open) =>
    open
      ? `${request} is not waiting for an answer; the agent waits for ${open.length === 0 ? "nothing" : quotedList(open)}. The end of the node, a rollback, a new execution point and a new run drop earlier requests: getRequests() lists the open ones.`
      : `${request} is not waiting for an answer: it has an answer, or a rollback, a new execution point or a new run dropped it. listRequests() lists the open ones.`,
};
