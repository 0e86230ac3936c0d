import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";
import { quoted } from "../quoted.ts";

/**
 * The request does not wait for a response. The stored state is unchanged. A node whose request expired gets
 * `request_expired` and may catch it. Otherwise the run fails, and resuming it makes the request again.
 */
export class RequestNotOpenError extends AgentPersistenceError {
  constructor(
    override readonly code: "request_answered" | "request_expired" | "request_not_found",
    /** `undefined` if the request was searched among all agents. */
    readonly agentId: string | undefined,
    readonly requestId: string,
    /** The expiry time, in ISO 8601. Omitted unless the request expired. */
    readonly expiredAt?: string,
    /** The ids of the open requests of the agent. Omitted unless the request was not found. */
    readonly openRequests?: readonly string[],
  ) {
    const owner = agentId === undefined ? "" : ` of agent ${quoted(agentId)}`;
    super(messages[code](`Request ${quoted(requestId)}${owner}`, expiredAt, openRequests));
  }
}

const messages: Readonly<
  Record<RequestNotOpenError["code"], (request: string, expiredAt?: string, open?: readonly string[]) => string>
> = {
  request_answered: (request) =>
    `${request} is already answered, and only the first answer counts. Resume the agent to use that answer.`,
  request_expired: (request, expiredAt) =>
    `${request} expired at ${expiredAt} without an answer. Resume the agent to continue. The node that made the request gets this error and may catch it. If the run already failed with this error, resuming repeats the request. A tool call that required the approval is rejected.`,
  request_not_found: (request, _expiredAt, open) =>
    open
      ? `${request} does not wait for an answer. ${open.length === 0 ? "The agent has no open requests" : `The open requests of the agent are ${quotedList(open)}`}. A request is dropped when its node finishes, or by a rollback, a new execution point or a new run. Call getRequests() to list the open requests.`
      : `${request} does not wait for an answer. It was answered, or dropped by a rollback, a new execution point or a new run. Call listRequests() to list the open requests.`,
};
