import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";
import { quoted } from "../quoted.ts";

/** A tool call started before a crash and possibly took effect. The call was not repeated. */
export class ToolCallInDoubtError extends AgentPersistenceError {
  override readonly code = "tool_call_in_doubt";
  readonly agentId: string;
  readonly toolName: string;
  readonly toolCallId: string;
  /** The path of the node that made the call. */
  readonly nodeId: string;
  /** The line of code that declares calls of this tool safe to repeat. */
  readonly declaration: string;
  /** The id of the call that this call reverts. `undefined` unless this call is an inverse. */
  readonly reverts: string | undefined;

  /** @param options - `cause` is the error that the tool's probe threw. Omitted if the probe did not throw. */
  constructor(
    call: Pick<ToolCallInDoubtError, "agentId" | "toolName" | "toolCallId" | "nodeId"> &
      Partial<Pick<ToolCallInDoubtError, "declaration" | "reverts">> & {
        /** The code that settles the call, up to its last argument. Defaults to the code for an agent. */
        readonly settling?: string;
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
        `If a call of the tool is safe to repeat with the same toolCallId, declare it: ${declaration}. ` +
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
