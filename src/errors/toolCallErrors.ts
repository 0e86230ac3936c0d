import { AgentPersistenceError, type ErrorCause, quoted, quotedList } from "./AgentPersistenceError.ts";

/** A call cannot be reverted, because the inverse of its tool is no longer registered. */
export class InverseMissingError extends AgentPersistenceError {
  override readonly code = "inverse_missing";

  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
  ) {
    super(
      `Call ${toolCallId} of tool "${toolName}" cannot be reverted, because the inverse of the tool is no longer registered. ` +
        `Register the inverse in the rollbackToolRegistry under the same tool name, then roll back or run again.`,
    );
  }
}

/** A tool call started before a crash, and it is unknown whether it took effect. The call was not repeated. */
export class ToolCallInDoubtError extends AgentPersistenceError {
  override readonly code = "tool_call_in_doubt";
  readonly agentId: string;
  readonly toolName: string;
  readonly toolCallId: string;
  /** The path of the node that made the call. */
  readonly nodeId: string;
  /** The line of code that declares calls of this tool safe to repeat. Empty if no code can do this. */
  readonly declaration: string;
  /** The id of the call that this call reverts. `undefined` unless this call is an inverse. */
  readonly reverts: string | undefined;

  /** @param options - `cause` is the error that the tool's probe threw. Omitted if the probe did not throw. */
  constructor(
    call: Pick<ToolCallInDoubtError, "agentId" | "toolName" | "toolCallId" | "nodeId"> &
      Partial<Pick<ToolCallInDoubtError, "reverts">> & {
        /** Defaults to the declaration of the tool. */
        readonly declaration?: string | undefined;
        /** The code that settles the call, without its last argument. Defaults to `settleToolCall` of the agent. */
        readonly settling?: string | undefined;
      },
    options?: ErrorCause,
  ) {
    const { agentId, toolName, toolCallId, nodeId, reverts } = call;
    const declaration = call.declaration ?? `tool({ name: ${quoted(toolName)}, effect: "idempotent", … })`;
    const settling =
      call.settling ?? `persistence(agent).agent(${quoted(agentId)}).settleToolCall(${quoted(toolCallId)}, `;
    const reverting = reverts === undefined ? "" : `, which reverts call ${reverts},`;
    super(
      `Tool call ${toolCallId} of "${toolName}"${reverting} in node "${nodeId}" started but has no recorded outcome, so it possibly took effect. ` +
        `Find out whether it did, settle the call, then resume: ` +
        `${settling}{ output } | { error } | "retry" | "unknown"). ` +
        (declaration &&
          `If a call of the tool is safe to repeat with the same toolCallId, declare it: ${declaration}. `) +
        `To decide automatically, use the option onToolCallInDoubt or a probe of the tool.`,
      options,
    );
    this.agentId = agentId;
    this.toolName = toolName;
    this.toolCallId = toolCallId;
    this.nodeId = nodeId;
    this.declaration = declaration;
    this.reverts = reverts;
  }
}

/** The call to settle is not in doubt. The stored state is unchanged. */
export class ToolCallNotInDoubtError extends AgentPersistenceError {
  override readonly code = "tool_call_not_in_doubt";

  constructor(
    readonly agentId: string,
    readonly toolCallId: string,
    /** `true` if the call has an outcome, `false` if the log has no call with this id. */
    readonly ended: boolean,
    readonly inDoubt: readonly { readonly toolCallId: string; readonly toolName: string }[],
  ) {
    const found = ended ? "its outcome is recorded" : "no call with this id is recorded";
    const calls = inDoubt.map((call) => `${call.toolCallId} (${call.toolName})`).join(", ");
    super(
      `Tool call ${quoted(toolCallId)} of agent ${quoted(agentId)} is not in doubt: ${found}. ` +
        (calls === "" ? "The agent has no call to settle." : `Settle one of the calls in doubt: ${calls}.`),
    );
  }
}

/** A tool threw. `cause` is the thrown value, and is omitted if the failure was read from a log. */
export class ToolFailedError extends AgentPersistenceError {
  override readonly code = "tool_failed";

  /** The ids of the calls whose failures caused this failure. Set only if the failure was read from a log. */
  readonly failedCalls?: readonly string[];

  /**
   * The name of the error that the tool threw. Empty if the thrown value is not an `Error`. Omitted if the name is
   * `Error`, or if the failure was not read from a log.
   */
  readonly errorName?: string;

  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
    /** The message of the thrown error, which is sent to the model. */
    readonly reason: string,
    options: ErrorCause & Pick<ToolFailedError, "failedCalls" | "errorName"> = {},
  ) {
    super(`The tool "${toolName}" failed: ${reason}`, options);
    if (options.failedCalls) this.failedCalls = options.failedCalls;
    if (options.errorName !== undefined) this.errorName = options.errorName;
  }
}

/** A tool call was aborted before the tool started, so it took no effect. `cause` is the reason of the abort. */
export class ToolNotStartedError extends AgentPersistenceError {
  override readonly code = "tool_not_started";

  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
    options: { readonly cause: unknown },
  ) {
    super(
      `The call of tool "${toolName}" was aborted before the tool started. Run or resume again to make the call.`,
      options,
    );
  }
}

/** It is unknown whether a tool call took effect: it was settled as `unknown`, or it timed out. */
export class ToolOutcomeUnknownError extends AgentPersistenceError {
  override readonly code = "tool_outcome_unknown";
  /** The text that is sent to the model. */
  readonly reason: string;

  /** @param timeoutMs - the exceeded time limit, in milliseconds. Omitted for a settled or recorded call. */
  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
    readonly timeoutMs?: number,
  ) {
    const what =
      timeoutMs === undefined ? "was interrupted, and its outcome is unknown" : `did not end within ${timeoutMs} ms`;
    super(
      `Call ${toolCallId} of tool "${toolName}" ${what}. It possibly took effect. ` +
        `Catch this error if the node can continue without the output, or settle the call again when you know the outcome.`,
    );
    this.reason =
      `It is not known whether this call had its effect: it ${timeoutMs === undefined ? "was interrupted" : what}. ` +
      "Find out before making it again.";
  }
}

/** A tool call was rejected, or its approval did not arrive in time. The tool did not run. */
export class ToolRejectedError extends AgentPersistenceError {
  override readonly code = "tool_rejected";

  constructor(
    readonly toolName: string,
    readonly toolCallId: string,
    readonly reason: string,
    /** The `by` value of the `reject` or `answer` call. Omitted if the caller gave none or the approval expired. */
    readonly by?: string,
  ) {
    super(
      `The call of tool "${toolName}" was rejected and not made: ${JSON.stringify(reason)}. ` +
        `Catch this error in the node. Resuming fails with the same error. To repeat the request, roll back to a checkpoint before the call.`,
    );
  }
}

/** A strategy ends with the text of a model response, but the tool calls of this response were not made. */
export class UnansweredToolCallError extends AgentPersistenceError {
  override readonly code = "unanswered_tool_call";

  constructor(
    /** The path of the node that returned the response. */
    readonly nodeId: string,
    readonly toolNames: readonly string[],
  ) {
    super(
      `The run cannot finish after "${nodeId}", because the model response calls ${quotedList(toolNames)} and the edge to "finish" ` +
        `uses only the text. Before that edge, add an edge with { when: hasToolCalls } to a node that runs callTools. ` +
        `Or do not offer tools to the model in ${quoted(nodeId)}.`,
    );
  }
}
