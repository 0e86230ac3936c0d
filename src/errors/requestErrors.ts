import { AgentPersistenceError, quoted, quotedList } from "./AgentPersistenceError.ts";

/** The digest in an answer does not match the tool call that waits for approval. The stored state is unchanged. */
export class ApprovalChangedError extends AgentPersistenceError {
  override readonly code = "approval_changed";

  constructor(
    readonly agentId: string,
    readonly requestId: string,
    /** The digest of the waiting call. `undefined` if the request is for input, not for an approval. */
    readonly digest: string | undefined,
  ) {
    const request = `equest ${quoted(requestId)} of agent ${quoted(agentId)}`;
    super(
      digest === undefined
        ? `R${request} is a request for input and has no digest. Omit the digest.`
        : `The answer to r${request} has the digest of another tool call. The waiting call has the digest ${digest}. Show the person the current result of getRequests(), and answer with that digest.`,
    );
  }
}

/**
 * The request does not wait for an answer. The stored state is unchanged. If a request expires, its node receives
 * `request_expired`. If the node does not catch the error, the run fails, and a resume makes the request again.
 */
export class RequestNotOpenError extends AgentPersistenceError {
  constructor(
    override readonly code: "request_answered" | "request_expired" | "request_not_found",
    /** `undefined` if all agents were searched for the request. */
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
    `${request} expired at ${expiredAt} without an answer. Resume the agent to continue. The node that made the request gets this error and may catch it. If the run already failed with this error, resuming repeats the request. If the request was for an approval, the tool call is rejected.`,
  request_not_found: (request, _expiredAt, open) =>
    open
      ? `${request} does not wait for an answer. ${open.length === 0 ? "The agent has no open requests" : `The open requests of the agent are ${quotedList(open)}`}. A request is dropped when its node finishes, or by a rollback, a new execution point or a new run. Call getRequests() to list the open requests.`
      : `${request} does not wait for an answer. It was answered, or dropped by a rollback, a new execution point or a new run. Call listRequests() to list the open requests.`,
};

/** A person or system rejected a request for input. The node that made the request may catch this error. */
export class RequestRejectedError extends AgentPersistenceError {
  override readonly code = "request_rejected";

  constructor(
    readonly agentId: string,
    readonly requestId: string,
    readonly reason: string,
    /** The `by` value of the `reject` call. Omitted if the caller gave none. */
    readonly by?: string,
  ) {
    super(
      `Request ${quoted(requestId)} of agent ${quoted(agentId)} was rejected: ${JSON.stringify(reason)}. ` +
        `Catch this error in the node. Resuming fails with the same error. To repeat the request, roll back to a checkpoint before it.`,
    );
  }
}

/** A task waited for an event that did not arrive in time. */
export class WaitExpiredError extends AgentPersistenceError {
  override readonly code = "wait_expired";

  constructor(readonly taskId: string) {
    super(
      `Task ${quoted(taskId)} timed out while waiting for an event. If the event has arrived since, queue the task again with tasks.retry.`,
    );
  }
}

/** A node requested input, an approval or a long sleep, which this storage cannot store. The state is unchanged. */
export class WaitingNotSupportedError extends AgentPersistenceError {
  override readonly code = "waiting_not_supported";

  constructor(
    readonly agentId: string,
    /** The path of the node. */
    readonly nodeId: string,
    /** The tool that needs an approval. Omitted for input and sleeps. */
    readonly toolName?: string,
  ) {
    const asked = toolName === undefined ? "input or a long sleep" : `an approval for tool ${quoted(toolName)}`;
    super(
      `Node "${nodeId}" of agent ${quoted(agentId)} requested ${asked}, but the agent's storage cannot store open requests. Use a storage with a log, such as FilePersistenceStorageProvider.`,
    );
  }
}

/** A caller tried to answer or reject a sleep, which ends only at its due time. The stored state is unchanged. */
export class TimerNotAnswerableError extends AgentPersistenceError {
  override readonly code = "timer_not_answerable";

  constructor(
    readonly agentId: string,
    readonly requestId: string,
    /** When the sleep ends, in ISO 8601. */
    readonly dueAt: string,
  ) {
    super(
      `Request ${quoted(requestId)} of agent ${quoted(agentId)} is a timer, which can be neither answered nor rejected. It ends by itself at ${dueAt}. Resume the agent after that time, or cancel the run.`,
    );
  }
}

/** The key of a sent event already belongs to another event of the agent. The new event is not stored. */
export class EventKeyUsedError extends AgentPersistenceError {
  override readonly code = "event_key_used";

  constructor(
    readonly agentId: string,
    readonly key: string,
    /** The name of the stored event. */
    readonly eventName: string,
  ) {
    super(
      `The event key ${quoted(key)} of agent ${quoted(agentId)} belongs to an event ${quoted(eventName)} with another name or payload. Use a different key for each event. If you send the same event again, use an equal payload.`,
    );
  }
}
